//! Which pool a task runs on.
//!
//! A limited dispatcher is made without a runtime, in a `static` if need be, and used with any. For
//! each runtime that it meets it makes a view of that runtime's pool (`rt_scheduler::View`), which
//! has the turns and the line; the limit holds for each runtime on its own, so that one that stands
//! still keeps nobody in another one waiting.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use rt_scheduler::{Pool, View};

use crate::handle::Inner;

/// Names the pool that a task belongs to. A wake always returns a task to its pool.
///
/// # What goes where
///
/// | the work | goes to | with |
/// |---|---|---|
/// | waits for sockets, timers, channels; computes for microseconds in between | the IO pool | [`spawn`](crate::spawn) |
/// | computes: hashes, parses, compresses, sorts, for a tenth of a millisecond or more | the CPU pool | [`spawn_on`](crate::spawn_on) or [`run_on`](crate::run_on) with [`Cpu`](Dispatcher::Cpu) |
/// | computes, but must leave room for others | a part of the CPU pool | [`limited`](Dispatcher::limited) |
/// | calls something that blocks: a driver, a C library, a lock held for long | a blocking thread | [`spawn_blocking`](crate::spawn_blocking) |
/// | blocks for once, in the middle of a task, with borrowed data | its own worker, which a spare replaces | [`block_in_place`](crate::block_in_place) |
/// | reads files, looks up names | – | the runtime's own calls, which know where to go |
///
/// The two pools have as many workers each as the process may use CPUs, so either can use the whole
/// machine while the other is idle. When both are busy the operating system shares the CPUs between
/// them fairly, in short slices where the kernel has such (since Linux 6.12), and is made to look
/// [every millisecond](crate::runtime::Builder::preempt_interval) whose turn it is, so that a socket hardly
/// ever waits for a computation to end. [`cpu_nice`](crate::runtime::Builder::cpu_nice) shifts the shares. So
/// a task that computes on the CPU pool costs the others throughput at most; on the IO pool it keeps its
/// neighbours waiting until a [guard](crate::runtime::Builder::stall_threshold) steps in, milliseconds later. A task
/// that blocks, be it for a lock or for the result of another task, is stood in for on either pool.
///
/// Moving work costs a task and two wake-ups, some tens of microseconds on a machine that is idle:
/// work that is shorter than that is better done in place. A task of the CPU pool may also wait for
/// sockets and timers; it is woken through the IO pool, a little later than its neighbours there.
///
/// On a current-thread runtime, the IO pool is the thread that calls `block_on`; the CPU pool's and the
/// blocking threads are real ones, started when they are first used.
///
/// # Examples
///
/// ```
/// use rt::Dispatcher;
///
/// # #[rt::main]
/// # async fn main() {
/// let digits = rt::spawn_on(Dispatcher::Cpu, async { 2f64.sqrt() });
/// println!("{}", digits.await.unwrap());
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Dispatcher {
    /// For coroutines that mostly wait. Its workers also poll for IO.
    Io,
    /// For coroutines and closures that mostly compute.
    Cpu,
    /// A part of one of the pools; see [`limited`](Dispatcher::limited).
    Limited(Limited),
}

impl Dispatcher {
    /// A view of this dispatcher of whose tasks at most `limit` are being polled at any moment.
    ///
    /// It has no threads of its own: its tasks run on this dispatcher's pool, in the order in which
    /// they were spawned or woken. Those that wait for their turn occupy no worker. With a limit of
    /// 1 no two of its tasks run at the same time, as if they shared a lock that is held from one
    /// `await` to the next. A task that blocks in the middle of a poll, also in
    /// [`block_in_place`](crate::block_in_place), keeps its turn meanwhile.
    ///
    /// A clone is the same view, and counts with it. Each call makes a new one. A limited dispatcher
    /// can be limited further: tasks of the narrower one count for both. It may be used in several
    /// runtimes; the limit then holds in each.
    ///
    /// # Panics
    ///
    /// If `limit` is 0: no task would ever run.
    ///
    /// # Examples
    ///
    /// Eight files are hashed by two workers at most, however many the pool has:
    ///
    /// ```
    /// use rt::Dispatcher;
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// let hashing = Dispatcher::Cpu.limited(2);
    /// let hashes: Vec<_> = (0..8u64)
    ///     .map(|file| rt::spawn_on(hashing.clone(), async move { file.wrapping_mul(0x9E37_79B9) }))
    ///     .collect();
    /// for hash in hashes {
    ///     println!("{:x}", hash.await.unwrap());
    /// }
    /// # }
    /// ```
    #[must_use = "the dispatcher itself stays as it is"]
    #[track_caller]
    pub fn limited(&self, limit: usize) -> Dispatcher {
        assert!(
            limit > 0,
            "a dispatcher that is limited to 0 would run nothing"
        );
        Dispatcher::Limited(Limited(Arc::new(Shared {
            limit,
            base: self.clone(),
            views: Mutex::default(),
        })))
    }

    /// Whether the current thread runs a task of this dispatcher in that runtime.
    pub(crate) fn is_here(&self, inner: &Inner) -> bool {
        match self {
            Dispatcher::Io => inner.io.pool().is_current(),
            Dispatcher::Cpu => inner.cpu.started().is_some_and(Pool::is_current),
            Dispatcher::Limited(limited) => {
                limited.0.views.lock().iter().any(|view| view.is_current())
            }
        }
    }
}

/// A limited part of a pool, made by [`Dispatcher::limited`].
#[derive(Clone)]
pub struct Limited(Arc<Shared>);

struct Shared {
    limit: usize,
    base: Dispatcher,
    /// One for each runtime that this was used with; hardly ever more than one.
    views: Mutex<Vec<Arc<View>>>,
}

impl Limited {
    /// How many of its tasks may be polled at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::Dispatcher;
    ///
    /// let Dispatcher::Limited(limited) = Dispatcher::Io.limited(3) else { unreachable!() };
    /// assert_eq!(limited.limit(), 3);
    /// ```
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// The pool of `inner` at the end of the chain.
    #[track_caller]
    fn pool<'a>(&self, inner: &'a Inner) -> &'a Pool {
        let mut base = &self.0.base;
        loop {
            match base {
                Dispatcher::Io => return inner.io.pool(),
                Dispatcher::Cpu => return inner.cpu.get(),
                Dispatcher::Limited(limited) => base = &limited.0.base,
            }
        }
    }

    /// The view of `inner`'s pool, made if this is the first time.
    #[track_caller]
    pub(crate) fn view(&self, inner: &Inner) -> Arc<View> {
        self.view_of(self.pool(inner))
    }

    fn view_of(&self, pool: &Pool) -> Arc<View> {
        let mut views = self.0.views.lock();
        if let Some(view) = views.iter().find(|view| view.is_of(pool)) {
            return Arc::clone(view);
        }
        views.retain(|view| !view.is_orphaned());
        // The locks of a chain are taken from the narrower view to the wider one.
        let view = match &self.0.base {
            Dispatcher::Limited(base) => base.view_of(pool).limited(self.0.limit),
            Dispatcher::Io | Dispatcher::Cpu => View::new(pool, self.0.limit),
        };
        let view = Arc::new(view);
        views.push(Arc::clone(&view));
        view
    }
}

impl fmt::Debug for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limited")
            .field("limit", &self.0.limit)
            .field("base", &self.0.base)
            .finish()
    }
}
