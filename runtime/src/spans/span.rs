//! The span of a task, and what is wrapped in it.

use std::cell::Cell;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use rt_scheduler::{Id, Numbered, Place};
use tracing::Span;
use tracing::level_filters::LevelFilter;
use tracing::span::Entered;

use super::waker::Forward;
use crate::contain::contain;

thread_local! {
    /// Whether this thread is in a call of a subscriber.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// What kind of task a span is of, in the console's words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Task,
    Local,
    Blocking,
    BlockOn,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Task => "task",
            Kind::Local => "local",
            Kind::Blocking => "blocking",
            Kind::BlockOn => "block_on",
        }
    }
}

/// Calls the subscriber. `None`: it has panicked.
pub(super) fn contained<T>(call: impl FnOnce() -> T) -> Option<T> {
    let outer = TELLING.replace(true);
    let mut told = None;
    contain(|| told = Some(call()));
    TELLING.set(outer);
    told
}

/// Calls the subscriber, unless what is told happens in a call of it.
pub(super) fn tell<T>(call: impl FnOnce() -> T) -> Option<T> {
    if TELLING.get() {
        return None;
    }
    contained(call)
}

/// The span of a task that is about to be spawned, if a subscriber wants it. The place then has the task's id.
#[inline]
pub(crate) fn open<P: Place>(kind: Kind, place: P) -> Result<(TaskSpan, Numbered<P>), P> {
    if LevelFilter::current() < LevelFilter::TRACE {
        return Err(place);
    }
    let id = place.task_id();
    match TaskSpan::new(kind, &place, id) {
        Some(span) => Ok((span, Numbered { place, id })),
        None => Err(place),
    }
}

/// A span that is open for as long as this lives.
pub(crate) struct TaskSpan(Span);

impl TaskSpan {
    #[cold]
    fn new(kind: Kind, place: &impl Place, id: Id) -> Option<TaskSpan> {
        let (location, name) = (place.location(), place.name());
        let span = tell(|| {
            // A root: a task is no part of what its spawner is just about.
            tracing::trace_span!(
                target: "tokio::task",
                parent: None,
                "runtime.spawn",
                kind = kind.name(),
                task.name = name,
                task.id = id.number(),
                loc.file = location.file(),
                loc.line = location.line(),
                loc.col = location.column(),
            )
        })?;
        (!span.is_disabled()).then_some(TaskSpan(span))
    }

    fn enter(&self) -> Inside<'_> {
        Inside(contained(|| self.0.enter()))
    }

    /// A future of a task in this span. It is boxed, so that the spawns of all futures with the same output share their
    /// code.
    pub(crate) fn follow<'a, F>(self, future: F) -> impl Future<Output = F::Output> + Send
    where
        F: Future + Send + 'a,
    {
        let future: Pin<Box<dyn Future<Output = F::Output> + Send + 'a>> = Box::pin(future);
        Followed::new(future, Some(self))
    }

    /// As [`follow`](TaskSpan::follow), for a future that stays on this thread.
    pub(crate) fn follow_here<'a, F>(self, future: F) -> impl Future<Output = F::Output>
    where
        F: Future + 'a,
    {
        let future: Pin<Box<dyn Future<Output = F::Output> + 'a>> = Box::pin(future);
        Followed::new(future, Some(self))
    }

    /// A blocking job in this span.
    pub(crate) fn cover<T>(self, job: impl FnOnce() -> T) -> impl FnOnce() -> T {
        move || {
            let _inside = self.enter();
            job()
        }
    }
}

impl Drop for TaskSpan {
    fn drop(&mut self) {
        let span = mem::replace(&mut self.0, Span::none());
        contained(|| drop(span));
    }
}

/// While it lives, this thread is in the span.
struct Inside<'a>(Option<Entered<'a>>);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let entered = self.0.take();
        contained(|| drop(entered));
    }
}

/// The future of a `block_on`, in its span if it has one: one type for both, so that there is no second copy of the
/// loop that polls it.
pub(crate) fn follow_root<F: Future>(
    future: F,
    place: impl Place,
) -> impl Future<Output = F::Output> {
    let span = open(Kind::BlockOn, place).ok();
    Followed::new(future, span.map(|(span, _)| span))
}

pin_project! {
    /// A future whose polls are told of, and whose wakers tell what is done with them.
    struct Followed<F> {
        // In this order: it is dropped before the span closes.
        #[pin]
        future: F,
        span: Option<TaskSpan>,
        // What the wakers share, from the first poll on.
        forward: Option<Arc<Forward>>,
    }
}

impl<F> Followed<F> {
    fn new(future: F, span: Option<TaskSpan>) -> Self {
        Followed {
            future,
            span,
            forward: None,
        }
    }
}

impl<F: Future> Future for Followed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(span) = this.span else {
            return this.future.poll(cx);
        };
        let forward = Forward::to(cx.waker(), span.0.id(), this.forward);
        let _inside = span.enter();
        forward.lend(|waker| this.future.poll(&mut Context::from_waker(waker)))
    }
}
