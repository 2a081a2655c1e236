//! Requests of the HTTP example: whatever comes, in whatever pieces, is answered the same way.
//!
//! The first byte says how long the pieces are.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../examples/examples/http/requests.rs"]
mod requests;

fuzz_target!(|input: &[u8]| {
    let Some((&length, bytes)) = input.split_first() else {
        return;
    };
    let at_once = answers_to([bytes]);
    let in_pieces = answers_to(bytes.chunks(usize::from(length).max(1)));
    assert_eq!(at_once, in_pieces);
    let (answers, _) = at_once;
    assert!(answers.is_empty() || answers.starts_with(b"HTTP/1.1 "));
});

/// The answers to what comes in these pieces, and whether the connection goes on.
fn answers_to<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    let (mut received, mut answers) = (Vec::new(), Vec::new());
    for piece in pieces {
        received.extend_from_slice(piece);
        if !requests::answer_all(&mut received, &mut answers) {
            return (answers, false);
        }
    }
    (answers, true)
}
