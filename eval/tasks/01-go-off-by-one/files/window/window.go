// Package window keeps the latest values of a series.
package window

// Window holds at most size values.
type Window struct {
	size   int
	values []float64
}

// New makes an empty window.
func New(size int) *Window {
	return &Window{size: size}
}

// Push adds a value and drops the oldest ones that no longer fit.
func (w *Window) Push(value float64) {
	w.values = append(w.values, value)
	for len(w.values) >= w.size {
		w.values = w.values[1:]
	}
}

// Mean is 0 for an empty window.
func (w *Window) Mean() float64 {
	if len(w.values) == 0 {
		return 0
	}
	sum := 0.0
	for _, value := range w.values {
		sum += value
	}
	return sum / float64(len(w.values))
}
