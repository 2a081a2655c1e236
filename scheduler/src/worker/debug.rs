//! A worker for people to read, without its queues.

use std::fmt;

use super::Local;

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
