//! Stands in for `rt`: the builder's methods record their calls, `block_on` polls until it is done.

use std::cell::RefCell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

pub use rt_macros::{main, test};

pub mod macros_support {
    pub use rt_macros::{join, select};

    pub fn random_seed(attribute: &str) -> u64 {
        attribute.len() as u64
    }
}

#[macro_export]
macro_rules! select {
    ($($tokens:tt)*) => { $crate::macros_support::select!(($crate) $($tokens)*) };
}

#[macro_export]
macro_rules! join {
    ($($tokens:tt)*) => { $crate::macros_support::join!(($crate) $($tokens)*) };
}

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What the builder of the running function was told.
pub fn calls() -> String {
    CALLS.with_borrow(|calls| calls.join(" "))
}

pub struct Runtime;
pub struct Builder(Vec<String>);

impl Runtime {
    pub fn builder() -> Builder {
        Builder(Vec::new())
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
        }
    }
}

impl Builder {
    fn add(mut self, call: String) -> Builder {
        self.0.push(call);
        self
    }

    pub fn current_thread(self) -> Builder {
        self.add("current_thread".to_owned())
    }

    pub fn io_threads(self, n: usize) -> Builder {
        self.add(format!("io_threads({n})"))
    }

    pub fn cpu_threads(self, n: usize) -> Builder {
        self.add(format!("cpu_threads({n})"))
    }

    pub fn start_paused(self, yes: bool) -> Builder {
        self.add(format!("start_paused({yes})"))
    }

    pub fn seed(self, seed: u64) -> Builder {
        self.add(format!("seed({seed})"))
    }

    pub fn build(self) -> std::io::Result<Runtime> {
        CALLS.set(self.0);
        Ok(Runtime)
    }
}
