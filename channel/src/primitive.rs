//! The one door to atomics, cells, and waiting for a lock.
//!
//! Nothing else in this crate names `std::sync`, so a model sees every operation. The channel's
//! lock is loom's own mutex in the models of what stands behind it; [`SpinLock`](crate::lock::SpinLock)
//! has a model of its own.

#[cfg(loom)]
mod modelled;
#[cfg(not(loom))]
mod native;

#[cfg(all(test, loom))]
pub(crate) use modelled::check;

pub(crate) mod sync {
    #[cfg(loom)]
    pub(crate) use loom::sync::atomic;
    #[cfg(not(loom))]
    pub(crate) use std::sync::atomic;

    #[cfg(loom)]
    pub(crate) use super::modelled::{Guard, Lock};
    #[cfg(not(loom))]
    pub(crate) use crate::lock::{Guard, SpinLock as Lock};
}

pub(crate) mod cell {
    #[cfg(loom)]
    pub(crate) use loom::cell::UnsafeCell;

    #[cfg(not(loom))]
    pub(crate) use super::native::UnsafeCell;
}

#[cfg(loom)]
pub(crate) use modelled::{Held, assert_unlocked, relax};
#[cfg(not(loom))]
pub(crate) use native::{Held, assert_unlocked, relax};
