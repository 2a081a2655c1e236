//! How a scope runs: the body, then the wait for the children, then the end of either.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use rt_scheduler::scope::{self, Blow, Kind, Node, Reason};
use rt_scheduler::{Waits, noted};

use super::alarm;

/// A scope that runs. Dropping it before its end cancels what is in it, and holds back whatever it is
/// dropped in.
#[derive(Debug)]
pub(super) struct Open {
    node: Arc<Node>,
    over: bool,
}

impl Open {
    /// A scope below the one that this thread is in.
    pub(super) fn new(kind: Kind) -> Self {
        Open {
            node: Node::new(kind, scope::current()),
            over: false,
        }
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Waits until nothing is left in it.
    pub(super) async fn ended(mut self) -> Option<Blow> {
        let waits = || Waits::Scope(self.node.number());
        poll_fn(|cx| noted(self.node.poll_over(cx), waits)).await;
        self.over = true;
        self.node.take_failure()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        alarm::clear(&self.node);
        if !self.over {
            self.node.abandon();
        }
    }
}

/// Runs a scope: `body` gets its node. The first failure, of the body or of a child, is the `Err`; it
/// ends the body at its next suspension point and aborts the children.
pub(super) async fn run<B, F>(kind: Kind, body: B) -> Result<F::Output, Blow>
where
    B: FnOnce(&Arc<Node>) -> F,
    F: Future,
{
    let open = Open::new(kind);
    // In this order, so that the body goes before the scope when all of this is dropped.
    let mut future = pin!(None);
    let mut output = None;
    let mut own_panic = None;
    let mut report = |blow| {
        // A supervisor keeps no failure of its children, but its body's is a failure of its own.
        if let Some(blow) = open.node().fail(blow) {
            open.node().cancel(Reason::Failed);
            match own_panic {
                Some(_) => open.node().lose(blow),
                None => own_panic = Some(blow),
            }
        }
    };
    match guarded(open.node(), || body(open.node())) {
        Ok(made) => {
            future.set(Some(made));
            match drive(open.node(), future.as_mut()).await {
                Ok(ended) => output = ended,
                Err(blow) => report(blow),
            }
        }
        Err(blow) => report(blow),
    }
    if let Err(blow) = guarded(open.node(), || future.set(None)) {
        report(blow);
    }
    let failure = open.ended().await;
    match (failure.or(own_panic), output) {
        (Some(blow), _) => Err(blow),
        (None, Some(output)) => Ok(output),
        (None, None) => unreachable!("a body that gave no output has failed, or a child has"),
    }
}

/// Polls the body to its end. `None`: a child has failed before.
async fn drive<F: Future>(
    node: &Arc<Node>,
    mut body: Pin<&mut Option<F>>,
) -> Result<Option<F::Output>, Blow> {
    poll_fn(|cx: &mut Context<'_>| {
        if node.poll_failed(cx) {
            return Poll::Ready(Ok(None));
        }
        let Some(body) = body.as_mut().as_pin_mut() else {
            return Poll::Ready(Ok(None));
        };
        match guarded(node, || body.poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(Some(output))),
            Err(blow) => Poll::Ready(Err(blow)),
        }
    })
    .await
}

/// Runs code of the body, inside the scope, and keeps its panic from passing the children by.
fn guarded<R>(node: &Arc<Node>, f: impl FnOnce() -> R) -> Result<R, Blow> {
    catch_unwind(AssertUnwindSafe(|| scope::enter(node, f))).map_err(Blow::Panic)
}
