//! The registry: an entry for every source, and the book of which are free.
//!
//! # Roles
//!
//! * Whoever registers a file takes a free entry, and gives it back when the file goes.
//! * Whoever got events delivers them: finds the entry by the event's token, without a lock.
//! * Whoever is about to poll frees what was given back.
//!
//! # States of an entry
//!
//! **free** → (`acquire`) → **used** → (`release`) → **retired** → (`reclaim`, before the next poll)
//! → **free**. Releasing begins the next generation, so that events of the source that was here,
//! wherever they still are, match no more. Retired entries rest until a poll has begun, so that an
//! index is not reused while the batch that may still name it is being made.
//!
//! # Orderings
//!
//! The book's lock orders one user of an entry behind the other. `rests` only spares the poller that
//! lock, and is `Relaxed`: if it is read too early, the entries rest for one more poll.

use std::io;
use std::task::{Context, Poll, Waker};

use crate::fetch;
use crate::interest::{Direction, Ready};
use crate::primitive::sync::Mutex;
use crate::primitive::sync::atomic::AtomicBool;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::readiness::{Word, shut_down_error};
use crate::slab::{CAPACITY, Slab};
use crate::waiters::Waiters;

#[cfg(all(test, not(loom)))]
mod tests;

/// So many sources, their tasks, and what the kernel keeps for each of them fill a second-level cache. A chunk begins there.
const LARGE: u32 = 192;

/// What the reactor keeps for one source. It fills a cache line of its own.
#[repr(align(64))]
pub(crate) struct Entry {
    pub(crate) word: Word,
    pub(crate) waiters: Waiters,
    index: u32,
}

/// Names one source, for good: an index never comes twice with the same generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    index: u32,
    generation: u32,
}

/// All entries.
pub(crate) struct Registry {
    entries: Slab<Entry>,
    book: Mutex<Book>,
    /// Whether some entries are retired.
    rests: AtomicBool,
}

struct Book {
    free: Vec<u32>,
    retired: Vec<u32>,
    /// The entries from here on have never been used.
    fresh: u32,
    live: usize,
    shut_down: bool,
}

impl Token {
    pub(crate) const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    pub(crate) const fn from_bits(bits: u64) -> Token {
        Token {
            index: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }
}

impl Entry {
    pub(crate) fn new(index: u32) -> Entry {
        Entry {
            word: Word::new(),
            waiters: Waiters::new(),
            index,
        }
    }

    /// The token of the source that lives here.
    pub(crate) fn token(&self) -> Token {
        Token {
            index: self.index,
            generation: self.word.generation(),
        }
    }

    /// Takes in an event, and moves the wakers of those it concerns to the end of `wakers`.
    pub(crate) fn deliver(&self, generation: u32, bits: u8, wakers: &mut Vec<Waker>) {
        if self.word.set(generation, bits) {
            self.waiters.collect(bits, wakers);
        }
    }

    /// Waits in the slot of a direction.
    #[inline]
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<Ready>> {
        let look = || self.word.check(direction.into());
        let found = look().or_else(|| {
            let waker = cx.waker().clone();
            self.waiters.wait_in_slot(direction, waker, look)
        });
        found.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Registry {
    pub(crate) fn new() -> Registry {
        Registry {
            entries: Slab::new(),
            book: Mutex::new(Book {
                free: Vec::new(),
                retired: Vec::new(),
                fresh: 0,
                live: 0,
                shut_down: false,
            }),
            rests: AtomicBool::new(false),
        }
    }

    /// Takes a free entry.
    pub(crate) fn acquire(&self) -> io::Result<Token> {
        let mut book = self.book.lock();
        if book.shut_down {
            return Err(shut_down_error());
        }
        let index = match book.free.pop() {
            Some(index) => index,
            None if book.fresh < CAPACITY => {
                book.fresh += 1;
                book.fresh - 1
            }
            None => return Err(io::Error::other("too many sources in one reactor")),
        };
        book.live += 1;
        Ok(self.entries.get_or_make(index, Entry::new).token())
    }

    /// Gives an entry back. Wakers that were left in it are dropped.
    pub(crate) fn release(&self, token: Token) {
        let entry = self.entry(token);
        entry.word.renew();
        let mut left = Vec::new();
        entry.waiters.collect(u8::MAX, &mut left);
        let mut book = self.book.lock();
        book.retired.push(token.index);
        book.live -= 1;
        self.rests.store(true, Relaxed);
        drop(book);
        drop(left);
    }

    /// Frees what has been given back since the last call.
    pub(crate) fn reclaim(&self) {
        if self.rests.load(Relaxed) {
            let book = &mut *self.book.lock();
            self.rests.store(false, Relaxed);
            book.free.append(&mut book.retired);
        }
    }

    /// The entry of a token that has been handed out.
    #[inline]
    pub(crate) fn entry(&self, token: Token) -> &Entry {
        self.entries
            .get(token.index)
            .expect("the entry was made before its token was handed out")
    }

    /// Whether there are, or once were, so many sources that those with events are hardly in the near caches.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.entries.get(LARGE).is_some()
    }

    /// Asks the CPU for the entries of sources that have events, and then for who waits on each.
    pub(crate) fn fetch(&self, tokens: impl Iterator<Item = Token> + Clone) {
        for token in tokens.clone() {
            fetch::line(self.entry(token));
        }
        for token in tokens {
            self.entry(token).waiters.fetch();
        }
    }

    /// Takes in an event; see [`Entry::deliver`].
    pub(crate) fn deliver(&self, token: Token, bits: u8, wakers: &mut Vec<Waker>) {
        self.entry(token).deliver(token.generation, bits, wakers);
    }

    /// Ends every wait with an error, now and from now on, and moves the wakers of all who wait to
    /// the end of `wakers`.
    pub(crate) fn shut_down(&self, wakers: &mut Vec<Waker>) {
        let used = {
            let mut book = self.book.lock();
            book.shut_down = true;
            book.fresh
        };
        for entry in (0..used).filter_map(|index| self.entries.get(index)) {
            entry.word.shut_down();
            entry.waiters.collect(u8::MAX, wakers);
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.book.lock().live
    }
}
