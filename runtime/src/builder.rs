//! How a runtime is made.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rt_reactor::{Process, Reactor};
use rt_scheduler::{
    Blocking, BlockingConfig, Config, CurrentThread, Hooks, Measures, OnStall, Pool,
};

use crate::context;
use crate::cpus;
use crate::driver::ReactorDriver;
use crate::dump::{Locals, OnSignal};
use crate::fs::Files;
use crate::fs::engine::FileIo;
use crate::handle::{Handle, Inner, IoPool};
use crate::home::{Home, abort_in_child};
use crate::lazy_pool::LazyPool;
use crate::preemption::{self, Preemption};
use crate::priority::{self, Granted};
use crate::record::{Record, Recording};
use crate::runtime::Runtime;
use crate::signal::unix::SignalKind;
use crate::sys::usage;
use crate::time::Clock;
use crate::unhandled::{UnhandledPanic, Verdict};

mod check;
mod debug;
mod hooks;
mod measures;

/// Polls between two looks at tasks from other threads, where time must not decide it.
const REPEATABLE_QUEUE_INTERVAL: u32 = 61;

/// Settings of a [`Runtime`] to be.
///
/// # Examples
///
/// ```
/// let runtime = rt::Runtime::builder()
///     .io_threads(2)
///     .thread_name("server")
///     .on_thread_start(|| println!("{:?} starts", std::thread::current().name()))
///     .build()?;
/// runtime.block_on(async { println!("ready") });
/// # Ok::<(), std::io::Error>(())
/// ```
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own, one of them there with a feature only"
)]
#[must_use = "a builder makes a runtime only when `build` is called"]
pub struct Builder {
    current_thread: bool,
    io_threads: Option<usize>,
    cpu_threads: Option<usize>,
    max_blocking_threads: usize,
    thread_keep_alive: Duration,
    thread_name: String,
    thread_stack_size: Option<usize>,
    cpu_nice: Option<i8>,
    preempt_interval: Option<Duration>,
    hooks: Hooks,
    #[cfg(feature = "tokio-context")]
    tokio_context: bool,
    event_interval: u32,
    global_queue_interval: Option<u32>,
    default_runtime: bool,
    seed: Option<u64>,
    clock: Clock,
    start_paused: bool,
    stall_threshold: Option<Duration>,
    on_stall: Option<OnStall>,
    dump_on_signal: Option<SignalKind>,
    file_io: FileIo,
    unhandled_panic: UnhandledPanic,
    pub(crate) record: Option<Recording>,
    #[cfg(feature = "inspect")]
    pub(crate) inspect: Option<std::path::PathBuf>,
    measures: Measures,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Builder {
            current_thread: false,
            io_threads: None,
            cpu_threads: None,
            max_blocking_threads: 512,
            thread_keep_alive: Duration::from_secs(10),
            thread_name: "rt".to_owned(),
            thread_stack_size: None,
            cpu_nice: None,
            preempt_interval: Some(preemption::INTERVAL),
            hooks: Hooks::default(),
            #[cfg(feature = "tokio-context")]
            tokio_context: false,
            event_interval: 61,
            global_queue_interval: None,
            default_runtime: false,
            seed: None,
            clock: Clock::default(),
            start_paused: false,
            stall_threshold: Some(Duration::from_millis(10)),
            on_stall: None,
            dump_on_signal: None,
            file_io: FileIo::Auto,
            unhandled_panic: UnhandledPanic::default(),
            record: None,
            #[cfg(feature = "inspect")]
            inspect: None,
            measures: Measures::default(),
        }
    }

    /// How many workers the IO pool has. Default: as many as CPUs that this process may use: its
    /// affinity, and the quotas of its control group and of all groups above.
    pub fn io_threads(mut self, threads: usize) -> Self {
        self.io_threads = Some(threads);
        self
    }

    /// How many workers the CPU pool has. Default: as [`io_threads`](Builder::io_threads).
    pub fn cpu_threads(mut self, threads: usize) -> Self {
        self.cpu_threads = Some(threads);
        self
    }

    /// How many blocking calls may run at a time, each on a thread. Default: 512.
    ///
    /// Three kinds share the threads: what is given to [`spawn_blocking`](crate::spawn_blocking), files,
    /// and names to look up, which get half of the threads at most. A kind of which none runs may
    /// always run one, so there may be two more threads than this.
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        self.max_blocking_threads = threads;
        self
    }

    /// How long an idle blocking or spare thread stays. Default: 10 seconds.
    pub fn thread_keep_alive(mut self, duration: Duration) -> Self {
        self.thread_keep_alive = duration;
        self
    }

    /// The first part of the threads' names: `NAME-io-0`, `NAME-cpu-0`, `NAME-blk-0`,
    /// `NAME-reactor`, `NAME-tick-0`; on a current-thread runtime `NAME-cpu-guard`. Default: `rt`.
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.thread_name = name.into();
        self
    }

    /// Bytes of stack of each thread. Default: `std`'s.
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.thread_stack_size = Some(bytes);
        self
    }

    /// The nice value of the CPU pool's threads, from -20, which goes first, to 19. Default: the
    /// process's own.
    ///
    /// With a higher value than the process's, requests go first and computing takes what they leave: on
    /// a machine that is busy with requests, next to nothing. The default shares the CPUs fairly between the
    /// pools, in slices that are short, so that a socket hardly ever waits for a computation. A lower value
    /// needs a privilege. Where the operating system refuses it, the process's own value stays;
    /// [`RuntimeMetrics::cpu_nice`](crate::RuntimeMetrics::cpu_nice) tells which it is.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::builder().cpu_nice(10).build()?;
    /// let name = runtime.spawn_on(rt::Dispatcher::Cpu, async { "in the background" });
    /// assert_eq!(runtime.block_on(name).unwrap(), "in the background");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cpu_nice(mut self, nice: i8) -> Self {
        self.cpu_nice = Some(nice);
        self
    }

    /// How often the kernel is made to look who should run while more workers want to than this process may
    /// use CPUs. Default: 1 ms. `None`: the kernel looks when it does by itself.
    ///
    /// An IO worker beside threads that compute then seldom waits for more than 2 ms, where it would wait for the
    /// end of the kernel's own tick, which is up to 4 ms at the usual 250 ticks a second and up to 10 at
    /// 100. For that a thread for each CPU wakes as often, at some 1 % of it; these threads start when they are
    /// first needed, and sleep when they are not. On a current-thread runtime there are none.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::builder().preempt_interval(None).build()?;
    /// let sum = runtime.spawn_on(rt::Dispatcher::Cpu, async { (1..=10).sum::<u32>() });
    /// assert_eq!(runtime.block_on(sum).unwrap(), 55);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn preempt_interval(mut self, interval: Option<Duration>) -> Self {
        self.preempt_interval = interval;
        self
    }

    /// A busy worker polls for IO once in so many task polls. Default: 61.
    pub fn event_interval(mut self, polls: u32) -> Self {
        self.event_interval = polls;
        self
    }

    /// A busy worker looks at tasks from other threads first once in so many polls.
    ///
    /// Unless this is called, each worker follows the length of its polls: it looks about once in
    /// 200 µs, but not more often than every second poll and not more rarely than every 127th. On the
    /// current thread it is every 61st.
    pub fn global_queue_interval(mut self, polls: u32) -> Self {
        self.global_queue_interval = Some(polls);
        self
    }

    /// One thread does everything: the caller of `block_on` runs the tasks, polls epoll and fires
    /// the timers. Tasks wait while nobody blocks.
    ///
    /// The CPU pool's and the blocking threads are started only if they are used.
    pub fn current_thread(mut self) -> Self {
        self.current_thread = true;
        self
    }

    /// Threads that belong to no runtime use this one, for `rt::spawn` and the like. The first
    /// runtime of the process that asks for this stays the default, also after it has ended.
    pub fn default_runtime(mut self) -> Self {
        self.default_runtime = true;
        self
    }

    /// Fixes the runtime's random choices: which worker an idle one steals from first, and in which
    /// order `select!` looks at its branches.
    ///
    /// On a [`current_thread`](Builder::current_thread) runtime it also decides in which order ready
    /// tasks are polled; without a seed the last to be woken goes first, and the others in turn. With a
    /// [paused](Builder::start_paused) clock a run is then the same each time: same seed, same order;
    /// another seed, another order. See [`time`](crate::time#determinism). With more threads, the
    /// order in which those run stays the operating system's.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// fn order(seed: u64) -> Vec<u32> {
    ///     let runtime = rt::Runtime::builder().current_thread().seed(seed).build().unwrap();
    ///     let order = Arc::new(Mutex::new(Vec::new()));
    ///     runtime.block_on(async {
    ///         let note = |number| {
    ///             let order = Arc::clone(&order);
    ///             rt::spawn(async move { order.lock().unwrap().push(number) })
    ///         };
    ///         let tasks: Vec<_> = (0..10).map(note).collect();
    ///         for task in tasks {
    ///             task.await.unwrap();
    ///         }
    ///     });
    ///     Arc::into_inner(order).unwrap().into_inner().unwrap()
    /// }
    /// assert_eq!(order(7), order(7));
    /// assert_ne!(order(7), order(8));
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The clock that the timers and [`Instant::now`](crate::time::Instant::now) follow. Default:
    /// [`Clock::Monotonic`].
    ///
    /// # Examples
    ///
    /// ```
    /// // A lease of a minute is over after a minute, also if the machine slept through it.
    /// let runtime = rt::Runtime::builder()
    ///     .clock(rt::time::Clock::Boottime)
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Starts with the clock paused: time goes on only when nothing can run, and then it jumps to the
    /// next deadline. See [`time::pause`](crate::time::pause). Default: `false`.
    ///
    /// Only for [`current_thread`](Builder::current_thread).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = rt::Runtime::builder().current_thread().start_paused(true).build()?;
    /// // Takes no time at all.
    /// runtime.block_on(rt::time::sleep(Duration::from_secs(365 * 24 * 60 * 60)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start_paused(mut self, paused: bool) -> Self {
        self.start_paused = paused;
        self
    }

    /// What a panic does that no handle tells of. Default: [`UnhandledPanic::Ignore`].
    pub fn unhandled_panic(mut self, policy: UnhandledPanic) -> Self {
        self.unhandled_panic = policy;
        self
    }

    /// A poll that lasts longer than this is a stall: what waits behind it is moved to other
    /// workers, and if those are stuck too, to a spare one. `None` switches that off. Default: 10
    /// milliseconds. It is noticed up to 5 milliseconds late.
    ///
    /// On the CPU pool polls may be long, and are not counted as stalls. What waits behind one there is moved as well, but
    /// a spare worker comes only for one that is blocked, so that a CPU is free; one that computes keeps it.
    pub fn stall_threshold(mut self, threshold: impl Into<Option<Duration>>) -> Self {
        self.stall_threshold = threshold.into();
        self
    }

    /// Writes a [dump](Handle::dump) to standard error each time that this signal comes.
    ///
    /// A thread of its own does it, called `NAME-dump`, so that it works also when every worker is stuck. The
    /// signal does not do what it did before, until the runtime is gone. A signal that nobody may wait for is an error
    /// of [`build`](Builder::build).
    ///
    /// # Examples
    ///
    /// From a shell, `kill -USR1 PID` then shows what PID does:
    ///
    /// ```
    /// use rt::signal::unix::SignalKind;
    ///
    /// let runtime = rt::Runtime::builder().dump_on_signal(SignalKind::user_defined1()).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn dump_on_signal(mut self, kind: SignalKind) -> Self {
        self.dump_on_signal = Some(kind);
        self
    }

    /// How files are read and written. Default: [`FileIo::Auto`].
    pub fn file_io(mut self, how: FileIo) -> Self {
        self.file_io = how;
        self
    }

    /// Lets libraries that insist on tokio run on this runtime; see [`compat`](crate::compat) for how,
    /// and for what it costs. Off unless asked for.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::builder().tokio_context(true).build()?;
    /// // A timer of tokio's, in a task of ours.
    /// let task = runtime.spawn(async {
    ///     tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    /// });
    /// runtime.block_on(task)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "tokio-context")]
    pub fn tokio_context(mut self, on: bool) -> Self {
        self.tokio_context = on;
        self
    }

    /// Makes the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if a number of threads or an interval is zero,
    /// the name has a NUL byte, or a clock is to be paused while there are threads; otherwise the operating system's error, when it refuses file
    /// descriptors or threads.
    ///
    /// # Examples
    ///
    /// ```
    /// let error = rt::Runtime::builder().io_threads(0).build().unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    /// ```
    pub fn build(self) -> io::Result<Runtime> {
        self.check()?;
        #[cfg(feature = "tokio-context")]
        if self.tokio_context {
            crate::compat::start()?;
        }
        let home = Home::default();
        let inner = self.build_inner(&home);
        // The threads that have started wait for this.
        let weak = inner.as_ref().map_or_else(|_| Weak::new(), Arc::downgrade);
        home.0.get_or_init(|| weak);
        let handle = Handle { inner: inner? };
        if self.default_runtime {
            context::set_default(&handle);
        }
        Ok(Runtime::new_from(handle))
    }

    fn build_inner(&self, home: &Home) -> io::Result<Arc<Inner>> {
        let cpus = cpus::usable();
        let workers = if self.current_thread {
            1
        } else {
            self.io_threads.unwrap_or(cpus)
        };
        let maker = Process::current();
        let granted = Granted::default();
        let (io_granted, cpu_granted) = (granted.clone(), granted.clone());
        let cpu_nice = self.cpu_nice;
        let record = self.record.clone().map(Recording::begin).transpose()?;
        let user = Hooks {
            recorder: record.as_ref().map(Record::recorder),
            ..self.user_hooks(home, maker)
        };
        let hooks = home.hooks(&user, priority::begin_blocking);
        let io_hooks = home.hooks(&user, move || io_granted.begin_io());
        let cpu_hooks = home.hooks(&user, move || cpu_granted.begin_cpu(cpu_nice));

        let io = Config {
            stall_threshold: self.stall_threshold,
            on_stall: self.on_stall.clone(),
            shuffle: self.seed.is_some(),
            ..self.config("io", workers, &io_hooks)
        };
        #[cfg(feature = "tracing")]
        let io = Config {
            on_stall: Some(crate::stalls::reported(io.on_stall)),
            ..io
        };
        #[cfg(feature = "inspect")]
        let inspect = self.inspect.as_ref().map(|path| {
            crate::inspect::Inspect::start(path, &self.thread_name, Arc::clone(&home.0))
        });
        let dump = |kind| OnSignal::start(kind, &self.thread_name, Arc::clone(&home.0));
        let on_signal = self.dump_on_signal.map(dump);
        // A wheel a worker and one for other threads; a buffer a place and one for the reactor.
        let reactor = Reactor::with_clock(workers + 1, self.reactor_clock())?;
        let (threads, home) = (io.places() + 1, Arc::clone(&home.0));
        let driver = Box::new(ReactorDriver::new(Arc::clone(&reactor), threads, home));
        let files = Files::new(self.file_io, &reactor)?;
        let io = if self.current_thread {
            IoPool::Current(CurrentThread::new(io, driver))
        } else {
            IoPool::Threads(Pool::start(io, Some(driver))?)
        };
        let cpu = LazyPool::new(Config {
            stall_threshold: self.stall_threshold,
            ..self.config("cpu", self.cpu_threads.unwrap_or(cpus), &cpu_hooks)
        });
        if let IoPool::Threads(io) = &io {
            cpu.start_beside(io)?;
        }
        let blocking = Blocking::new(BlockingConfig {
            name: self.thread_name.clone(),
            max_threads: self.max_blocking_threads,
            keep_alive: self.thread_keep_alive,
            stack_size: self.thread_stack_size,
            hooks,
        });
        Ok(Arc::new(Inner {
            io,
            cpu,
            blocking,
            #[cfg(feature = "rayon")]
            rayon: self.rayon(cpus, granted.clone()),
            granted,
            preemption: Preemption::new(self.preempt_interval, &self.thread_name),
            reactor,
            files,
            locals: Locals::default(),
            on_signal: on_signal.transpose()?,
            #[cfg(feature = "inspect")]
            inspect: inspect.transpose()?,
            record,
            verdict: self.ends_by_panic().then(Verdict::default),
            maker,
            #[cfg(feature = "metrics")]
            name: self.thread_name.clone(),
            #[cfg(feature = "tokio-context")]
            tokio_context: self.tokio_context,
        }))
    }

    /// The clock, pausable where one thread runs all tasks.
    fn reactor_clock(&self) -> rt_reactor::Clock {
        let clock = match self.clock {
            Clock::Monotonic => rt_reactor::Clock::monotonic(),
            Clock::Boottime => rt_reactor::Clock::boottime(),
        };
        if !self.current_thread {
            return clock;
        }
        let clock = clock.pausable();
        if self.start_paused {
            clock.pause();
        }
        clock
    }

    /// A run that is to be repeated must not depend on how long its polls take.
    fn queue_interval(&self) -> Option<u32> {
        let repeatable = self.current_thread && (self.seed.is_some() || self.start_paused);
        self.global_queue_interval
            .or(repeatable.then_some(REPEATABLE_QUEUE_INTERVAL))
    }

    /// The user's hooks, and what the runtime itself wants to hear of its threads and tasks.
    fn user_hooks(&self, home: &Home, maker: Process) -> Hooks {
        let mut hooks = self.hooks.clone();
        if self.ends_by_panic() {
            hooks.on_unhandled_panic = Some(home.on_unhandled_panic());
        }
        if !self.current_thread {
            // On a current-thread runtime the caller of `block_on` is told, by a panic.
            let on_park = hooks.on_thread_park.take();
            hooks.on_thread_park = Some(Arc::new(move || {
                abort_in_child(maker);
                if let Some(on_park) = &on_park {
                    on_park();
                }
            }));
        }
        hooks
    }

    fn ends_by_panic(&self) -> bool {
        self.unhandled_panic == UnhandledPanic::ShutdownRuntime
    }

    /// The rayon pool: of the CPU pool's size, priority and stacks.
    #[cfg(feature = "rayon")]
    fn rayon(&self, cpus: usize, granted: Granted) -> crate::rayon::Companion {
        let threads = self.cpu_threads.unwrap_or(cpus);
        let nice = self.cpu_nice;
        crate::rayon::Companion::new(
            &self.thread_name,
            threads,
            self.thread_stack_size,
            move || {
                granted.begin_cpu(nice);
            },
        )
    }

    fn config(&self, kind: &'static str, workers: usize, hooks: &Hooks) -> Config {
        Config {
            stack_size: self.thread_stack_size,
            hooks: hooks.clone(),
            global_queue_interval: self.queue_interval(),
            event_interval: self.event_interval,
            preemptions: Some(usage::preemptions),
            time_on_cpu: Some(usage::time_on_cpu),
            seed: self.seed.unwrap_or(0),
            keep_alive: self.thread_keep_alive,
            measures: self.measures,
            ..Config::new(&self.thread_name, kind, workers)
        }
    }
}
