//! What the macros' code calls. Not for use by hand: it may change at any time.

pub use rt_scheduler::random_below;
