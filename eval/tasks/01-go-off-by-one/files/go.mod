module example.com/window

go 1.21
