//! Every interleaving of a slot's owner and a rescuer.

#![expect(unsafe_code, reason = "the model's item is a raw box")]

use loom::alloc::Track;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::primitive::check;

use super::{Item, Slot};

/// An item that loom watches: reading it without the `put`-to-`take` edge is a race that loom
/// reports, and so is leaving it behind.
struct Payload {
    value: UnsafeCell<u32>,
    _leak: Track<()>,
}

struct Boxed(Box<Payload>);

// SAFETY: `Box::into_raw` is never null, and `from_raw` rebuilds that box.
unsafe impl Item for Boxed {
    fn into_raw(self) -> *mut () {
        Box::into_raw(self.0).cast()
    }

    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: by the caller.
        Boxed(unsafe { Box::from_raw(raw.cast()) })
    }
}

impl Boxed {
    fn new(value: u32) -> Self {
        Boxed(Box::new(Payload {
            value: UnsafeCell::new(value),
            _leak: Track::new(()),
        }))
    }

    fn read(&self) -> u32 {
        // SAFETY: nothing writes to a payload once it is made.
        self.0.value.with(|value| unsafe { *value })
    }
}

/// Two puts and a take race a rescue: each item leaves exactly once, with its contents visible.
#[test]
fn each_item_leaves_once() {
    check(3, || {
        let slot = Arc::new(Slot::<Boxed>::new());
        let rescuer = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.rescue().map(|item| item.read()))
        };
        let mut seen = Vec::new();
        seen.extend(slot.put(Boxed::new(1)).map(|item| item.read()));
        // A step in between: for loom, what is made at once after the put was made with it.
        slot.is_empty();
        seen.extend(slot.put(Boxed::new(2)).map(|item| item.read()));
        seen.extend(slot.take().map(|item| item.read()));
        seen.extend(rescuer.join().unwrap());
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}

/// An item that nobody takes is freed with the slot.
#[test]
fn a_slot_frees_what_it_holds() {
    check(3, || {
        let slot = Slot::<Boxed>::new();
        assert!(slot.put(Boxed::new(1)).is_none());
    });
}
