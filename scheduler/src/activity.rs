//! How busy a part of the runtime is, for whoever may act only while nothing can run.
//!
//! One look at several parts is no proof: while the last is looked at, it may wake the first. Two
//! looks are. If each part is at rest in both and its [`turns`](Activity::turns) are the same, then it
//! was at rest all the time between, and so all of them were at once.
//!
//! That asks two things of the parts. Whoever gives work to another part counts it there *before* its own is
//! counted off. And a part's `turns` have grown by the time that it is seen at rest again.

#[cfg(all(test, loom))]
mod model;

/// A part of the runtime at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// What runs there or is about to.
    pub busy: usize,
    /// Grows whenever something has run.
    pub turns: u64,
}

/// Whether nothing can run. `look` looks at all parts, one after the other, and `is_quiet` says whether all were at
/// rest when they were looked at.
pub fn at_rest<L: PartialEq>(look: impl Fn() -> L, is_quiet: impl Fn(&L) -> bool) -> bool {
    let first = look();
    // Twice: see the module.
    is_quiet(&first) && look() == first
}
