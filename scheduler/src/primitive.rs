//! The one door to atomics, cells, locks and thread parking.
//!
//! Nothing else in this crate names `std::sync`, so a model sees every operation. [`Mutex`] keeps,
//! in debug builds, a count of the runtime locks that this thread holds: [`assert_no_lock`] stands
//! in front of every call into user code (a poll, a waker, a drop) and turns a lock held across
//! foreign code into a panic at the place that holds it.

#[cfg(not(loom))]
pub(crate) mod barrier;
#[cfg(loom)]
mod modelled;
#[cfg(not(loom))]
mod native;

#[cfg(loom)]
pub(crate) use modelled::barrier;
#[cfg(all(test, loom))]
pub(crate) use modelled::check;

pub(crate) mod sync {
    #[cfg(loom)]
    pub(crate) use loom::sync::atomic;
    #[cfg(not(loom))]
    pub(crate) use std::sync::{Arc, atomic};

    #[cfg(loom)]
    pub(crate) use super::modelled::Mutex;
    #[cfg(not(loom))]
    pub(crate) use super::native::{Mutex, MutexGuard, assert_no_lock};
}

#[cfg(not(loom))]
pub(crate) mod cell {
    pub(crate) use super::native::UnsafeCell;
}

pub(crate) mod thread {
    #[cfg(loom)]
    pub(crate) use super::modelled::Token;
    #[cfg(not(loom))]
    pub(crate) use super::native::Token;
}
