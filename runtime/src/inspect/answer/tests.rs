//! What is a request, and what is not.

use super::*;

#[test]
fn requests_are_words() {
    assert_eq!(Request::parse(b"metrics\n"), Ok(Request::Metrics));
    assert_eq!(Request::parse(b"  metrics\r\n"), Ok(Request::Metrics));
    let limit = TASKS;
    assert_eq!(Request::parse(b"dump"), Ok(Request::Dump { limit }));
    assert_eq!(Request::parse(b"dump 7"), Ok(Request::Dump { limit: 7 }));
    let times = [
        ("record", Duration::MAX),
        ("record 2s", Duration::from_secs(2)),
        ("record 0.5s", Duration::from_millis(500)),
        ("record 500ms", Duration::from_millis(500)),
    ];
    for (line, last) in times {
        let request = Ok(Request::Record { last });
        assert_eq!(Request::parse(line.as_bytes()), request);
    }
}

#[test]
fn rubbish_is_told_what_it_is() {
    let lines: [&[u8]; 12] = [
        b"",
        b"\n",
        b"metric",
        b"METRICS",
        b"metrics 1",
        b"dump -1",
        b"dump 1 2",
        b"record 2",
        b"record -1s",
        b"record NaNs",
        b"record infms",
        b"\xff\xfe\n",
    ];
    for line in lines {
        let said = Request::parse(line).expect_err("not a request");
        assert!(!said.contains('\n'), "{said:?}");
    }
}

#[test]
fn a_recording_goes_on_one_line() {
    let mut line = Vec::new();
    let written = OneLine(&mut line).write_all(b"\n{\n\n}");
    assert!(written.is_ok());
    assert_eq!(line, b" {  }");
}
