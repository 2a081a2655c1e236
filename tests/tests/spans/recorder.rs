//! A subscriber that keeps what it is told of tasks, or misbehaves.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, MutexGuard};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    /// The spans that this thread is in.
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// What can be made to panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callback {
    New,
    Enter,
    Exit,
    Close,
    Event,
}

impl Callback {
    pub(crate) const ALL: [Callback; 5] = [
        Callback::New,
        Callback::Enter,
        Callback::Exit,
        Callback::Close,
        Callback::Event,
    ];
}

/// One task's span.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    id: u64,
    fields: Fields,
    pub(crate) entered: usize,
    pub(crate) closed: bool,
}

impl Span {
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        self.fields.find(name)
    }

    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("no field {name}"))
    }
}

#[derive(Clone, Debug, Default)]
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn find(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|field| field.0 == name);
        field.map(|field| field.1.as_str())
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

/// See the module. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Shared>);

type Call = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Shared {
    /// The only target that it wants; none: all.
    target: Option<&'static str>,
    ids: AtomicUsize,
    deepest: AtomicUsize,
    panics: AtomicUsize,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    spans: Vec<Span>,
    /// Spans and operations.
    ops: Vec<(u64, String)>,
    events: usize,
    /// What should not have been told. A panic would not get out of the runtime.
    faults: Vec<String>,
    panic_in: Option<Callback>,
    on_every_call: Option<Call>,
}

impl Recorder {
    /// Wants this target alone.
    pub(crate) fn of(target: &'static str) -> Self {
        Recorder(Arc::new(Shared {
            target: Some(target),
            ..Shared::default()
        }))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap()
    }

    /// What there is; fails if anything was told that should not have been.
    #[track_caller]
    pub(crate) fn spans(&self) -> Vec<Span> {
        let log = self.log();
        assert!(log.faults.is_empty(), "{:?}", log.faults);
        log.spans.clone()
    }

    fn demand(&self, holds: bool, what: &str) {
        if !holds {
            self.log().faults.push(what.to_owned());
        }
    }

    /// What was told of the wakers of `span`.
    pub(crate) fn ops(&self, span: &Span) -> Vec<String> {
        let log = self.log();
        let of_span = log.ops.iter().filter(|op| op.0 == span.id);
        of_span.map(|op| op.1.clone()).collect()
    }

    pub(crate) fn events(&self) -> usize {
        self.log().events
    }

    /// The names of the tasks in whose spans this thread is.
    pub(crate) fn inside(&self) -> Vec<String> {
        let ids = INSIDE.with_borrow(Clone::clone);
        let name = |id: u64| {
            let spans = self.spans();
            let span = spans.iter().find(|span| span.id == id).unwrap();
            span.find("task.name").unwrap_or_default().to_owned()
        };
        ids.into_iter().map(name).collect()
    }

    /// In how many spans a thread was at once.
    pub(crate) fn deepest(&self) -> usize {
        self.0.deepest.load(SeqCst)
    }

    /// Forgets the spans that are closed, and all that was told of wakers.
    pub(crate) fn forget(&self) {
        let mut log = self.log();
        log.spans.retain(|span| !span.closed);
        log.ops.clear();
    }

    pub(crate) fn panic_in(&self, callback: Option<Callback>) {
        self.log().panic_in = callback;
        self.0.panics.store(0, SeqCst);
    }

    pub(crate) fn panics(&self) -> usize {
        self.0.panics.load(SeqCst)
    }

    pub(crate) fn on_every_call(&self, call: impl Fn() + Send + Sync + 'static) {
        self.log().on_every_call = Some(Arc::new(call));
    }

    /// What each callback begins with.
    fn called(&self, callback: Callback) {
        let (panics, call) = {
            let log = self.log();
            (log.panic_in == Some(callback), log.on_every_call.clone())
        };
        if let Some(call) = call {
            call();
        }
        if panics {
            self.0.panics.fetch_add(1, SeqCst);
            panic!("in {callback:?}");
        }
    }

    fn with_span<T>(&self, id: &Id, f: impl FnOnce(&mut Span) -> T) -> Option<T> {
        let mut log = self.log();
        let span = log.spans.iter_mut().find(|span| span.id == id.into_u64());
        span.map(f)
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match self.0.target {
            Some(target) => metadata.target() == target,
            None => metadata.target().starts_with("tokio::task"),
        }
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let metadata = attributes.metadata();
        self.demand(metadata.target() == "tokio::task", "another target");
        self.demand(metadata.name() == "runtime.spawn", "another name");
        self.demand(*metadata.level() == Level::TRACE, "another level");
        self.demand(attributes.is_root(), "a span with a parent");
        self.called(Callback::New);
        let id = self.0.ids.fetch_add(1, SeqCst) as u64 + 1;
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        self.log().spans.push(Span {
            id,
            fields,
            ..Span::default()
        });
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.log().events += 1;
        if event.metadata().target() != "tokio::task::waker" {
            return;
        }
        self.called(Callback::Event);
        let mut fields = Fields::default();
        event.record(&mut fields);
        let id = fields.find("task.id").unwrap().parse().unwrap();
        let op = fields.find("op").unwrap().to_owned();
        self.log().ops.push((id, op));
    }

    fn enter(&self, id: &Id) {
        self.called(Callback::Enter);
        let depth = INSIDE.with_borrow_mut(|inside| {
            inside.push(id.into_u64());
            inside.len()
        });
        self.0.deepest.fetch_max(depth, SeqCst);
        let open = self.with_span(id, |span| {
            span.entered += 1;
            !span.closed
        });
        self.demand(open == Some(true), "entered, and not open");
    }

    fn exit(&self, id: &Id) {
        self.called(Callback::Exit);
        let left = INSIDE.with_borrow_mut(Vec::pop);
        self.demand(left == Some(id.into_u64()), "left, and not entered last");
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.demand(false, "a second handle of a span");
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.called(Callback::Close);
        let twice = self.with_span(&id, |span| std::mem::replace(&mut span.closed, true));
        self.demand(twice == Some(false), "closed, and not open");
        true
    }
}
