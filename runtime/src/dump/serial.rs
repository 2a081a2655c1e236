//! How a dump's fields are serialized: places as text, times in seconds.

use std::fmt::Display;
use std::time::Duration;

use serde::Serializer;

pub(super) fn display<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
pub(super) fn seconds<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => to.serialize_some(&time.as_secs_f64()),
        None => to.serialize_none(),
    }
}
