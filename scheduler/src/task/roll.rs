//! A roll: what is present, each under a number that it keeps until it leaves.
//!
//! Tasks that end in another order than they came in must not look for one another: with a million of them each
//! look at a neighbour is a cache miss. So presence is a bit, and who leaves clears it: 64 of them share a word, a
//! million fit into the second-level cache, and what stands under a number is not touched.
//!
//! # States
//!
//! Numbers are dealt in *blocks* of [`BLOCK`]. A block has room or it is full, and `roomy` has a bit that says
//! which. The lowest number that is free in the first block with room is taken, so that the last blocks run
//! empty. A block without anything present gives its memory back, all but one of them.
//!
//! # Invariants
//!
//! * **R1** Under a number whose bit is set stands an entry, in memory that the block has.
//! * **R2** The bit of a block in `roomy` is set if, and only if, one of its numbers is free.
//! * **R3** All words of `roomy` in front of `first` are 0.

use std::iter;

#[cfg(test)]
mod tests;

/// Numbers of a block.
pub(super) const BLOCK: usize = WORDS * BITS;

const WORDS: usize = 8;
const BITS: usize = u64::BITS as usize;

/// See the module.
pub(super) struct Roll<T> {
    blocks: Vec<Block<T>>,
    roomy: Vec<u64>,
    first: usize,
    /// The memory of the last block that ran empty.
    spare: Option<Entries<T>>,
}

type Entries<T> = Box<[Option<T>]>;

struct Block<T> {
    present: [u64; WORDS],
    /// What stands under a number that is free is of no meaning.
    entries: Option<Entries<T>>,
}

impl<T> Default for Roll<T> {
    fn default() -> Self {
        Roll {
            blocks: Vec::new(),
            roomy: Vec::new(),
            first: 0,
            spare: None,
        }
    }
}

impl<T: Copy> Roll<T> {
    /// Enters it, and says under which number.
    pub(super) fn insert(&mut self, entry: T) -> usize {
        let at = self.room();
        let block = &mut self.blocks[at];
        let word = block.present.iter().position(|&word| word != u64::MAX);
        let word = word.expect("a block with room has a free number (R2)");
        let bit = block.present[word].trailing_ones() as usize;
        block.present[word] |= 1 << bit;
        let number = word * BITS + bit;
        let spare = &mut self.spare;
        let entries = block
            .entries
            .get_or_insert_with(|| spare.take().unwrap_or_else(|| vec![None; BLOCK].into()));
        entries[number] = Some(entry);
        if block.is_full() {
            self.roomy[at / BITS] &= !(1 << (at % BITS));
        }
        at * BLOCK + number
    }

    /// Strikes out who has this number. `false`: nobody has.
    pub(super) fn remove(&mut self, number: usize) -> bool {
        let (at, number) = (number / BLOCK, number % BLOCK);
        let Some(block) = self.blocks.get_mut(at) else {
            return false;
        };
        let (word, bit) = (&mut block.present[number / BITS], 1 << (number % BITS));
        if *word & bit == 0 {
            return false;
        }
        *word &= !bit;
        let empty = *word == 0 && block.is_empty();
        self.roomy[at / BITS] |= 1 << (at % BITS);
        self.first = self.first.min(at / BITS);
        if empty {
            self.vacate(at);
        }
        true
    }

    /// Strikes out one of the last who came.
    pub(super) fn pop(&mut self) -> Option<T> {
        let last = self.blocks.last()?;
        let number = last.numbers().next().expect("the last block is not empty");
        let entry = last.entry(number);
        self.remove((self.blocks.len() - 1) * BLOCK + number);
        entry
    }

    /// How many blocks there are. Who is present now is in one of them, and stays in it.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Who is present in a block.
    pub(super) fn block(&self, at: usize) -> impl Iterator<Item = T> {
        let block = self.blocks.get(at);
        block
            .into_iter()
            .flat_map(|block| block.numbers().filter_map(|number| block.entry(number)))
    }

    /// The first block with room.
    fn room(&mut self) -> usize {
        let words = self.roomy.iter().skip(self.first);
        self.first += words.take_while(|&&word| word == 0).count();
        if let Some(&word) = self.roomy.get(self.first) {
            return self.first * BITS + word.trailing_zeros() as usize;
        }
        let at = self.blocks.len();
        self.blocks.push(Block {
            present: [0; WORDS],
            entries: None,
        });
        if at.is_multiple_of(BITS) {
            self.roomy.push(0);
        }
        self.first = at / BITS;
        self.roomy[self.first] |= 1 << (at % BITS);
        at
    }

    /// Takes the memory of a block that has run empty, and the empty blocks at the end altogether.
    #[cold]
    fn vacate(&mut self, at: usize) {
        let entries = self.blocks[at].entries.take();
        if self.spare.is_none() {
            self.spare = entries;
        }
        while self.blocks.last().is_some_and(Block::is_empty) {
            self.blocks.pop();
            let gone = self.blocks.len();
            self.roomy[gone / BITS] &= !(1 << (gone % BITS));
        }
        let left = self.blocks.len();
        self.roomy.truncate(left.div_ceil(BITS));
        self.first = self.first.min(self.roomy.len());
        if self.blocks.capacity() > 4 * (left + 1) {
            self.blocks.shrink_to(2 * left);
        }
    }
}

impl<T: Copy> Block<T> {
    fn is_empty(&self) -> bool {
        self.present.iter().all(|&word| word == 0)
    }

    fn is_full(&self) -> bool {
        self.present.iter().all(|&word| word == u64::MAX)
    }

    /// The numbers that are taken.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.present.iter().enumerate().flat_map(|(at, &word)| {
            let rest = |word: &u64| Some(word & (word - 1)).filter(|&word| word != 0);
            let words = iter::successors((word != 0).then_some(word), rest);
            words.map(move |word| at * BITS + word.trailing_zeros() as usize)
        })
    }

    fn entry(&self, number: usize) -> Option<T> {
        self.entries.as_ref().and_then(|entries| entries[number])
    }
}
