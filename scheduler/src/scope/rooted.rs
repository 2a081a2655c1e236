//! A future for `block_on`, which does not return before what was left behind in it has ended.

use std::any::Any;
use std::cell::OnceCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::current::enter_root;
use super::node::Node;
use crate::primitive::sync::Arc;
use crate::task::discard;

/// See [`rooted`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Rooted<'a, F: Future> {
    future: Option<Pin<&'a mut Option<F>>>,
    ended: Option<Result<F::Output, Box<dyn Any + Send>>>,
    /// Made by the first scope that is left behind.
    root: OnceCell<Arc<Node>>,
}

// Nothing in here is pinned but what the reference leads to.
impl<F: Future> Unpin for Rooted<'_, F> {}

/// Runs `future`, drops it, and waits for the children of the scopes that it has left behind. Also if
/// it panics: then the panic goes on afterwards.
pub fn rooted<F: Future>(future: Pin<&mut Option<F>>) -> Rooted<'_, F> {
    Rooted {
        future: Some(future),
        ended: None,
        root: OnceCell::new(),
    }
}

impl<F: Future> Rooted<'_, F> {
    fn poll_future(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(future) = &mut self.future else {
            return Poll::Ready(());
        };
        let root = &self.root;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            enter_root(root, || match future.as_mut().as_pin_mut() {
                Some(future) => future.poll(cx),
                None => Poll::Pending,
            })
        }));
        let mut ended = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            enter_root(root, || future.as_mut().set(None));
        }));
        if let Err(panic) = dropped {
            match ended {
                Ok(_) => ended = Err(panic),
                Err(_) => discard(panic),
            }
        }
        self.future = None;
        self.ended = Some(ended);
        Poll::Ready(())
    }
}

impl<F: Future> Future for Rooted<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        ready!(self.poll_future(cx));
        if let Some(root) = self.root.get() {
            ready!(root.poll_over(cx));
        }
        match self.ended.take() {
            Some(Ok(output)) => Poll::Ready(output),
            Some(Err(panic)) => resume_unwind(panic),
            None => panic!("`Rooted` was polled after it had ended"),
        }
    }
}
