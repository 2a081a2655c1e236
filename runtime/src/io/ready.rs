//! What a source was ready for.

use std::fmt;
use std::ops::{BitAnd, BitOr};

/// What a source is ready for, as far as is known.
///
/// # Examples
///
/// ```
/// use rt::io::Ready;
///
/// let ready = Ready::READABLE | Ready::READ_CLOSED;
/// assert!(ready.is_readable() && ready.is_read_closed());
/// assert!(!ready.is_writable());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ready {
    bits: u8,
}

impl Ready {
    /// Nothing.
    pub const EMPTY: Ready = Ready { bits: 0 };
    /// Reading may give something: bytes, a connection, the end of the stream, or an error.
    pub const READABLE: Ready = Ready { bits: 1 };
    /// There may be room to write, or an error to be told.
    pub const WRITABLE: Ready = Ready { bits: 2 };
    /// The peer has ended its direction, so that reading comes to an end.
    pub const READ_CLOSED: Ready = Ready { bits: 4 };
    /// This end's direction is over, so that writing fails.
    pub const WRITE_CLOSED: Ready = Ready { bits: 8 };
    /// The source has an error.
    pub const ERROR: Ready = Ready { bits: 16 };
    /// Everything.
    pub const ALL: Ready = Ready { bits: 31 };

    /// Whether there is nothing in it.
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Whether reading may give something.
    pub const fn is_readable(self) -> bool {
        self.contains(Ready::READABLE) || self.is_read_closed()
    }

    /// Whether there may be room to write.
    pub const fn is_writable(self) -> bool {
        self.contains(Ready::WRITABLE) || self.is_write_closed()
    }

    /// Whether the peer has ended its direction.
    pub const fn is_read_closed(self) -> bool {
        self.contains(Ready::READ_CLOSED)
    }

    /// Whether this end's direction is over.
    pub const fn is_write_closed(self) -> bool {
        self.contains(Ready::WRITE_CLOSED)
    }

    /// Whether the source has an error.
    pub const fn is_error(self) -> bool {
        self.contains(Ready::ERROR)
    }

    const fn contains(self, other: Ready) -> bool {
        self.bits & other.bits == other.bits
    }
}

impl From<rt_reactor::Ready> for Ready {
    fn from(ready: rt_reactor::Ready) -> Ready {
        let mut all = Ready::EMPTY;
        for (is_ready, one) in [
            (ready.is_readable(), Ready::READABLE),
            (ready.is_writable(), Ready::WRITABLE),
            (ready.is_read_closed(), Ready::READ_CLOSED),
            (ready.is_write_closed(), Ready::WRITE_CLOSED),
            (ready.is_error(), Ready::ERROR),
        ] {
            if is_ready {
                all = all | one;
            }
        }
        all
    }
}

impl BitOr for Ready {
    type Output = Ready;

    fn bitor(self, other: Ready) -> Ready {
        Ready {
            bits: self.bits | other.bits,
        }
    }
}

impl BitAnd for Ready {
    type Output = Ready;

    fn bitand(self, other: Ready) -> Ready {
        Ready {
            bits: self.bits & other.bits,
        }
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("readable", &self.is_readable())
            .field("writable", &self.is_writable())
            .field("read_closed", &self.is_read_closed())
            .field("write_closed", &self.is_write_closed())
            .field("error", &self.is_error())
            .finish()
    }
}
