//! The `grpc-timeout` header: how long a call may take.

use std::time::Duration;

use http::HeaderMap;
use tonic::Status;

/// The header's name.
const HEADER: &str = "grpc-timeout";

/// What the headers allow. Nonsense allows everything, as the protocol's other implementations have it.
pub(crate) fn of(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(HEADER)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    // The protocol allows eight digits.
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(value * 60 * 60),
        "M" => Duration::from_secs(value * 60),
        "S" => Duration::from_secs(value),
        "m" => Duration::from_millis(value),
        "u" => Duration::from_micros(value),
        "n" => Duration::from_nanos(value),
        _ => return None,
    })
}

/// What is told to who is too late.
pub(crate) fn exceeded() -> Status {
    Status::deadline_exceeded("the call took longer than its timeout allows")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, text.parse().unwrap());
        of(&headers)
    }

    #[test]
    fn every_unit_is_known() {
        assert_eq!(parse("2H"), Some(Duration::from_hours(2)));
        assert_eq!(parse("3M"), Some(Duration::from_mins(3)));
        assert_eq!(parse("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(parse("42m"), Some(Duration::from_millis(42)));
        assert_eq!(parse("7u"), Some(Duration::from_micros(7)));
        assert_eq!(parse("0n"), Some(Duration::ZERO));
    }

    #[test]
    fn nonsense_is_no_limit() {
        for text in [
            "",
            "S",
            "1",
            "1x",
            "-1S",
            "+1S",
            "1.5S",
            "123456789S",
            "1 S",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(of(&HeaderMap::new()), None);
    }
}
