//! What is asked and what must come back.

#[cfg(test)]
mod tests;

/// Bytes of an echo request.
const ECHO: usize = 64;

const HTTP_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HTTP_BODY: &[u8] = b"Hello, World!";

/// The language of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Protocol {
    /// 64 bytes that come back as they are.
    Echo,
    /// `GET /`, answered by a short text; the connection is kept.
    Http,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Progress {
    Partial,
    Whole,
    Wrong,
}

impl Protocol {
    /// By the name it has on a command line.
    pub(crate) fn named(name: &str) -> Option<Protocol> {
        match name {
            "echo" => Some(Protocol::Echo),
            "http" => Some(Protocol::Http),
            _ => None,
        }
    }

    /// The name it has on a command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Protocol::Echo => "echo",
            Protocol::Http => "http",
        }
    }

    /// Fills in a request. Echo's differ in every connection and turn, so that an answer that belongs to
    /// another one shows.
    pub(super) fn request(self, request: &mut Vec<u8>, connection: u32, sequence: u32) {
        match self {
            Protocol::Echo => {
                request.resize(ECHO, b'.');
                request[..4].copy_from_slice(&connection.to_le_bytes());
                request[4..8].copy_from_slice(&sequence.to_le_bytes());
                request[ECHO - 4..].copy_from_slice(&sequence.to_be_bytes());
            }
            Protocol::Http if request.is_empty() => request.extend_from_slice(HTTP_REQUEST),
            Protocol::Http => {}
        }
    }

    /// Looks at what has come so far.
    pub(super) fn progress(self, answer: &[u8], request: &[u8]) -> Progress {
        match self {
            Protocol::Echo if answer.len() < ECHO => Progress::Partial,
            Protocol::Echo if answer == request => Progress::Whole,
            Protocol::Echo => Progress::Wrong,
            Protocol::Http => http_progress(answer),
        }
    }
}

/// Expects a status of 200 and exactly the text.
fn http_progress(answer: &[u8]) -> Progress {
    const STATUS: &[u8] = b"HTTP/1.1 200";
    if !answer.starts_with(&STATUS[..STATUS.len().min(answer.len())]) {
        return Progress::Wrong;
    }
    let Some(head) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Progress::Partial;
    };
    let body = &answer[head + 4..];
    if body == HTTP_BODY {
        Progress::Whole
    } else if HTTP_BODY.starts_with(body) {
        Progress::Partial
    } else {
        Progress::Wrong
    }
}
