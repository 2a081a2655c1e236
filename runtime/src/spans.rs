//! Tasks as spans of `tracing`, and what is done with their wakers as events, in the form that tokio-console
//! reads.
//!
//! A task that a subscriber wants to see is wrapped before it is spawned: the wrapping has the span, enters it for
//! each poll, and gives the future a waker that tells and forwards (`waker.rs`). So the scheduler knows nothing
//! of spans, and a task that nobody wants to see is the same as without the feature `tracing`: what a spawn costs
//! more is one look at the highest level that any subscriber wants.
//!
//! The subscriber is foreign code. A panic of its own ends where it is called ([`span::contained`]), and what it
//! does to tasks meanwhile is not told to it again, which might never end ([`span::tell`]).

#[cfg(feature = "tracing")]
mod span;
#[cfg(feature = "tracing")]
mod waker;

#[cfg(feature = "tracing")]
pub(crate) use span::{Kind, follow_root, open};

/// Calls on with a future or a closure, and the place where it is spawned: in a span of the kind `$kind`, which
/// the method `$wrap` of the span puts around it, or as they are.
#[cfg(feature = "tracing")]
macro_rules! in_span {
    ($kind:ident, $wrap:ident($work:ident), $place:ident => $call:expr) => {
        match $crate::spans::open($crate::spans::Kind::$kind, $place) {
            Ok((span, $place)) => {
                let $work = span.$wrap($work);
                $call
            }
            Err($place) => $call,
        }
    };
}

/// Calls on with a future or a closure as it is: the feature `tracing` is not on.
#[cfg(not(feature = "tracing"))]
macro_rules! in_span {
    ($kind:ident, $wrap:ident($work:ident), $place:ident => $call:expr) => {
        $call
    };
}
pub(crate) use in_span;

/// The future of a `block_on`, as it is: the feature `tracing` is not on.
#[cfg(not(feature = "tracing"))]
pub(crate) fn follow_root<F>(future: F, _: impl rt_scheduler::Place) -> F {
    future
}
