//! One task's memory: a header that any code can read, then the future or its output.
//!
//! The header comes first and its type knows nothing of the future, so a pointer to it stands for
//! the whole task; what depends on the future's type goes through the [`Vtable`]. The future is
//! copied straight from the caller's argument into its final place: no intermediate value, so that
//! a large future costs its stack space once, in debug builds too.
//!
//! The future is replaced in place by the output. Which of the two is there follows from the state
//! word alone (T1 and T3 in `state.rs`): no tag is kept. What ties a child to its scope
//! (`scope/member.rs`), and a name, if the task has one, stand between the header and the future; a
//! task without them has no byte for them.
//!
//! User code that can run from here (a poll, the drop of a future or of an output, a waker) may
//! panic: each call is caught, a panic in a poll becomes the output, and every other panic ends
//! there, so that the state word always moves on. The pool is told of a panic that no handle tells
//! of.

#![expect(
    unsafe_code,
    reason = "a task is reached through a thin pointer and freed by count"
)]

use std::alloc::Layout;
use std::any::Any;
use std::future::Future;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

use super::Id;
use super::contain::{contain, discard};
use super::fetch;
use super::join::Failure;
use super::memory;
use super::owner::{Home, Shard};
use super::place::Name;
use super::spot::Spot;
use super::state::{State, TaskState};
use super::trace::Trace;
use super::waker;
use crate::primitive::cell::UnsafeCell;
use crate::primitive::sync::Arc;
use crate::scope::{self, Link, Member, Node};

mod turn;

/// What a finished task leaves for its handle.
pub(crate) type Output<T> = Result<T, Failure>;

/// The part of a task that does not depend on its future. What no poll touches comes first: tasks lie side by side in
/// the allocator's memory, and the state of the one, which its wakers write, is so apart from the future of the
/// other. What each poll touches stands together, and beside the future: two cache lines for a small one.
#[repr(C)]
pub(crate) struct Header {
    pub(super) id: Id,
    pub(super) location: &'static Location<'static>,
    /// Who waits for the output (T4).
    pub(super) join_waker: UnsafeCell<Option<Waker>>,
    pub(super) state: State,
    vtable: &'static Vtable,
    /// Where the task is listed, and through it the pool that runs the task, which is kept until the
    /// memory goes, so that a late waker still finds it.
    pub(super) spot: Spot,
    pub(super) trace: Trace,
}

impl Header {
    /// Where the task is listed.
    #[inline]
    pub(super) fn shard(&self) -> &Shard {
        // SAFETY: a part of the task's home, which lives as long as this memory.
        unsafe { &*self.spot.shard() }
    }

    #[inline]
    pub(super) fn prefetch(&self) {
        fetch::prefetch(self, self.vtable.size);
    }

    /// What the task does, as an outsider sees it.
    pub(super) fn look(&self) -> TaskState {
        match self.state.look() {
            // Claimed for whoever has the `Runnable`, and that is in a queue.
            TaskState::Running if !self.trace.is_polled() => TaskState::Scheduled,
            state => state,
        }
    }
}

/// What depends on the future's type. Each takes the task as its header pointer.
struct Vtable {
    /// Polls the future once; the caller holds `RUNNING`.
    poll: unsafe fn(NonNull<Header>) -> Poll<()>,
    /// Drops the future and puts `failure` in its place; the caller holds `RUNNING`.
    fail: unsafe fn(NonNull<Header>, Failure),
    /// Moves the output to a place of type `Poll<Output<T>>`.
    read_output: unsafe fn(NonNull<Header>, *mut ()),
    drop_output: unsafe fn(NonNull<Header>),
    /// Bytes of the task's memory.
    size: usize,
    named: bool,
    /// The task's name, which lives as long as the memory.
    name: unsafe fn(NonNull<Header>) -> Option<NonNull<Arc<str>>>,
    free: unsafe fn(NonNull<Header>),
}

#[repr(C)]
struct Cell<F: Future, M: Member<F::Output>, N> {
    header: Header,
    tie: M::Tie,
    name: N,
    body: UnsafeCell<Body<F, M::Value>>,
}

union Body<F, T> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<Output<T>>,
}

impl<F: Future, M: Member<F::Output>, N: Name> Cell<F, M, N> {
    const VTABLE: Vtable = Vtable {
        poll: poll::<F, M, N>,
        fail: fail::<F, M, N>,
        read_output: read_output::<F, M, N>,
        drop_output: drop_output::<F, M, N>,
        size: size_of::<Self>(),
        named: N::IS_NAME,
        name: name::<F, M, N>,
        free: free::<F, M, N>,
    };
}

/// Allocates a task around `future`. Of the three references that it starts with, one is kept for
/// the owner list; the others are the caller's to place: handle, first `Runnable`. The caller counts
/// the task as spawned.
#[inline]
pub(super) fn allocate<F: Future, M: Member<F::Output>, N: Name>(
    member: M,
    future: F,
    home: &Home,
    id: Id,
    location: &'static Location<'static>,
    name: N,
) -> NonNull<Header> {
    let layout = Layout::new::<Cell<F, M, N>>();
    // SAFETY: `allocate` gives memory or does not return; the layout has a size, the header's at least.
    let cell = unsafe { NonNull::new_unchecked(memory::allocate(layout).cast::<Cell<F, M, N>>()) };
    let header = Header {
        id,
        location,
        join_waker: UnsafeCell::new(None),
        state: if M::SCOPED {
            State::new_scoped()
        } else {
            State::new()
        },
        vtable: &Cell::<F, M, N>::VTABLE,
        spot: Spot::new(home.unlisted()),
        trace: Trace::default(),
    };
    let future = ManuallyDrop::new(future);
    // SAFETY: `cell` is fresh memory of the right layout. The future is moved as bytes, once: the
    // original is never used or dropped again.
    unsafe {
        ptr::addr_of_mut!((*cell.as_ptr()).header).write(header);
        ptr::addr_of_mut!((*cell.as_ptr()).tie).write(member.scope().into());
        ptr::addr_of_mut!((*cell.as_ptr()).name).write(name);
        let body = ptr::addr_of_mut!((*cell.as_ptr()).body).cast::<F>();
        ptr::copy_nonoverlapping(&raw const *future, body, 1);
    }
    cell.cast()
}

/// # Safety
///
/// `header` belongs to a live `Cell<F, M, N>`.
unsafe fn body<F: Future, M: Member<F::Output>, N>(
    header: NonNull<Header>,
) -> *mut Body<F, M::Value> {
    // SAFETY: by the caller; only the address is taken.
    unsafe {
        (*header.cast::<Cell<F, M, N>>().as_ptr())
            .body
            .with_mut(|body| body)
    }
}

unsafe fn poll<F: Future, M: Member<F::Output>, N>(header: NonNull<Header>) -> Poll<()> {
    // SAFETY: the caller holds RUNNING, so the future is there and ours alone (T1); it stays in
    // this allocation until it is dropped, so it is pinned.
    let future = unsafe { Pin::new_unchecked(&mut *(*body::<F, M, N>(header)).future) };
    let polled = catch_unwind(AssertUnwindSafe(|| {
        waker::with_borrowed(header, |waker| future.poll(&mut Context::from_waker(waker)))
    }));
    let output = match polled {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(value)) => M::sort(value).map_err(|error| {
            // SAFETY: as above.
            let (scope, id) = unsafe { (scope_of(&header), header.as_ref().id) };
            scope.map_or(Failure::Error, |scope| scope.child_erred(error, id))
        }),
        Err(panic) => Err(Failure::Panic(Box::new(panic))),
    };
    // SAFETY: as above; the future is not touched again.
    unsafe { replace::<F, M, N>(header, output) };
    Poll::Ready(())
}

unsafe fn fail<F: Future, M: Member<F::Output>, N>(header: NonNull<Header>, failure: Failure) {
    // SAFETY: the caller holds RUNNING.
    unsafe { replace::<F, M, N>(header, Err(failure)) }
}

/// Drops the future and writes the output where it was.
///
/// # Safety
///
/// The caller holds `RUNNING` and the future is there; afterwards the output is.
unsafe fn replace<F: Future, M: Member<F::Output>, N>(
    header: NonNull<Header>,
    output: Output<M::Value>,
) {
    // SAFETY: by the caller, the body is ours and holds the future.
    let dropped = contain(|| unsafe { ManuallyDrop::drop(&mut (*body::<F, M, N>(header)).future) });
    // A destructor's panic is told only where nothing better is known.
    let (output, untold) = match (output, dropped) {
        (Err(Failure::Cancelled), Err(panic)) => (Err(Failure::Panic(Box::new(panic))), None),
        (output, dropped) => (output, dropped.err()),
    };
    let output = match output {
        Err(failure) if M::SCOPED => {
            // SAFETY: the caller holds RUNNING.
            let (scope, id) = unsafe { (scope_of(&header), header.as_ref().id) };
            Err(match scope {
                Some(scope) => scope.child_failed(failure, id),
                None => failure,
            })
        }
        output => output,
    };
    // SAFETY: the future is gone (also when its drop panicked), so the place is free.
    unsafe { (*body::<F, M, N>(header)).output = ManuallyDrop::new(output) };
    if let Some(panic) = untold {
        // SAFETY: the caller's reference keeps the task alive.
        unhandled(unsafe { header.as_ref() }, panic);
    }
}

/// The scope that the task is a child of.
///
/// # Safety
///
/// The task is alive, and the caller holds `RUNNING`, the lock of the owner list that the task is in, or the
/// one `Runnable` of a task that is in no list.
unsafe fn scope_of(header: &NonNull<Header>) -> Option<&Arc<Node>> {
    // SAFETY: by the caller; a scoped task has a link.
    unsafe {
        let scoped = header.as_ref().state.is_scoped();
        scoped.then(|| Link::of(header).node())?
    }
}

unsafe fn read_output<F: Future, M: Member<F::Output>, N>(header: NonNull<Header>, place: *mut ()) {
    // SAFETY: the caller owns the output (T3) and says that `place` has this type.
    unsafe {
        let output = ManuallyDrop::take(&mut (*body::<F, M, N>(header)).output);
        *place.cast::<Poll<Output<M::Value>>>() = Poll::Ready(output);
    }
}

unsafe fn drop_output<F: Future, M: Member<F::Output>, N>(header: NonNull<Header>) {
    // SAFETY: the caller owns the output (T3) and does not use it again.
    let output = unsafe { ManuallyDrop::take(&mut (*body::<F, M, N>(header)).output) };
    let untold = match output {
        Err(Failure::Panic(panic)) => Some(*panic),
        Err(Failure::Told(panic)) => {
            discard(*panic);
            None
        }
        Err(Failure::Own(own)) => own.lose(),
        Err(Failure::Cancelled | Failure::Deadline | Failure::Error) => None,
        Ok(value) => contain(|| drop(value)).err(),
    };
    if let Some(panic) = untold {
        // SAFETY: the caller's reference keeps the task alive.
        unhandled(unsafe { header.as_ref() }, panic);
    }
}

unsafe fn name<F: Future, M: Member<F::Output>, N: Name>(
    header: NonNull<Header>,
) -> Option<NonNull<Arc<str>>> {
    // SAFETY: the caller holds a reference, so the memory lives; the name never changes.
    let name = unsafe { &(*header.cast::<Cell<F, M, N>>().as_ptr()).name };
    name.get().map(NonNull::from)
}

unsafe fn free<F: Future, M: Member<F::Output>, N>(header: NonNull<Header>) {
    // SAFETY: the count is 0: nobody else has a pointer. The body holds nothing by now: it is
    // freed complete, and its output was read or dropped (T3).
    unsafe {
        ptr::drop_in_place(&raw mut (*header.cast::<Cell<F, M, N>>().as_ptr()).name);
        ptr::drop_in_place(&raw mut (*header.cast::<Cell<F, M, N>>().as_ptr()).tie);
        ptr::drop_in_place(header.as_ptr());
        memory::free(header.as_ptr().cast(), Layout::new::<Cell<F, M, N>>());
    }
}

/// Ends a panic of the task's own code that no handle tells of.
#[cold]
fn unhandled(task: &Header, panic: Box<dyn Any + Send>) {
    discard(panic);
    task.shard().home().pool().unhandled_panic();
}

/// A counted pointer to a task, without a meaning of its own: the types around it say what the
/// reference is for.
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct TaskRef(NonNull<Header>);

// SAFETY: every access to what is behind the header goes through the state word, whose operations
// hand the future and the output from thread to thread (T1, T3). `allocate`'s callers see to it
// that both are `Send`, or that the task stays on one thread.
unsafe impl Send for TaskRef {}
// SAFETY: as above: a shared `TaskRef` gives access to the state word and to immutable fields.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// # Safety
    ///
    /// The caller passes on one counted reference.
    pub(super) unsafe fn from_raw(header: NonNull<Header>) -> Self {
        TaskRef(header)
    }

    pub(super) fn into_raw(self) -> NonNull<Header> {
        let header = self.0;
        mem::forget(self);
        header
    }

    pub(super) fn as_ptr(&self) -> NonNull<Header> {
        self.0
    }

    /// A reference that is not counted, for as long as another one is.
    ///
    /// # Safety
    ///
    /// The task is alive as long as `header` is borrowed.
    pub(crate) unsafe fn borrow(header: &NonNull<Header>) -> &TaskRef {
        // SAFETY: `TaskRef` has this one field, and the memory lives by the caller.
        unsafe { &*ptr::from_ref(header).cast() }
    }

    /// The scope that the task is a child of.
    ///
    /// # Safety
    ///
    /// This thread holds `RUNNING`, the lock of the owner list that the task is in, or the one `Runnable` of a
    /// task that is in no list.
    pub(crate) unsafe fn scope(&self) -> Option<&Arc<Node>> {
        // SAFETY: by the caller, and this reference keeps the task alive.
        unsafe { scope_of(&self.0) }
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: this reference is counted, so the memory lives (T5). Every field is immutable,
        // atomic, or a cell with rules of its own.
        unsafe { self.0.as_ref() }
    }

    /// # Safety
    ///
    /// The caller is the task's handle, has seen `Join::Complete`, has not taken the output yet,
    /// and `T` is the future's output.
    pub(super) unsafe fn take_output<T>(&self, place: &mut Poll<Output<T>>) {
        // SAFETY: by the caller (T3).
        unsafe { (self.header().vtable.read_output)(self.0, ptr::from_mut(place).cast()) }
    }

    /// # Safety
    ///
    /// The output is the caller's (T3), and not used again.
    pub(super) unsafe fn drop_output(&self) {
        // SAFETY: by the caller.
        scope::enter_ended(self, || unsafe {
            (self.header().vtable.drop_output)(self.0);
        });
    }

    pub(crate) fn id(&self) -> Id {
        self.header().id
    }

    /// Whether the task has a name; for who asks at each poll.
    #[inline]
    pub(super) fn is_named(&self) -> bool {
        self.header().vtable.named
    }

    /// The name that the task was given.
    pub(crate) fn name(&self) -> Option<&Arc<str>> {
        // SAFETY: this reference keeps the memory, and the name in it, for as long as it is lent.
        unsafe { (self.header().vtable.name)(self.0).map(|name| name.as_ref()) }
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.header().state.ref_inc();
        TaskRef(self.0)
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        // SAFETY: this reference was counted and is gone now.
        unsafe { drop_refs(self.0, 1) }
    }
}

/// # Safety
///
/// The caller gives up `count` counted references.
#[inline]
pub(super) unsafe fn drop_refs(header: NonNull<Header>, count: usize) {
    // SAFETY: the references are still counted, so the memory lives.
    let task = unsafe { header.as_ref() };
    if task.state.ref_dec(count) {
        let home = task.shard().home_ptr();
        // SAFETY: these were the last references (T5), and with them goes the task's hold on its home.
        unsafe {
            (task.vtable.free)(header);
            Home::release(home);
        }
    }
}
