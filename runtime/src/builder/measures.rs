//! What is measured of each poll, on request.

use super::Builder;

impl Builder {
    /// Measures how long each poll of a task takes, on both pools, for
    /// [`RuntimeMetrics::io_poll_times`](crate::RuntimeMetrics::io_poll_times) and
    /// [`cpu_poll_times`](crate::RuntimeMetrics::cpu_poll_times). Default: it does not.
    ///
    /// Off, it costs nothing: a worker has one branch for all who may want to observe its polls. On, it costs two looks at
    /// the clock a poll, and less than a kilobyte of counts for each worker, or spare, that it alone writes to. With this
    /// or with the other histogram, spawning and joining a task that does nothing (two polls) takes a tenth more CPU time,
    /// with both a sixth, which is 9 ns a poll on the machine of the README's numbers, where the kernel goes by the
    /// processor's own clock; a round trip over TCP takes 1 % more.
    ///
    /// Counted are the polls that [`WorkerMetrics::polls`](crate::runtime::WorkerMetrics::polls) counts: not those of the
    /// future that `block_on` waits for, nor those inside a [`LocalSet`](crate::task::LocalSet).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = rt::Runtime::builder()
    ///     .current_thread()
    ///     .enable_metrics_poll_time_histogram()
    ///     .build()?;
    /// let slow = runtime.spawn(async { std::thread::sleep(Duration::from_millis(20)) });
    /// runtime.block_on(slow).unwrap();
    ///
    /// let times = runtime.metrics().io_poll_times.unwrap();
    /// assert!(times.quantile(1.0) >= Duration::from_millis(20));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_metrics_poll_time_histogram(mut self) -> Self {
        self.measures.poll_times = true;
        self
    }

    /// Measures how long each task waits for its poll: from when it was woken, or spawned, until a worker begins to poll
    /// it, on both pools, for [`RuntimeMetrics::io_schedule_latencies`](crate::RuntimeMetrics::io_schedule_latencies) and
    /// [`cpu_schedule_latencies`](crate::RuntimeMetrics::cpu_schedule_latencies). Default: it does not.
    ///
    /// A task that is woken during its own poll waits from the end of that; a task of a
    /// [limited](crate::Dispatcher::limited) dispatcher from when it has its turn. Which polls are counted is as for
    /// [`enable_metrics_poll_time_histogram`](Builder::enable_metrics_poll_time_histogram).
    ///
    /// When a task was queued is noted beside it, in a table of 65536 words a pool, which is half a
    /// megabyte. Two tasks that wait at the same time may share a word; then the wait of the one that was
    /// queued later is measured, and the other one's is not. So nothing is missed while few tasks wait; of more than
    /// 65536 at a time, the last ones to be queued are measured. Off, it costs a branch when a thread that is no worker queues
    /// a task, and else nothing; on, two looks at the clock a poll, and what
    /// [`enable_metrics_poll_time_histogram`](Builder::enable_metrics_poll_time_histogram) tells.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::builder()
    ///     .enable_metrics_schedule_latency_histogram()
    ///     .build()?;
    /// runtime.block_on(runtime.spawn(rt::task::yield_now())).unwrap();
    ///
    /// // From its spawn to its first poll, and from the end of that to its second.
    /// let latencies = runtime.metrics().io_schedule_latencies.unwrap();
    /// assert_eq!(latencies.count(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_metrics_schedule_latency_histogram(mut self) -> Self {
        self.measures.schedule_latencies = true;
        self
    }
}
