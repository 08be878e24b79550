//! Sorting without a copy of the sort for each type of element and each comparison.
//!
//! The stable sort of the standard library is compiled again for every comparison, about 5 kB of machine code each
//! time. Here the order is computed on numbers, by one copy of the sort, and then applied with swaps. It is stable, takes
//! as many comparisons, and suits lists of up to some thousands of elements; sort larger ones with the standard library.

use std::cmp::Ordering;

/// As `sort_by` of the standard library.
pub fn sort_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut order = order(list.len(), &mut |a, b| compare(&list[a], &list[b]));
    apply(&mut order, &mut |a, b| list.swap(a, b));
}

/// As `sort_by_key` of the standard library.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// The places of the elements, in the order of the elements.
fn order(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Moves the element at `order[n]` to `n`, cycle by cycle.
fn apply(order: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut to = start;
        loop {
            let from = std::mem::replace(&mut order[to], to);
            if from == start {
                break;
            }
            swap(to, from);
            to = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_orders_as_the_standard_library_does() {
        for seed in 0..500_u64 {
            let mut random = fastrand::Rng::with_seed(seed);
            let list: Vec<(u8, usize)> = (0..random.usize(0..60)).map(|at| (random.u8(0..9), at)).collect();
            let (mut ours, mut theirs) = (list.clone(), list);
            sort_by_key(&mut ours, |(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            assert_eq!(ours, theirs, "seed {seed}");
            sort_by(&mut ours, |a, b| b.cmp(a));
            theirs.sort_by(|a, b| b.cmp(a));
            assert_eq!(ours, theirs, "seed {seed}");
        }
    }
}
