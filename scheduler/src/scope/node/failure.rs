//! Failures: which one the scope fails with, and where the others go.
//!
//! Each failure reaches one of three: the caller of the scope, which gets the first; the handle of the
//! child that has failed; or, where that handle is dropped unread, the hook for lost failures.

use std::any::Any;
use std::fmt;
use std::iter;

use super::{FAILED, Kind, Node, Reason, Waiter, release};
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::Ordering::AcqRel;
use crate::task::{Failure, Id, JoinError, contain, contain_all, discard, try_id};

/// What a child has failed with, as the scope keeps it.
#[derive(Debug)]
pub enum Blow {
    /// The payload of a panic.
    Panic(Box<dyn Any + Send>),
    /// An error that it has returned.
    Error(Box<dyn Any + Send>),
}

/// Told of a failure that nobody else is told of.
pub type OnLost = Arc<dyn Fn(JoinError) + Send + Sync>;

/// A failure that its scope does not have.
pub(crate) struct Own {
    blow: Blow,
    id: Id,
    /// The nearest one, found while the scope was there.
    hook: Option<OnLost>,
}

impl Own {
    pub(crate) fn into_blow(self) -> Blow {
        self.blow
    }

    /// Nobody has read it: tells the hook. Without one a panic is given back, since it is then
    /// unhandled, and so is one of the error's destructor.
    pub(crate) fn lose(mut self) -> Option<Box<dyn Any + Send>> {
        let Some(hook) = self.hook.take() else {
            return match self.blow {
                Blow::Panic(payload) => Some(payload),
                Blow::Error(error) => contain(|| drop(error)).err(),
            };
        };
        contain_all(move || {
            hook(JoinError::new(self.id, Failure::Own(Box::new(self))));
            drop(hook);
        });
        None
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own")
            .field("blow", &self.blow)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Node {
    /// Calls `hook` with each failure in this scope, and in those inside it that have no hook of their
    /// own, that would be lost.
    pub fn on_lost(&self, hook: OnLost) {
        let previous = {
            let mut inner = self.inner.lock();
            if inner.tally.is_over() {
                Some(hook)
            } else {
                inner.on_lost.replace(hook)
            }
        };
        drop(previous);
    }

    /// What the handle of the child `id` is told that has ended without a value.
    pub(crate) fn child_failed(self: &Arc<Self>, failure: Failure, id: Id) -> Failure {
        match failure {
            Failure::Cancelled if self.is_past_deadline() => Failure::Deadline,
            Failure::Panic(payload) => {
                let told = copy_of(&**payload);
                match self.fail_as(Blow::Panic(*payload), id) {
                    None => Failure::Told(Box::new(told)),
                    Some(blow) => Failure::Own(Box::new(self.own(blow, id))),
                }
            }
            failure => failure,
        }
    }

    /// The child `id` has returned an error: what its handle is told.
    pub(crate) fn child_erred(self: &Arc<Self>, error: Box<dyn Any + Send>, id: Id) -> Failure {
        match self.fail_as(Blow::Error(error), id) {
            None => Failure::Error,
            Some(blow) => Failure::Own(Box::new(self.own(blow, id))),
        }
    }

    /// As a failure of the scope's own body. Gives it back if the scope takes none: it is a supervisor.
    /// If another was first, the hook is told.
    pub fn fail(self: &Arc<Self>, blow: Blow) -> Option<Blow> {
        let id = try_id().unwrap_or_else(Id::next);
        let blow = self.fail_as(blow, id)?;
        if self.has_failed() {
            self.lose_as(blow, id);
            return None;
        }
        Some(blow)
    }

    /// A failure of the scope's own body which nobody is told of.
    pub fn lose(&self, blow: Blow) {
        self.lose_as(blow, try_id().unwrap_or_else(Id::next));
    }

    /// Ends the scope with `blow`, and tells its future. Gives it back if it is not the scope's: another
    /// was first, nobody is there to be told, or failures are the children's own.
    fn fail_as(self: &Arc<Self>, blow: Blow, id: Id) -> Option<Blow> {
        let waker = {
            let mut inner = self.inner.lock();
            let first = self.flags() & FAILED == 0;
            if self.kind != Kind::Scope || !first || inner.abandoned || inner.tally.is_over() {
                return Some(blow);
            }
            self.flags.fetch_or(FAILED, AcqRel);
            inner.failure = Some((blow, id));
            inner.tally.waiter().take()
        };
        self.cancel(Reason::Failed);
        release(Waiter::tell(waker));
        None
    }

    /// What the scope has failed with.
    pub fn take_failure(&self) -> Option<Blow> {
        let failure = self.inner.lock().failure.take();
        failure.map(|(blow, _)| blow)
    }

    /// A failure that has neither a handle nor a caller.
    pub(super) fn lose_as(&self, blow: Blow, id: Id) {
        if let Some(panic) = self.own(blow, id).lose() {
            discard(panic);
        }
    }

    fn own(&self, blow: Blow, id: Id) -> Own {
        let mut nodes = iter::successors(Some(self), |node| node.parent.as_deref());
        let hook = nodes.find_map(|node| node.inner.lock().on_lost.clone());
        Own { blow, id, hook }
    }
}

/// What a handle gets of a panic whose payload travels elsewhere: its text, if it has one.
fn copy_of(payload: &(dyn Any + Send)) -> Box<dyn Any + Send> {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        Box::new(*text)
    } else if let Some(text) = payload.downcast_ref::<String>() {
        Box::new(text.clone())
    } else {
        Box::new("a panic whose payload has gone to the scope")
    }
}
