//! Answers that come in pieces, and answers that are wrong.

use super::{Progress, Protocol};

fn request(connection: u32, sequence: u32) -> Vec<u8> {
    let mut request = Vec::new();
    Protocol::Echo.request(&mut request, connection, sequence);
    request
}

#[test]
fn an_echo_is_whole_when_all_of_it_is_back() {
    let sent = request(7, 1);
    assert_eq!(sent.len(), 64);
    assert_eq!(
        Protocol::Echo.progress(&sent[..63], &sent),
        Progress::Partial
    );
    assert_eq!(Protocol::Echo.progress(&sent, &sent), Progress::Whole);
}

#[test]
fn the_echo_of_another_connection_or_turn_is_wrong() {
    let sent = request(7, 2);
    assert_eq!(
        Protocol::Echo.progress(&request(8, 2), &sent),
        Progress::Wrong
    );
    assert_eq!(
        Protocol::Echo.progress(&request(7, 1), &sent),
        Progress::Wrong
    );
}

#[test]
fn an_http_answer_is_followed_piece_by_piece() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, World!";
    for end in 0..answer.len() {
        assert_eq!(
            Protocol::Http.progress(&answer[..end], b""),
            Progress::Partial,
            "{end}"
        );
    }
    assert_eq!(Protocol::Http.progress(answer, b""), Progress::Whole);
}

#[test]
fn an_http_answer_with_another_status_or_text_is_wrong() {
    for answer in [
        "HTTP/1.1 500 Oh\r\n\r\nHello, World!",
        "HTTP/1.1 200 OK\r\n\r\nHello, Wurld!",
        "hello",
    ] {
        assert_eq!(
            Protocol::Http.progress(answer.as_bytes(), b""),
            Progress::Wrong
        );
    }
}

#[test]
fn protocols_are_found_by_their_names() {
    for protocol in [Protocol::Echo, Protocol::Http] {
        assert_eq!(Protocol::named(protocol.name()), Some(protocol));
    }
    assert_eq!(Protocol::named("smtp"), None);
}
