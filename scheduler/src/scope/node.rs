//! One scope, or one cancellation token: a node of the tree.
//!
//! # Invariants
//!
//! * **N1** A node is linked below its parent, and takes the parent's flags over, under the parent's
//!   lock. So a walk that sets a flag finds the node, or the node finds the flag.
//! * **N2** A child is linked under the lock that closes the scope: it is refused, or the abort finds it.
//! * **N3** No two locks of nodes are held at once, and none while a waker or a destructor runs.

#![expect(unsafe_code, reason = "children are linked by pointer")]

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Weak;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::task::{Context, Poll, Waker};

use super::children::Children;
use super::tally::Tally;
use super::{Link, current};
use crate::primitive::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::primitive::sync::{Arc, Mutex};
use crate::task::{Header, Id, TaskRef, contain_all, try_id};

mod failure;

pub(crate) use failure::Own;
pub use failure::{Blow, OnLost};

/// Asked to stop: by its own [`Node::request`] or an ancestor's.
const REQUESTED: u8 = 1;
/// Its children are aborted, and new ones refused.
const ABORTED: u8 = 1 << 1;
/// The abort came from a deadline.
const DEADLINE: u8 = 1 << 2;
/// A child has failed.
const FAILED: u8 = 1 << 3;

/// What never comes, as a deadline.
const NEVER: u64 = u64::MAX;

/// What a node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scope that a failing child ends.
    Scope,
    /// A scope in which failures are the children's own.
    Supervisor,
    /// A scope of one child, whom no cancellation from above reaches.
    Shield,
    /// No scope: a token to cancel by.
    Token,
    /// A `block_on`, as what scopes that were left behind hold back.
    Root,
}

/// Why a scope's children are aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Somebody asked for it, or the scope's future was dropped.
    Cancelled,
    /// A child has failed.
    Failed,
    /// The scope's time was over.
    Deadline,
}

/// One scope or token. See the module.
pub struct Node {
    kind: Kind,
    parent: Option<Arc<Node>>,
    /// The task in which it was made.
    opener: Option<Id>,
    /// The name under which the parent lists it.
    key: u64,
    /// Written under the lock.
    flags: AtomicU8,
    /// In nanoseconds of the runtime's clock.
    deadline: AtomicU64,
    inner: Mutex<Inner>,
    /// The runtime's timers for it.
    timers: Mutex<Option<Box<dyn Any + Send>>>,
}

struct Inner {
    tally: Tally<Waiter>,
    children: Children,
    /// The nodes below.
    below: BTreeMap<u64, Weak<Node>>,
    /// Who waits for the request to stop, in order.
    stopping: BTreeMap<u64, Waker>,
    next_key: u64,
    /// What the scope fails with, and whose failure it is.
    failure: Option<(Blow, Id)>,
    /// Told of the failures that nobody else is. Gone with the last member, for it may keep the scope.
    on_lost: Option<OnLost>,
    /// The scope's future is gone: nobody is there to be told of a failure.
    abandoned: bool,
    name: Option<Box<str>>,
}

/// Who waits for a scope's last member.
enum Waiter {
    /// The scope's future.
    Future(Waker),
    /// Whoever it was dropped in.
    Holder(Holder),
}

/// What cannot end before a scope that was left behind in it.
#[derive(Debug)]
pub(crate) enum Holder {
    Task(TaskRef),
    Node(Arc<Node>),
}

/// Tells the holder, and whoever that is the last member of, upwards.
#[inline]
pub(crate) fn release(first: Option<Holder>) {
    if first.is_some() {
        release_all(first);
    }
}

#[cold]
fn release_all(first: Option<Holder>) {
    let mut next = first;
    while let Some(holder) = next {
        next = match holder {
            Holder::Task(task) => task.drop_hold(),
            Holder::Node(node) => node.member_gone(),
        };
    }
}

/// Makes a fresh task a member of its scope. `false`: the scope is closed.
///
/// # Safety
///
/// `task` is alive, it has a link, and nobody else has the task yet.
pub(crate) unsafe fn admit(task: NonNull<Header>) -> bool {
    // SAFETY: by the caller.
    let Some(scope) = (unsafe { Link::of(&task).node() }) else {
        return false;
    };
    let mut inner = scope.inner.lock();
    if !inner.tally.join() {
        return false;
    }
    // SAFETY: by the caller, it is alive and in no list; it leaves this one when it completes.
    unsafe { inner.children.push(task) };
    true
}

/// One step of cancellation.
#[derive(Clone, Copy)]
enum Step {
    Request,
    Abort(Reason),
}

/// What a step has found at one node.
#[derive(Default)]
struct Found {
    wakers: BTreeMap<u64, Waker>,
    tasks: Vec<TaskRef>,
}

impl Node {
    /// A node below `parent`, which takes its flags over unless it is a shield.
    pub fn new(kind: Kind, parent: Option<Arc<Node>>) -> Arc<Node> {
        let Some(parent) = parent else {
            return Arc::new(Node::at(kind, None, 0, 0));
        };
        let above = Arc::clone(&parent);
        let mut inner = above.inner.lock();
        inner.next_key += 1;
        let key = inner.next_key;
        let flags = match kind {
            Kind::Shield => 0,
            _ => parent.flags() & (REQUESTED | ABORTED | DEADLINE),
        };
        let node = Arc::new(Node::at(kind, Some(parent), key, flags));
        inner.below.insert(key, Arc::downgrade(&node));
        node
    }

    fn at(kind: Kind, parent: Option<Arc<Node>>, key: u64, flags: u8) -> Node {
        let mut tally = Tally::new();
        if flags & ABORTED != 0 {
            tally.close();
        }
        Node {
            kind,
            parent,
            opener: try_id(),
            key,
            flags: AtomicU8::new(flags),
            deadline: AtomicU64::new(NEVER),
            inner: Mutex::new(Inner {
                tally,
                children: Children::default(),
                below: BTreeMap::new(),
                stopping: BTreeMap::new(),
                next_key: 0,
                failure: None,
                on_lost: None,
                abandoned: false,
                name: None,
            }),
            timers: Mutex::new(None),
        }
    }

    fn flags(&self) -> u8 {
        self.flags.load(Acquire)
    }

    /// Whether it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.flags() & REQUESTED != 0
    }

    /// Whether a child has failed; the scope's body is then to be dropped.
    pub fn has_failed(&self) -> bool {
        self.flags() & FAILED != 0
    }

    /// Whether it was aborted because its time, or an ancestor's, was over.
    pub fn is_past_deadline(&self) -> bool {
        self.flags() & DEADLINE != 0
    }

    /// Whether it has returned, or was left behind without members: nothing happens in it any more.
    pub fn is_over(&self) -> bool {
        self.inner.lock().tally.is_over()
    }

    /// How many children are not complete.
    pub fn child_count(&self) -> usize {
        self.inner.lock().children.len()
    }

    /// Calls it something.
    pub fn set_name(&self, name: &str) {
        let previous = self.inner.lock().name.replace(name.into());
        drop(previous);
    }

    /// What it is called.
    pub fn name(&self) -> Option<Box<str>> {
        self.inner.lock().name.clone()
    }

    /// A number that tells it from others that there are at the same time.
    pub fn number(&self) -> u64 {
        ptr::from_ref(self).addr() as u64
    }

    /// The task in which it was made.
    pub fn opener(&self) -> Option<Id> {
        self.opener
    }

    /// Its children that are not complete.
    pub fn child_ids(&self) -> Vec<Id> {
        let children = self.inner.lock().children.refs();
        children.iter().map(TaskRef::id).collect()
    }

    /// Its own deadline, in nanoseconds of the runtime's clock.
    pub fn own_deadline(&self) -> Option<u64> {
        let nanos = self.deadline.load(Relaxed);
        (nanos != NEVER).then_some(nanos)
    }

    /// The node above.
    pub fn parent(&self) -> Option<&Arc<Node>> {
        self.parent.as_ref()
    }

    /// The nodes below, in the order in which they were made.
    pub fn below(&self) -> Vec<Arc<Node>> {
        let inner = self.inner.lock();
        inner.below.values().filter_map(Weak::upgrade).collect()
    }

    /// What it is for.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Gives it a deadline of its own, in nanoseconds of the runtime's clock.
    pub fn set_deadline(&self, nanos: u64) {
        self.deadline.store(nanos, Relaxed);
    }

    /// The earliest deadline among its own and its ancestors', up to the next shield.
    pub fn deadline(&self) -> Option<u64> {
        let mut earliest = NEVER;
        let mut next = Some(self);
        while let Some(node) = next {
            earliest = earliest.min(node.deadline.load(Relaxed));
            next = match node.kind {
                Kind::Shield => None,
                _ => node.parent.as_deref(),
            };
        }
        (earliest != NEVER).then_some(earliest)
    }

    /// The place in which the runtime keeps its timers for this node.
    pub fn with_timers<R>(&self, f: impl FnOnce(&mut Option<Box<dyn Any + Send>>) -> R) -> R {
        f(&mut self.timers.lock())
    }

    /// Asks everybody below to stop, and refuses new children. Nobody is aborted.
    pub fn request(self: &Arc<Self>) {
        self.inner.lock().tally.close();
        self.walk(Step::Request);
    }

    /// Asks everybody below to stop, and aborts all children, down to the leaves.
    pub fn cancel(self: &Arc<Self>, reason: Reason) {
        self.walk(Step::Abort(reason));
    }

    fn walk(self: &Arc<Self>, step: Step) {
        let mut to_visit = Vec::new();
        let mut next = Some(Arc::clone(self));
        while let Some(node) = next {
            let Found { wakers, tasks } = node.mark(step, &mut to_visit);
            for waker in wakers.into_values() {
                contain_all(|| waker.wake());
            }
            for task in tasks {
                task.abort();
            }
            next = to_visit.pop();
            while next.as_ref().is_some_and(|node| node.kind == Kind::Shield) {
                next = to_visit.pop();
            }
        }
    }

    /// Takes the step here, and lists the nodes below.
    fn mark(&self, step: Step, to_visit: &mut Vec<Arc<Node>>) -> Found {
        let mut inner = self.inner.lock();
        let before = self.flags.load(Relaxed);
        let set = match step {
            Step::Request => REQUESTED,
            Step::Abort(Reason::Deadline) => REQUESTED | ABORTED | DEADLINE,
            Step::Abort(_) => REQUESTED | ABORTED,
        };
        if before & ABORTED != 0 || before & set == set {
            // The walk that has been here goes on below.
            return Found::default();
        }
        self.flags.fetch_or(set, AcqRel);
        let mut found = Found {
            wakers: mem::take(&mut inner.stopping),
            tasks: Vec::new(),
        };
        if set & ABORTED != 0 {
            inner.tally.close();
            found.tasks = inner.children.refs();
        }
        to_visit.extend(inner.below.values().filter_map(Weak::upgrade));
        found
    }

    /// Waits for the request to stop. `ticket` names the waiter between polls; see
    /// [`stop_waiting`](Node::stop_waiting).
    pub fn poll_cancelled(&self, ticket: &mut Option<u64>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        // The clone runs foreign code, so it comes before the lock.
        let waker = cx.waker().clone();
        let mut inner = self.inner.lock();
        if self.is_cancelled() {
            drop(inner);
            return Poll::Ready(());
        }
        let key = *ticket.get_or_insert_with(|| {
            inner.next_key += 1;
            inner.next_key
        });
        let previous = inner.stopping.insert(key, waker);
        drop(inner);
        drop(previous);
        Poll::Pending
    }

    /// Forgets a waiter.
    pub fn stop_waiting(&self, ticket: u64) {
        let waker = self.inner.lock().stopping.remove(&ticket);
        drop(waker);
    }

    /// A child is complete.
    ///
    /// # Safety
    ///
    /// `task` is alive, and was linked to this scope when it was made.
    pub(crate) unsafe fn child_gone(&self, task: NonNull<Header>) -> Option<Holder> {
        let left = {
            let mut inner = self.inner.lock();
            // SAFETY: by the caller.
            if !unsafe { inner.children.remove(task) } {
                return None;
            }
            inner.leave()
        };
        left.tell()
    }

    fn member_gone(&self) -> Option<Holder> {
        let left = self.inner.lock().leave();
        left.tell()
    }

    /// Holds this scope, or `block_on`, back from its end.
    pub(super) fn hold(self: &Arc<Self>) -> Option<Holder> {
        let held = self.inner.lock().tally.hold();
        held.then(|| Holder::Node(Arc::clone(self)))
    }

    /// Whether a child has failed; if not, `cx` is told when one does.
    pub fn poll_failed(&self, cx: &mut Context<'_>) -> bool {
        let current = |inner: &mut Inner| match inner.tally.waiter() {
            Some(Waiter::Future(waker)) => waker.will_wake(cx.waker()),
            _ => false,
        };
        if current(&mut self.inner.lock()) {
            return self.has_failed();
        }
        let waker = cx.waker().clone();
        let mut inner = self.inner.lock();
        if self.has_failed() {
            drop(inner);
            return true;
        }
        let previous = inner.tally.waiter().replace(Waiter::Future(waker));
        drop(inner);
        drop(previous);
        false
    }

    /// Waits for the last member; from then on there can be no new one.
    pub fn poll_over(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.end_if_empty() {
            return Poll::Ready(());
        }
        let waiter = Waiter::Future(cx.waker().clone());
        let waited = self.inner.lock().tally.wait(waiter);
        if waited.is_err() {
            self.end_if_empty();
        }
        match waited {
            Ok(previous) => {
                drop(previous);
                Poll::Pending
            }
            Err(unused) => {
                drop(unused);
                Poll::Ready(())
            }
        }
    }

    /// Ends it if it has no member, and lets go of who waited. The lock is gone by then: a waker's
    /// drop is foreign code.
    fn end_if_empty(&self) -> bool {
        let ended = {
            let mut inner = self.inner.lock();
            let waiter = inner.tally.end_if_empty();
            waiter.map(|waiter| (waiter, inner.on_lost.take()))
        };
        let is_over = ended.is_ok();
        contain_all(|| drop(ended));
        is_over
    }

    /// The scope's future is dropped before the scope is over: cancels it, unless it is a shield, and
    /// holds back whatever the future is dropped in, or else the scope above.
    pub fn abandon(self: &Arc<Self>) {
        let failure = {
            let mut inner = self.inner.lock();
            inner.tally.close();
            inner.abandoned = true;
            inner.failure.take()
        };
        if self.kind != Kind::Shield {
            self.cancel(Reason::Cancelled);
        }
        if let Some((blow, id)) = failure {
            self.lose_as(blow, id);
        }
        if self.end_if_empty() {
            return;
        }
        let above = || self.parent.as_ref().and_then(Node::hold);
        let Some(holder) = current::hold().or_else(above) else {
            return;
        };
        let waited = self.inner.lock().tally.wait(Waiter::Holder(holder));
        match waited {
            Ok(previous) => drop(previous),
            Err((holder, previous)) => {
                drop(previous);
                release(Waiter::tell(Some(holder)));
            }
        }
    }

    /// Leaves the parent's list, and gives the parent up.
    fn leave_parent(&mut self) -> Option<Arc<Node>> {
        let parent = self.parent.take()?;
        let listed = parent.inner.lock().below.remove(&self.key);
        drop(listed);
        Some(parent)
    }
}

impl Inner {
    /// One member less. The last one gets who waits, and the hook if it is needed no more.
    fn leave(&mut self) -> Left {
        let waiter = self.tally.leave();
        let last = self.abandoned && self.tally.is_empty();
        let hook = if last { self.on_lost.take() } else { None };
        Left { waiter, hook }
    }
}

/// What a member that leaves is to do without the lock.
struct Left {
    waiter: Option<Waiter>,
    hook: Option<OnLost>,
}

impl Left {
    fn tell(self) -> Option<Holder> {
        if let Some(hook) = self.hook {
            contain_all(|| drop(hook));
        }
        Waiter::tell(self.waiter)
    }
}

impl Waiter {
    /// Wakes the future; a holder is the caller's to [`release`].
    fn tell(waiter: Option<Waiter>) -> Option<Holder> {
        match waiter? {
            Waiter::Holder(holder) => Some(holder),
            Waiter::Future(waker) => {
                contain_all(|| waker.wake());
                None
            }
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Upwards in a loop: each may be the last that keeps the next.
        let mut above = self.leave_parent();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.leave_parent();
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("kind", &self.kind)
            .field("name", &self.name())
            .field("children", &self.child_count())
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
