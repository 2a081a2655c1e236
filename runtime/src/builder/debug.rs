//! A builder as text.

use std::fmt;

use super::Builder;

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Builder");
        #[cfg(feature = "inspect")]
        f.field("inspect", &self.inspect);
        f.field("current_thread", &self.current_thread)
            .field("io_threads", &self.io_threads)
            .field("cpu_threads", &self.cpu_threads)
            .field("max_blocking_threads", &self.max_blocking_threads)
            .field("thread_keep_alive", &self.thread_keep_alive)
            .field("thread_name", &self.thread_name)
            .field("thread_stack_size", &self.thread_stack_size)
            .field("cpu_nice", &self.cpu_nice)
            .field("preempt_interval", &self.preempt_interval)
            .field("hooks", &self.hooks)
            .field("event_interval", &self.event_interval)
            .field("global_queue_interval", &self.global_queue_interval)
            .field("default_runtime", &self.default_runtime)
            .field("seed", &self.seed)
            .field("clock", &self.clock)
            .field("start_paused", &self.start_paused)
            .field("stall_threshold", &self.stall_threshold)
            .field("on_stall", &self.on_stall)
            .field("dump_on_signal", &self.dump_on_signal)
            .field("record", &self.record)
            .field("measures", &self.measures)
            .field("file_io", &self.file_io)
            .field("unhandled_panic", &self.unhandled_panic)
            .finish_non_exhaustive()
    }
}
