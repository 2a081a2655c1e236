//! One value, and what becomes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use super::{Found, channel};

/// A waker that counts itself by its `Arc`.
struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_value_is_given_once() {
    let (sender, mut receiver) = channel();
    assert_eq!(receiver.look(), Found::NotYet);
    sender.send(7).unwrap();
    assert!(receiver.has_value());
    assert_eq!(receiver.look(), Found::Value(7));
    assert_eq!(receiver.look(), Found::Nothing);
    assert!(receiver.is_over());
}

#[test]
fn a_value_that_is_not_wanted_comes_back() {
    let (sender, receiver) = channel();
    drop(receiver);
    assert!(sender.is_closed());
    assert_eq!(sender.send("back"), Err("back"));
}

#[test]
fn a_value_that_was_sent_before_the_close_can_be_had() {
    let (sender, mut receiver) = channel();
    sender.send(7).unwrap();
    receiver.close();
    assert_eq!(receiver.look(), Found::Value(7));
    let (sender, mut receiver) = channel();
    receiver.close();
    assert_eq!(sender.send(7), Err(7));
    assert_eq!(receiver.look(), Found::Nothing);
}

#[test]
fn wakers_go_with_those_who_waited() {
    let counted = Arc::new(Counted);
    let waker = Waker::from(Arc::clone(&counted));
    let (mut sender, mut receiver) = channel::<u8>();
    let cx = &mut Context::from_waker(&waker);
    for _ in 0..3 {
        assert_eq!(receiver.poll_look(cx), Found::NotYet);
        assert!(sender.poll_closed(cx).is_pending());
    }
    assert_eq!(Arc::strong_count(&counted), 4);
    drop(receiver);
    assert_eq!(Arc::strong_count(&counted), 2, "both were taken out");
    drop(sender);
}

#[test]
fn a_destructor_that_panics_leaves_no_memory_behind() {
    struct Panics(#[expect(dead_code, reason = "counted")] Arc<Counted>);
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let counted = Arc::new(Counted);
    let (sender, receiver) = channel();
    assert!(sender.send(Panics(Arc::clone(&counted))).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(receiver))).is_err());
    assert_eq!(Arc::strong_count(&counted), 1);
}
