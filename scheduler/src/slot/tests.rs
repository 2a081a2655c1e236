//! One thread's view of a slot.

#![expect(unsafe_code, reason = "the test's item is a raw box")]

use super::{Item, Slot};

struct Number(Box<u32>);

// SAFETY: `Box::into_raw` is never null, and `from_raw` rebuilds that box.
unsafe impl Item for Number {
    fn into_raw(self) -> *mut () {
        Box::into_raw(self.0).cast()
    }

    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: by the caller.
        Number(unsafe { Box::from_raw(raw.cast()) })
    }
}

#[test]
fn put_returns_what_it_displaces() {
    let slot = Slot::new();
    assert!(slot.is_empty());
    assert!(slot.put(Number(Box::new(1))).is_none());
    assert_eq!(slot.put(Number(Box::new(2))).map(|n| *n.0), Some(1));
    assert_eq!(slot.take().map(|n| *n.0), Some(2));
    assert!(slot.take().is_none());
}
