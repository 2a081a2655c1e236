//! The timers of a scope: its deadline, and the end of its grace.
//!
//! They do not need the scope's own future to be polled: what the timer wakes is not a task but the
//! scope's node, which it cancels on the spot.

use std::any::Any;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Wake, Waker};

use rt_scheduler::scope::{Node, Reason};

use crate::handle::Handle;
use crate::time::{Instant, Sleep, sleep_until};

/// What a node keeps of its timers.
#[derive(Debug, Default)]
struct Alarms {
    deadline: Option<Pin<Box<Sleep>>>,
    grace: Option<Pin<Box<Sleep>>>,
}

/// Cancels a scope when it is woken.
struct Bell {
    node: Weak<Node>,
    reason: Reason,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        if let Some(node) = self.node.upgrade() {
            node.cancel(self.reason);
        }
    }
}

/// Cancels `node`, a scope of `runtime`, at `at` for `reason`, in place of what was set for the same
/// reason before. At once if the runtime is being shut down: no time comes there any more.
pub(super) fn set(node: &Arc<Node>, runtime: &Handle, at: Instant, reason: Reason) {
    if node.is_over() || runtime.inner.io.pool().is_closed() {
        return node.cancel(reason);
    }
    let _inside = runtime.enter();
    let bell = Arc::new(Bell {
        node: Arc::downgrade(node),
        reason,
    });
    let mut sleep = Box::pin(sleep_until(at));
    let waker = Waker::from(bell);
    if sleep
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_ready()
    {
        return node.cancel(reason);
    }
    let previous = node.with_timers(|timers| {
        let timers =
            timers.get_or_insert_with(|| Box::new(Alarms::default()) as Box<dyn Any + Send>);
        let alarms = timers.downcast_mut::<Alarms>()?;
        match reason {
            Reason::Deadline => alarms.deadline.replace(sleep),
            _ => alarms.grace.replace(sleep),
        }
    });
    drop(previous);
}

/// Takes all timers off.
pub(super) fn clear(node: &Node) {
    let timers = node.with_timers(Option::take);
    drop(timers);
}
