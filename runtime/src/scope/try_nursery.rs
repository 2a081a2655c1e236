//! `try_scope`, whose children may fail with an error.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{Location, resume_unwind};
use std::sync::Arc;

use rt_scheduler::JoinHandle;
use rt_scheduler::scope::{Blow, Kind, TryChild};

use super::body::run;
use super::nursery::Scope;
use crate::dispatcher::Dispatcher;
use crate::handle::{BOX_ABOVE, box_if_large};

/// As [`scope`](crate::scope()), for children that return a [`Result`]: the first error ends the scope.
///
/// An `Err`, of a child or of `f`, aborts the other children, drops `f`'s future at its next suspension
/// point, and when all are gone it is returned. If there are several, the first is; the others are in
/// the handles of their children ([`JoinError::try_into_error`]), and go to [`Scope::on_lost_failure`] where
/// these are dropped. A panic does the same and resumes
/// here.
///
/// # Errors
///
/// The first error.
///
/// # Panics
///
/// Outside a runtime. And with the panic of `f` or of a child.
///
/// # Cancel safety
///
/// As that of [`scope`](crate::scope()).
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let sum = rt::try_scope(|s| async move {
///     let a = s.spawn(async { "20".parse::<i32>() });
///     let b = s.spawn(async { "twenty".parse::<i32>() });
///     Ok(a.await.unwrap() + b.await.unwrap())
/// });
/// assert!(sum.await.is_err());
/// # }
/// ```
///
/// [`JoinError::try_into_error`]: crate::task::JoinError::try_into_error
pub async fn try_scope<F, Fut, T, E>(f: F) -> Result<T, E>
where
    F: FnOnce(TryScope<E>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: Send + 'static,
{
    let body = run(Kind::Scope, |node| {
        let scope = TryScope::new(Scope::new(node));
        let (body, node) = (f(scope), Arc::clone(node));
        async move {
            // The body's own error is a failure like a child's.
            match body.await {
                Ok(value) => Some(value),
                Err(error) => {
                    node.fail(Blow::Error(Box::new(error)));
                    None
                }
            }
        }
    });
    match body.await {
        Ok(Some(value)) => Ok(value),
        Ok(None) => unreachable!("a body that gave no value has failed"),
        Err(Blow::Panic(payload)) => resume_unwind(payload),
        Err(Blow::Error(error)) => match error.downcast() {
            Ok(error) => Err(*error),
            Err(_) => unreachable!("only children of this scope fail it, with errors of its type"),
        },
    }
}

/// A scope whose children return a [`Result`]; what [`try_scope`] gives to its closure.
///
/// It has all that a [`Scope`] has.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let failed = rt::try_scope(|s| async move {
///     s.spawn(async { Err::<(), _>("no") });
///     s.spawn(std::future::pending::<Result<(), _>>());
///     s.cancelled().await;
///     Ok(())
/// });
/// assert_eq!(failed.await, Err("no"));
/// # }
/// ```
pub struct TryScope<E> {
    scope: Scope,
    _error: PhantomData<fn() -> E>,
}

impl<E: Send + 'static> TryScope<E> {
    fn new(scope: Scope) -> Self {
        TryScope {
            scope,
            _error: PhantomData,
        }
    }

    fn child(&self) -> TryChild {
        TryChild(Arc::clone(self.scope.node()))
    }

    /// Spawns a child onto the IO pool. Its handle gives the value; an error is the scope's.
    ///
    /// See [`Scope::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let twice = rt::try_scope(|s| async move {
    ///     let number = s.spawn(async { "21".parse::<i32>() });
    ///     Ok(2 * number.await.unwrap())
    /// });
    /// assert_eq!(twice.await, Ok(42));
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&self, future: F) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.spawn_at(Dispatcher::Io, future, location))
    }

    /// Spawns a child onto the pool that `dispatcher` names. See [`spawn`](TryScope::spawn).
    ///
    /// # Panics
    ///
    /// As [`Scope::spawn_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let failed = rt::try_scope(|s| async move {
    ///     let parse = async { "many".parse::<u8>() };
    ///     s.spawn_on(rt::Dispatcher::Cpu, parse);
    ///     s.cancelled().await;
    ///     Ok(())
    /// });
    /// assert!(failed.await.is_err());
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_on<F, T>(&self, dispatcher: Dispatcher, future: F) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.spawn_at(dispatcher, future, location))
    }

    #[track_caller]
    fn spawn_at<F, T>(
        &self,
        dispatcher: Dispatcher,
        future: F,
        location: &'static Location<'static>,
    ) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
    {
        let runtime = &self.scope.runtime().inner;
        runtime.spawn_as(self.child(), dispatcher, future, location)
    }

    /// Runs a closure that may block, as a child. See [`Scope::spawn_blocking`].
    ///
    /// # Panics
    ///
    /// As [`Scope::spawn_blocking`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let failed = rt::try_scope(|s| async move {
    ///     s.spawn_blocking(|| std::fs::read("/no/such/file"));
    ///     s.cancelled().await;
    ///     Ok(())
    /// });
    /// assert_eq!(failed.await.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
    {
        let (location, child) = (Location::caller(), self.child());
        let runtime = &self.scope.runtime().inner;
        if size_of::<F>() > BOX_ABOVE {
            runtime.spawn_blocking_as(child, Box::new(job), location)
        } else {
            runtime.spawn_blocking_as(child, job, location)
        }
    }
}

impl<E> Deref for TryScope<E> {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.scope
    }
}

impl<E> Clone for TryScope<E> {
    fn clone(&self) -> Self {
        TryScope {
            scope: self.scope.clone(),
            _error: PhantomData,
        }
    }
}

impl<E> fmt::Debug for TryScope<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TryScope").field(&self.scope).finish()
    }
}
