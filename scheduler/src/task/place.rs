//! Where a task was spawned, and the name that it was given there.
//!
//! A spawn is generic over the kinds of places, so that a task without a name is made by code that
//! knows nothing of names, and has no byte for one. Whoever has to know a task's id before there is a task
//! draws it with the place ([`Numbered`]).

use std::panic::Location;
use std::sync::Arc;

use super::Id;

/// The place of a spawn: the caller's line, or [`Named`], a line and a name.
pub trait Place {
    /// What the task keeps for its name.
    type Name: Name;

    /// The line, and the name.
    fn split(self) -> (&'static Location<'static>, Self::Name);

    /// The line.
    fn location(&self) -> &'static Location<'static>;

    /// The name, if there is one.
    fn name(&self) -> Option<&str>;

    /// The id of the task that is made there: a new one, unless it has been drawn.
    #[inline]
    fn task_id(&self) -> Id {
        Id::next()
    }
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

/// A place, and the id of the one task that will be made there, which was drawn before.
#[derive(Debug)]
pub struct Numbered<P> {
    /// Where.
    pub place: P,
    /// From [`Place::task_id`].
    pub id: Id,
}

impl Place for &'static Location<'static> {
    type Name = ();

    #[inline]
    fn split(self) -> (&'static Location<'static>, ()) {
        (self, ())
    }

    fn location(&self) -> &'static Location<'static> {
        self
    }

    fn name(&self) -> Option<&str> {
        None
    }
}

impl Place for Named {
    type Name = Arc<str>;

    fn split(self) -> (&'static Location<'static>, Arc<str>) {
        (self.location, self.name)
    }

    fn location(&self) -> &'static Location<'static> {
        self.location
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl<P: Place> Place for Numbered<P> {
    type Name = P::Name;

    fn split(self) -> (&'static Location<'static>, P::Name) {
        self.place.split()
    }

    fn location(&self) -> &'static Location<'static> {
        self.place.location()
    }

    fn name(&self) -> Option<&str> {
        self.place.name()
    }

    fn task_id(&self) -> Id {
        self.id
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
