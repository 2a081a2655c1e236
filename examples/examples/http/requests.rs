//! What stands in the bytes that have come, and the bytes that answer it.

/// The longest head of a request that is read.
const MAX_HEAD: usize = 16 * 1024;

const GREETING: &str = "Hello, World!\n";

/// Answers every whole request at the start of `received` and takes it out. Returns whether the
/// connection goes on.
pub(crate) fn answer_all(received: &mut Vec<u8>, answers: &mut Vec<u8>) -> bool {
    let mut done = 0;
    let goes_on = loop {
        match parse(&received[done..]) {
            Parsed::Partial => break true,
            Parsed::Bad(status) => {
                answer(answers, status, status, true, false);
                break false;
            }
            Parsed::Request(request) => {
                let (status, body) = match request.target {
                    "/" if request.is_known_method() => ("200 OK", GREETING),
                    "/" => ("405 Method Not Allowed", "405 Method Not Allowed"),
                    _ => ("404 Not Found", "404 Not Found"),
                };
                let with_body = request.method != "HEAD";
                answer(answers, status, body, with_body, request.keep_alive);
                done += request.length;
                if !request.keep_alive {
                    break false;
                }
            }
        }
    };
    received.drain(..done);
    goes_on
}

fn answer(out: &mut Vec<u8>, status: &str, body: &str, with_body: bool, keep_alive: bool) {
    let connection = if keep_alive { "keep-alive" } else { "close" };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
         connection: {connection}\r\n\r\n",
        body.len(),
    );
    out.extend_from_slice(head.as_bytes());
    if with_body {
        out.extend_from_slice(body.as_bytes());
    }
}

/// What stands at the start of the bytes received.
#[derive(Debug, PartialEq)]
enum Parsed<'a> {
    /// The start of a request. More must come.
    Partial,
    Request(Request<'a>),
    /// No request. The connection ends with this status.
    Bad(&'static str),
}

#[derive(Debug, PartialEq)]
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    keep_alive: bool,
    /// How many bytes it takes, its body included.
    length: usize,
}

impl Request<'_> {
    fn is_known_method(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }
}

const BAD: Parsed<'_> = Parsed::Bad("400 Bad Request");

fn parse(bytes: &[u8]) -> Parsed<'_> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let Some(end) = end.filter(|end| *end <= MAX_HEAD) else {
        return match bytes.len() {
            0..=MAX_HEAD => Parsed::Partial,
            _ => Parsed::Bad("431 Request Header Fields Too Large"),
        };
    };
    let Ok(head) = str::from_utf8(&bytes[..end]) else {
        return BAD;
    };
    let mut lines = head.split("\r\n");
    let mut start = lines.next().unwrap_or_default().split(' ');
    let parts = (start.next(), start.next(), start.next(), start.next());
    let (Some(method), Some(target), Some(version), None) = parts else {
        return BAD;
    };
    let is_1_1 = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return BAD,
    };
    if !is_token(method) || !target.starts_with('/') {
        return BAD;
    }
    let mut fields = Fields::default();
    for line in lines {
        if fields.add(line).is_none() {
            return BAD;
        }
    }
    if is_1_1 && fields.hosts != 1 {
        return BAD;
    }
    let length = (end + 4).saturating_add(fields.body);
    if length > end + 4 + MAX_HEAD {
        return Parsed::Bad("413 Content Too Large");
    }
    if length > bytes.len() {
        return Parsed::Partial;
    }
    Parsed::Request(Request {
        method,
        target,
        keep_alive: fields.keep_alive.unwrap_or(is_1_1),
        length,
    })
}

/// The header fields that matter here.
#[derive(Default)]
struct Fields {
    hosts: usize,
    body: usize,
    /// What the client has said of it.
    keep_alive: Option<bool>,
}

impl Fields {
    /// Reads one line; `None` if it makes the request a bad one.
    fn add(&mut self, line: &str) -> Option<()> {
        let (name, value) = line.split_once(':')?;
        let value = value.trim_matches([' ', '\t']);
        if !is_token(name) {
            return None;
        }
        if name.eq_ignore_ascii_case("host") {
            self.hosts += 1;
        } else if name.eq_ignore_ascii_case("content-length") {
            // A sign would pass `parse`, but is no digit.
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            self.body = value.parse().ok().filter(|_| is_number)?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            // Its end could not be told, nor where the next request begins.
            return None;
        } else if name.eq_ignore_ascii_case("connection") {
            for option in value.split(',').map(str::trim) {
                if option.eq_ignore_ascii_case("close") {
                    self.keep_alive = Some(false);
                } else if option.eq_ignore_ascii_case("keep-alive") {
                    self.keep_alive = self.keep_alive.or(Some(true));
                }
            }
        }
        Some(())
    }
}

fn is_token(word: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !word.is_empty() && word.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers_to(requests: &str) -> (String, bool) {
        let mut received = requests.as_bytes().to_vec();
        let mut answers = Vec::new();
        let goes_on = answer_all(&mut received, &mut answers);
        (String::from_utf8(answers).unwrap(), goes_on)
    }

    #[test]
    fn pipelined_requests_are_answered_in_order() {
        let (answers, goes_on) = answers_to(
            "GET / HTTP/1.1\r\nhost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n\
             GET /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nabGET / HT",
        );
        let statuses: Vec<_> = answers.matches("HTTP/1.1 ").collect();
        assert_eq!(statuses.len(), 3);
        assert_eq!(answers.matches(GREETING).count(), 1);
        assert!(answers.ends_with("404 Not Found"));
        assert!(goes_on);
    }

    #[test]
    fn bad_requests_end_the_connection() {
        for bad in [
            "GET /\r\n\r\n",
            "GET / HTTP/2.0\r\nhost: a\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            let (answers, goes_on) = answers_to(bad);
            assert!(answers.starts_with("HTTP/1.1 400 "), "{bad:?}");
            assert!(!goes_on);
        }
    }

    #[test]
    fn an_oversized_head_is_refused_before_its_end() {
        let (answers, goes_on) = answers_to(&"x".repeat(MAX_HEAD + 1));
        assert!(answers.starts_with("HTTP/1.1 431 "));
        assert!(!goes_on);
    }

    #[test]
    fn the_connection_lasts_as_long_as_the_client_wants() {
        for (request, expected) in [
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", true),
            (
                "GET / HTTP/1.1\r\nhost: a\r\nconnection: Close\r\n\r\n",
                false,
            ),
            ("GET / HTTP/1.0\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
        ] {
            assert_eq!(answers_to(request).1, expected, "{request:?}");
        }
    }

    #[test]
    fn other_methods_are_not_allowed() {
        let (answers, _) = answers_to("DELETE / HTTP/1.1\r\nhost: a\r\n\r\n");
        assert!(answers.starts_with("HTTP/1.1 405 "));
    }
}
