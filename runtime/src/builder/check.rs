//! Settings that make no sense, or not together.

use std::io;
use std::time::Duration;

use super::Builder;

impl Builder {
    pub(super) fn check(&self) -> io::Result<()> {
        let not_zero = [
            ("io_threads", self.io_threads.unwrap_or(1)),
            ("cpu_threads", self.cpu_threads.unwrap_or(1)),
            ("max_blocking_threads", self.max_blocking_threads),
            ("event_interval", self.event_interval as usize),
            (
                "global_queue_interval",
                self.global_queue_interval.unwrap_or(1) as usize,
            ),
        ];
        for (name, value) in not_zero {
            if value == 0 {
                return Err(invalid(format!("`{name}` must be at least 1")));
            }
        }
        if self.start_paused && !self.current_thread {
            return Err(invalid(
                "`start_paused` needs `current_thread`: time can stand still only where one thread \
                 runs all tasks"
                    .to_owned(),
            ));
        }
        if self
            .cpu_nice
            .is_some_and(|nice| !(-20..=19).contains(&nice))
        {
            return Err(invalid("`cpu_nice` must be from -20 to 19".to_owned()));
        }
        if self.preempt_interval == Some(Duration::ZERO) {
            return Err(invalid("`preempt_interval` must not be zero".to_owned()));
        }
        if self.thread_name.contains('\0') {
            return Err(invalid(
                "`thread_name` must not contain a NUL byte".to_owned(),
            ));
        }
        Ok(())
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
