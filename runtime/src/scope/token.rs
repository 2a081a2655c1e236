//! Tokens: cancellation as a value to hand on, and the question whether it has come.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rt_scheduler::scope::{self, Kind, Node, Reason};
use rt_scheduler::{Waits, noted};

/// Whether the innermost scope around the running code was asked to stop.
///
/// That is the scope whose closure runs, or the one that the current task, or blocking job, is a child
/// of. Outside of all scopes it is false.
///
/// # Examples
///
/// A worker that ends between two items:
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let done = rt::scope(|s| async move {
///     let worker = s.spawn(async {
///         let mut items = 0;
///         while !rt::is_cancelled() {
///             items += 1;
///             rt::yield_now().await;
///         }
///         items
///     });
///     rt::yield_now().await;
///     s.cancel_graceful(std::time::Duration::from_secs(60));
///     worker.await.unwrap()
/// });
/// println!("{} items", done.await);
/// # }
/// ```
pub fn is_cancelled() -> bool {
    scope::is_cancelled()
}

/// Waits until [`is_cancelled`]; for ever outside of all scopes.
///
/// # Cancel safety
///
/// Cancel safe.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// # #[rt::main]
/// # async fn main() {
/// rt::scope(|s| async move {
///     s.spawn(async {
///         rt::cancelled().await;
///         println!("put the tools away");
///     });
///     s.cancel_graceful(Duration::from_secs(60));
/// })
/// .await;
/// # }
/// ```
pub async fn cancelled() {
    match scope::current() {
        Some(node) => Cancelled::new(node).await,
        None => pending().await,
    }
}

/// A request to stop that can be handed on, and waited for.
///
/// Clones are the same token. A child token is cancelled with its parent, but not the other way round.
/// A token only tells: it is up to who has it to stop. The token of a scope
/// ([`Scope::token`](crate::Scope::token)) is more: cancelling it cancels the scope.
///
/// # Examples
///
/// ```
/// use rt::CancelToken;
///
/// # #[rt::main]
/// # async fn main() {
/// let token = CancelToken::new();
/// let child = token.child_token();
/// let waits = rt::spawn(async move { child.cancelled().await });
/// token.cancel();
/// waits.await.unwrap();
/// # }
/// ```
#[derive(Clone)]
pub struct CancelToken {
    node: Arc<Node>,
}

impl CancelToken {
    /// A token that is not cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!rt::CancelToken::new().is_cancelled());
    /// ```
    pub fn new() -> Self {
        CancelToken::of(Node::new(Kind::Token, None))
    }

    pub(super) fn of(node: Arc<Node>) -> Self {
        CancelToken { node }
    }

    /// A token that is cancelled when this one is, or alone.
    ///
    /// # Examples
    ///
    /// ```
    /// let all = rt::CancelToken::new();
    /// let (one, other) = (all.child_token(), all.child_token());
    /// one.cancel();
    /// assert!(one.is_cancelled() && !other.is_cancelled());
    /// all.cancel();
    /// assert!(other.is_cancelled());
    /// ```
    #[must_use = "a child token does nothing but be asked and cancelled"]
    pub fn child_token(&self) -> CancelToken {
        CancelToken::of(Node::new(Kind::Token, Some(Arc::clone(&self.node))))
    }

    /// Cancels this token and all its child tokens. Again does nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// let token = rt::CancelToken::new();
    /// token.clone().cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        self.node.cancel(Reason::Cancelled);
    }

    /// Whether it was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// let token = rt::CancelToken::new();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.node.is_cancelled()
    }

    /// Waits until it is cancelled.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let token = rt::CancelToken::new();
    /// let waits = rt::spawn(token.cancelled());
    /// token.cancel();
    /// waits.await.unwrap();
    /// # }
    /// ```
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(Arc::clone(&self.node))
    }

    /// A guard that cancels the token when it is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let token = rt::CancelToken::new();
    /// drop(token.clone().drop_guard());
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { token: Some(self) }
    }
}

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::new()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Cancels a token when it is dropped; see [`CancelToken::drop_guard`].
#[derive(Debug)]
#[must_use = "dropped at once, it cancels at once"]
pub struct DropGuard {
    /// Gone once it is disarmed.
    token: Option<CancelToken>,
}

impl DropGuard {
    /// Gives the token back without cancelling it.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = rt::CancelToken::new().drop_guard();
    /// assert!(!guard.disarm().is_cancelled());
    /// ```
    #[expect(
        clippy::missing_panics_doc,
        reason = "it cannot panic: see the message"
    )]
    pub fn disarm(mut self) -> CancelToken {
        self.token
            .take()
            .expect("a guard is disarmed once, by value")
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

/// Future that is ready when a token, or a scope, is cancelled.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Cancelled {
    node: Arc<Node>,
    /// The name of its waker at the node.
    ticket: Option<u64>,
}

impl Cancelled {
    pub(super) fn new(node: Arc<Node>) -> Self {
        Cancelled { node, ticket: None }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        noted(this.node.poll_cancelled(&mut this.ticket, cx), || {
            Waits::Cancellation(this.node.number())
        })
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.node.stop_waiting(ticket);
        }
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled")
            .field("is_ready", &self.node.is_cancelled())
            .finish_non_exhaustive()
    }
}
