//! Counts what is made and what is dropped.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// Counts the values that it makes, and their ends.
#[derive(Clone, Debug, Default)]
pub struct Census {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

impl Census {
    /// Nothing made yet.
    pub fn new() -> Self {
        Census::default()
    }

    /// A value that is counted.
    pub fn one(&self) -> Counted {
        self.counts.made.fetch_add(1, SeqCst);
        Counted {
            counts: Arc::clone(&self.counts),
        }
    }

    /// How many were made.
    pub fn made(&self) -> usize {
        self.counts.made.load(SeqCst)
    }

    /// How many have been dropped.
    pub fn dropped(&self) -> usize {
        self.counts.dropped.load(SeqCst)
    }

    /// How many live.
    pub fn alive(&self) -> usize {
        // This order, so that one that is made and dropped in between does not go below zero.
        let dropped = self.dropped();
        self.made() - dropped
    }
}

/// One of a [`Census`].
#[derive(Debug)]
pub struct Counted {
    counts: Arc<Counts>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.counts.dropped.fetch_add(1, SeqCst);
    }
}
