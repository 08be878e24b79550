//! The differences of two sequences, for patches and their display. Equal members first get the same number, so
//! that the diff algorithm is compiled for numbers only and not for every member type.

use similar::algorithms::{Capture, Compact, Replace, myers};
use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

pub use similar::{DiffOp, DiffTag, group_diff_ops};

/// The operations that turn `old` into `new`. After the deadline they become coarser but stay correct.
pub fn compare<T: Hash + Eq>(old: &[T], new: &[T], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut known: HashMap<&T, u32> = HashMap::with_capacity(old.len());
    let mut number = |member| {
        let next = known.len() as u32;
        *known.entry(member).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(&mut number).collect();
    let new: Vec<u32> = new.iter().map(number).collect();
    steps(&old, &new, deadline)
}

fn steps(old: &[u32], new: &[u32], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut capture = Compact::new(Replace::new(Capture::new()), old, new);
    match myers::diff_deadline(&mut capture, old, 0..old.len(), new, 0..new.len(), deadline) {
        Ok(()) => capture.into_inner().into_inner().into_ops(),
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_turn_the_old_into_the_new() {
        let (old, new) = (["a", "b", "b", "c", "d"], ["b", "x", "c", "d", "d"]);
        let mut made: Vec<&str> = Vec::new();
        for step in compare(&old, &new, None) {
            match step.tag() {
                DiffTag::Equal => made.extend(&old[step.old_range()]),
                DiffTag::Insert | DiffTag::Replace => made.extend(&new[step.new_range()]),
                DiffTag::Delete => {}
            }
        }
        assert_eq!(made, new);
        assert!(compare(&old, &old, None).iter().all(|step| step.tag() == DiffTag::Equal));
        assert!(compare::<&str>(&[], &[], None).is_empty());
    }
}
