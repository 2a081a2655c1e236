//! Wakers that count, and wakers that panic.

#![expect(
    unsafe_code,
    reason = "a waker whose clone panics takes a vtable by hand"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

/// A waker, and how often it was woken. The `Arc`'s count tells how many copies of it are left.
pub fn counting_waker() -> (Waker, Arc<AtomicUsize>) {
    struct Counting(Arc<AtomicUsize>);
    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let waker = Waker::from(Arc::new(Counting(Arc::clone(&count))));
    (waker, count)
}

/// What a [`FaultyWaker`] panics in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// When it is cloned.
    Clone,
    /// When it wakes.
    Wake,
    /// When it is dropped unused.
    Drop,
}

/// Makes wakers that panic at one point, once it is armed.
#[derive(Debug)]
pub struct FaultyWaker {
    fault: Fault,
    armed: AtomicBool,
    panics: AtomicUsize,
}

impl FaultyWaker {
    /// Not armed yet.
    pub fn new(fault: Fault) -> Arc<Self> {
        Arc::new(FaultyWaker {
            fault,
            armed: AtomicBool::new(false),
            panics: AtomicUsize::new(0),
        })
    }

    /// From here on it panics, or no longer.
    pub fn arm(&self, armed: bool) {
        self.armed.store(armed, SeqCst);
    }

    /// How often it has panicked.
    pub fn panics(&self) -> usize {
        self.panics.load(SeqCst)
    }

    /// A waker of this kind.
    pub fn waker(self: &Arc<Self>) -> Waker {
        let data = Arc::into_raw(Arc::clone(self)).cast();
        // SAFETY: the functions of the table treat `data` as one count of the `Arc`, as they must,
        // and the type behind it is `Send` and `Sync`.
        unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
    }

    fn reach(&self, point: Fault) {
        if point == self.fault && self.armed.load(SeqCst) {
            self.panics.fetch_add(1, SeqCst);
            panic!("a waker that panics in {point:?}");
        }
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_unused);

/// # Safety
///
/// `data` is a counted pointer to a `FaultyWaker`, and the count stays with it.
unsafe fn borrow<'a>(data: *const ()) -> &'a FaultyWaker {
    // SAFETY: by the caller.
    unsafe { &*data.cast() }
}

/// # Safety
///
/// `data` is a counted pointer to a `FaultyWaker`, and the count is the caller's to give up.
unsafe fn own(data: *const ()) -> Arc<FaultyWaker> {
    // SAFETY: by the caller.
    unsafe { Arc::from_raw(data.cast()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: by the contract of `RawWakerVTable`, the waker that is cloned keeps its count.
    unsafe {
        borrow(data).reach(Fault::Clone);
        Arc::increment_strong_count(data.cast::<FaultyWaker>());
    }
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: by the contract of `RawWakerVTable`, the waker is used up.
    unsafe { own(data) }.reach(Fault::Wake);
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: by the contract of `RawWakerVTable`, the waker stays.
    unsafe { borrow(data) }.reach(Fault::Wake);
}

unsafe fn drop_unused(data: *const ()) {
    // SAFETY: by the contract of `RawWakerVTable`, the waker is used up.
    unsafe { own(data) }.reach(Fault::Drop);
}
