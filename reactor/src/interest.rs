//! What a task waits for, and what it found: the small public words of readiness.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use crate::readiness::{ERROR, READ_CLOSED, READABLE, WRITABLE, WRITE_CLOSED};

/// One of the two ways bytes flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Towards this process.
    Read,
    /// Away from it.
    Write,
}

impl Direction {
    /// The bit that a transfer which found its end takes away.
    pub(crate) const fn open(self) -> u8 {
        match self {
            Direction::Read => READABLE,
            Direction::Write => WRITABLE,
        }
    }

    /// The bits that let a waiter of this direction go on.
    pub(crate) const fn bits(self) -> u8 {
        match self {
            Direction::Read => READABLE | READ_CLOSED,
            Direction::Write => WRITABLE | WRITE_CLOSED,
        }
    }
}

/// The directions that a wait is about. Combine them with `|`.
///
/// Inside are the bits that let a waiter go on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(u8);

impl Interest {
    /// A read would not block, or the peer will send no more.
    pub const READABLE: Interest = Interest(Direction::Read.bits());
    /// A write would not block, or the peer will take no more.
    pub const WRITABLE: Interest = Interest(Direction::Write.bits());

    /// Whether reading is part of it.
    pub const fn is_readable(self) -> bool {
        self.0 & Interest::READABLE.0 != 0
    }

    /// Whether writing is part of it.
    pub const fn is_writable(self) -> bool {
        self.0 & Interest::WRITABLE.0 != 0
    }

    /// Both this and `other`; what `|` does, in a constant.
    #[must_use = "the interest itself is not changed"]
    pub const fn add(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// The bits that let a waiter go on.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }
}

impl From<Direction> for Interest {
    #[inline]
    fn from(direction: Direction) -> Interest {
        match direction {
            Direction::Read => Interest::READABLE,
            Direction::Write => Interest::WRITABLE,
        }
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        self.add(other)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Interest) {
        *self = self.add(other);
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_readable(), self.is_writable()) {
            (true, true) => "READABLE | WRITABLE",
            (true, false) => "READABLE",
            _ => "WRITABLE",
        })
    }
}

/// What a source was ready for at one moment.
///
/// It remembers which events it has seen, so that `Source::clear` can tell whether a newer one
/// came since. It says what the kernel reported, not what a call will do: only the call tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    bits: u8,
    tick: u32,
}

impl Ready {
    pub(crate) const fn new(bits: u8, tick: u32) -> Ready {
        Ready { bits, tick }
    }

    pub(crate) const fn tick(self) -> u32 {
        self.tick
    }

    const fn has(self, bits: u8) -> bool {
        self.bits & bits != 0
    }

    /// Whether it is ready for nothing.
    pub const fn is_empty(self) -> bool {
        !self.has(Direction::Read.bits() | Direction::Write.bits())
    }

    /// Whether a read is worth trying. The end of the stream counts: the read will tell it.
    pub const fn is_readable(self) -> bool {
        self.has(Direction::Read.bits())
    }

    /// Whether a write is worth trying. A closed stream counts: the write will tell it.
    pub const fn is_writable(self) -> bool {
        self.has(Direction::Write.bits())
    }

    /// Whether the peer has said that it will send no more.
    pub const fn is_read_closed(self) -> bool {
        self.has(READ_CLOSED)
    }

    /// Whether nothing more can be written.
    pub const fn is_write_closed(self) -> bool {
        self.has(WRITE_CLOSED)
    }

    /// Whether an error waits to be collected.
    pub const fn is_error(self) -> bool {
        self.has(ERROR)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("readable", &self.has(READABLE))
            .field("writable", &self.has(WRITABLE))
            .field("read_closed", &self.is_read_closed())
            .field("write_closed", &self.is_write_closed())
            .field("error", &self.is_error())
            .finish_non_exhaustive()
    }
}
