//! Values that belong to a task: set around a future, seen by all that it calls.
//!
//! The value lies in a cell of the thread while the future is polled, or dropped, and with the future
//! in between: each poll puts it in, and takes it out again.

use std::cell::{BorrowMutError, RefCell};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use pin_project_lite::pin_project;

/// Declares values that belong to tasks, as [`thread_local!`] declares those of threads.
///
/// # Examples
///
/// ```
/// rt::task_local! {
///     /// Which request is served.
///     pub static REQUEST: u64;
///     static USER: String;
/// }
///
/// async fn log(text: &str) -> String {
///     REQUEST.with(|request| format!("{request}: {text}"))
/// }
///
/// # #[rt::main]
/// # async fn main() {
/// let line = REQUEST.scope(17, async {
///     USER.scope("ada".to_owned(), async { log(&USER.get()).await }).await
/// });
/// assert_eq!(line.await, "17: ada");
/// assert!(REQUEST.try_with(|_| ()).is_err());
/// # }
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::task_local!($(#[$attribute])* $visibility static $name: $type);
        $crate::task_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty) => {
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static CELL: ::std::cell::RefCell<::core::option::Option<$type>> =
                    const { ::std::cell::RefCell::new(::core::option::Option::None) };
            }
            $crate::task::LocalKey::__new(&CELL)
        };
    };
}

/// A value that belongs to a task; made by [`task_local!`](crate::task_local).
///
/// Tasks that are spawned from inside a scope do not inherit it.
pub struct LocalKey<T: 'static> {
    cell: &'static thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn __new(cell: &'static thread::LocalKey<RefCell<Option<T>>>) -> Self {
        LocalKey { cell }
    }

    /// Runs `future` with the value set. It is dropped with the future, or a moment after its end.
    ///
    /// # Panics
    ///
    /// The future's polls do, if they are made inside [`with`](LocalKey::with) of the same key.
    ///
    /// # Examples
    ///
    /// ```
    /// rt::task_local! { static DEPTH: u32; }
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// let inner = DEPTH.scope(1, async {
    ///     let inner = DEPTH.scope(2, async { DEPTH.get() }).await;
    ///     (DEPTH.get(), inner)
    /// });
    /// assert_eq!(inner.await, (1, 2));
    /// # }
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture {
            key: self,
            value: Some(value),
            future: Some(future),
            _pinned: PhantomPinned,
        }
    }

    /// Calls `f` with the value set.
    ///
    /// # Panics
    ///
    /// Inside [`with`](LocalKey::with) of the same key, and in a thread that is ending.
    ///
    /// # Examples
    ///
    /// ```
    /// rt::task_local! { static DEPTH: u32; }
    ///
    /// assert_eq!(DEPTH.sync_scope(1, || DEPTH.get()), 1);
    /// ```
    #[track_caller]
    pub fn sync_scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        let mut value = Some(value);
        match self.lend(&mut value, f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Calls `f` with a reference to the value.
    ///
    /// # Panics
    ///
    /// Outside a scope; [`try_with`](LocalKey::try_with) does not.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Calls `f` with a reference to the value, if there is one.
    ///
    /// # Errors
    ///
    /// Outside a scope, and in a thread that is ending.
    ///
    /// # Examples
    ///
    /// ```
    /// rt::task_local! { static DEPTH: u32; }
    ///
    /// assert!(DEPTH.try_with(|depth| *depth).is_err());
    /// ```
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let look = |cell: &RefCell<Option<T>>| cell.borrow().as_ref().map(f);
        let found = self.cell.try_with(look).ok().flatten();
        found.ok_or(AccessError(()))
    }

    /// A copy of the value.
    ///
    /// # Panics
    ///
    /// Outside a scope; [`try_get`](LocalKey::try_get) does not.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// A copy of the value, if there is one.
    ///
    /// # Errors
    ///
    /// Outside a scope, and in a thread that is ending.
    pub fn try_get(&'static self) -> Result<T, AccessError>
    where
        T: Clone,
    {
        self.try_with(T::clone)
    }

    /// Calls `f` with `value` in the thread's cell, and takes it out again, also by a panic.
    fn lend<R>(
        &'static self,
        value: &mut Option<T>,
        f: impl FnOnce() -> R,
    ) -> Result<R, ScopeError> {
        struct TakeBack<'a, T: 'static> {
            key: &'static LocalKey<T>,
            value: &'a mut Option<T>,
        }
        impl<T> Drop for TakeBack<'_, T> {
            fn drop(&mut self) {
                // It was there and free before, and all that was done with it since is over.
                let _ = self.key.swap(self.value);
            }
        }
        self.swap(value)?;
        let _take_back = TakeBack { key: self, value };
        Ok(f())
    }

    fn swap(&'static self, value: &mut Option<T>) -> Result<(), ScopeError> {
        let swap = |cell: &RefCell<Option<T>>| {
            mem::swap(&mut *cell.try_borrow_mut()?, value);
            Ok(())
        };
        self.cell.try_with(swap).unwrap_or(Err(ScopeError::Gone))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Why a value could not be put into its place.
#[derive(Debug)]
enum ScopeError {
    Borrowed,
    Gone,
}

impl From<BorrowMutError> for ScopeError {
    fn from(_: BorrowMutError) -> Self {
        ScopeError::Borrowed
    }
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScopeError::Borrowed => {
                "a scope of a task-local cannot begin inside `with` of the same task-local"
            }
            ScopeError::Gone => "a scope of a task-local cannot begin in a thread that is ending",
        })
    }
}

pin_project! {
    /// The future of [`LocalKey::scope`].
    #[must_use = "futures do nothing unless polled"]
    pub struct TaskLocalFuture<T: 'static, F> {
        key: &'static LocalKey<T>,
        value: Option<T>,
        #[pin]
        future: Option<F>,
        #[pin]
        _pinned: PhantomPinned,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let mut future = this.future;
            if future.is_some() {
                // The future's destructor sees the value too. Where that cannot be, it is dropped
                // without.
                let _ = this.key.lend(this.value, || future.set(None));
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out, if it is still there. Polls see none from then on.
    ///
    /// # Examples
    ///
    /// ```
    /// rt::task_local! { static STEPS: std::cell::Cell<u32>; }
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut work = Box::pin(STEPS.scope(0.into(), async {
    ///     STEPS.with(|steps| steps.set(steps.get() + 1));
    /// }));
    /// work.as_mut().await;
    /// assert_eq!(work.as_mut().take_value().unwrap().get(), 1);
    /// # }
    /// ```
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().value.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut future = this.future;
        let lent = this.key.lend(this.value, || {
            let polled = match future.as_mut().as_pin_mut() {
                Some(future) => future.poll(cx),
                None => panic!("a `TaskLocalFuture` was polled after it had ended"),
            };
            if polled.is_ready() {
                // While the value is there to be seen.
                future.set(None);
            }
            polled
        });
        match lent {
            Ok(polled) => polled,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T: 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLocalFuture").finish_non_exhaustive()
    }
}

/// There is no value: the code runs outside a scope of its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError(());

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no value of this task-local: its `scope` is not around this code")
    }
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessError({self})")
    }
}

impl Error for AccessError {}
