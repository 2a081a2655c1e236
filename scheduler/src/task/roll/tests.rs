//! The roll against a map that does the same.

use std::collections::BTreeMap;

use super::{BLOCK, Roll};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize % bound
    }
}

/// A roll, and its twin: what stands under which number.
#[derive(Default)]
struct Pair {
    roll: Roll<usize>,
    twin: BTreeMap<usize, usize>,
    made: usize,
}

impl Pair {
    fn insert(&mut self) {
        let number = self.roll.insert(self.made);
        assert_eq!(self.twin.insert(number, self.made), None, "a number twice");
        self.made += 1;
    }

    fn remove(&mut self, number: usize) {
        assert!(self.twin.remove(&number).is_some());
        assert!(self.roll.remove(number));
        assert!(!self.roll.remove(number), "it has left");
    }

    fn any(&self, random: &mut Random) -> Option<usize> {
        let at = random.below(self.twin.len().max(1));
        self.twin.keys().nth(at).copied()
    }

    fn check(&self) {
        let present: Vec<_> = (0..self.roll.blocks())
            .flat_map(|block| self.roll.block(block))
            .collect();
        assert_eq!(present, self.twin.values().copied().collect::<Vec<_>>());
        // Nothing is kept for who has left, but one block.
        let used = self.twin.keys().map(|number| number / BLOCK);
        let mut used: Vec<_> = used.collect();
        used.dedup();
        let kept = self.roll.blocks.iter().filter(|b| b.entries.is_some());
        assert_eq!(kept.count(), used.len());
        assert_eq!(self.roll.blocks(), used.last().map_or(0, |last| last + 1));
    }
}

#[test]
fn it_does_what_a_map_does() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut pair = Pair::default();
    // Tides: it fills up more than it runs empty, then the other way round, and to the very end.
    for tide in 0..24 {
        let fills = tide % 2 == 0;
        for _ in 0..3 * BLOCK {
            if (random.below(4) == 0) != fills {
                pair.insert();
            } else if let Some(number) = pair.any(&mut random) {
                pair.remove(number);
            }
        }
        pair.check();
    }
    while let Some(number) = pair.any(&mut random) {
        pair.remove(number);
    }
    pair.check();
    assert_eq!(pair.roll.blocks(), 0);
}

#[test]
fn who_is_popped_was_present_and_is_no_more() {
    let mut random = Random(88_172_645_463_325_252);
    let mut pair = Pair::default();
    for _ in 0..70 * BLOCK {
        pair.insert();
    }
    for _ in 0..60 * BLOCK {
        let number = random.below(70 * BLOCK);
        if pair.twin.contains_key(&number) {
            pair.remove(number);
        }
    }
    let mut left: BTreeMap<usize, usize> = pair.twin.iter().map(|(&k, &v)| (v, k)).collect();
    while let Some(entry) = pair.roll.pop() {
        let number = left.remove(&entry).expect("it was present");
        assert!(!pair.roll.remove(number), "it has left");
    }
    assert!(left.is_empty());
    assert_eq!((pair.roll.blocks(), pair.roll.roomy.len()), (0, 0));
}

#[test]
fn a_free_number_is_taken_before_a_new_block() {
    let mut pair = Pair::default();
    for _ in 0..130 * BLOCK {
        pair.insert();
    }
    for number in [129 * BLOCK, 3 * BLOCK + 7, 70 * BLOCK] {
        pair.remove(number);
    }
    for expected in [3 * BLOCK + 7, 70 * BLOCK, 129 * BLOCK, 130 * BLOCK] {
        assert_eq!(pair.roll.insert(0), expected);
    }
}

#[test]
fn one_that_comes_and_goes_beside_a_full_block_asks_for_memory_once() {
    let mut roll = Roll::default();
    for entry in 0..BLOCK {
        roll.insert(entry);
    }
    let number = roll.insert(0);
    let memory = roll.blocks[1].entries.as_ref().map(|e| e.as_ptr());
    assert!(roll.remove(number));
    assert_eq!(roll.insert(1), number);
    assert_eq!(roll.blocks[1].entries.as_ref().map(|e| e.as_ptr()), memory);
}
