//! Where a task was spawned, and the name that it was given there.
//!
//! A spawn is generic over the two kinds of places, so that a task without a name is made by code
//! that knows nothing of names, and has no byte for one.

use std::panic::Location;
use std::sync::Arc;

/// The place of a spawn: the caller's line, or [`Named`], a line and a name.
pub trait Place {
    /// What the task keeps for its name.
    type Name: Name;

    /// The line, and the name.
    fn split(self) -> (&'static Location<'static>, Self::Name);
}

/// What a task keeps for its name: nothing, or the name.
pub trait Name: Send + Sync + 'static {
    /// Whether there is one.
    const IS_NAME: bool;

    /// The name, if there is one.
    fn get(&self) -> Option<&Arc<str>>;
}

/// A place with a name.
#[derive(Clone, Debug)]
pub struct Named {
    /// The caller's line.
    pub location: &'static Location<'static>,
    /// What the task is called.
    pub name: Arc<str>,
}

impl Place for &'static Location<'static> {
    type Name = ();

    #[inline]
    fn split(self) -> (&'static Location<'static>, ()) {
        (self, ())
    }
}

impl Place for Named {
    type Name = Arc<str>;

    fn split(self) -> (&'static Location<'static>, Arc<str>) {
        (self.location, self.name)
    }
}

impl Name for () {
    const IS_NAME: bool = false;

    #[inline]
    fn get(&self) -> Option<&Arc<str>> {
        None
    }
}

impl Name for Arc<str> {
    const IS_NAME: bool = true;

    fn get(&self) -> Option<&Arc<str>> {
        Some(self)
    }
}
