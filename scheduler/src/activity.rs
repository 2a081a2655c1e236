//! How busy a part of the runtime is, for whoever may act only while nothing can run.
//!
//! One look at several parts is no proof: while the last is looked at, it may wake the first. Two
//! looks are. If each part is at rest in both and its [`turns`](Activity::turns) are the same, then it
//! was at rest all the time between, and so all of them were at once.

/// A part of the runtime at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// What runs there or is about to.
    pub busy: usize,
    /// Grows whenever something has run.
    pub turns: u64,
}
