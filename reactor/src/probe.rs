//! A waker for tests: it counts, and it fails if it is touched while this thread holds a lock.

#![expect(
    unsafe_code,
    reason = "a waker whose clone and drop can be watched is made by hand"
)]

use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::primitive::assert_unlocked;
use crate::primitive::sync::atomic::AtomicUsize;
use crate::primitive::sync::atomic::Ordering::Relaxed;

/// Counts how often its wakers are woken.
pub(crate) struct Probe {
    inner: Arc<Inner>,
}

struct Inner {
    wakes: AtomicUsize,
    on_wake: Box<dyn Fn() + Send + Sync>,
}

impl Probe {
    pub(crate) fn new() -> Probe {
        Probe::with(|| {})
    }

    /// Also runs `on_wake` at each wake.
    pub(crate) fn with(on_wake: impl Fn() + Send + Sync + 'static) -> Probe {
        Probe {
            inner: Arc::new(Inner {
                wakes: AtomicUsize::new(0),
                on_wake: Box::new(on_wake),
            }),
        }
    }

    pub(crate) fn waker(&self) -> Waker {
        // SAFETY: the table's functions keep the contract of a waker over `Arc<Inner>`.
        unsafe { Waker::from_raw(raw(Arc::clone(&self.inner))) }
    }

    /// How often its wakers were woken.
    pub(crate) fn wakes(&self) -> usize {
        self.inner.wakes.load(Relaxed)
    }

    /// How many of its wakers exist.
    pub(crate) fn wakers(&self) -> usize {
        Arc::strong_count(&self.inner) - 1
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

fn raw(inner: Arc<Inner>) -> RawWaker {
    RawWaker::new(Arc::into_raw(inner).cast(), &TABLE)
}

/// # Safety
///
/// `data` came from [`raw`], and the waker that it belongs to exists.
unsafe fn clone(data: *const ()) -> RawWaker {
    assert_unlocked();
    // SAFETY: by the contract `data` is an `Arc<Inner>` that is alive.
    unsafe { Arc::increment_strong_count(data.cast::<Inner>()) };
    RawWaker::new(data, &TABLE)
}

/// # Safety
///
/// As for [`clone`]; the waker is used up.
unsafe fn wake(data: *const ()) {
    // SAFETY: by the contract; the guard releases even if the wake panics.
    let inner = unsafe { Arc::from_raw(data.cast::<Inner>()) };
    inner.woken();
}

/// # Safety
///
/// As for [`clone`].
unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: by the contract `data` points to an `Inner` that is alive.
    unsafe { &*data.cast::<Inner>() }.woken();
}

/// # Safety
///
/// As for [`clone`]; the waker is used up.
unsafe fn release(data: *const ()) {
    assert_unlocked();
    // SAFETY: by the contract this gives back the count that the waker held.
    drop(unsafe { Arc::from_raw(data.cast::<Inner>()) });
}

impl Inner {
    fn woken(&self) {
        assert_unlocked();
        self.wakes.fetch_add(1, Relaxed);
        (self.on_wake)();
    }
}
