//! Copies files, or its input, to its output.
//!
//! ```text
//! cargo run --release -p rt-examples --example cat [FILE]...
//! ```
//!
//! `-` is the input. A terminal as input is read line by line, and Ctrl-D ends it.

use std::env;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use rt::fs::File;
use rt::io::{AsyncRead, Stdout, stdin, stdout};

/// How much is read at a time.
const PIECE: usize = 64 << 10;

#[rt::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut names: Vec<String> = env::args().skip(1).collect();
    if names.is_empty() {
        names.push("-".to_owned());
    }
    let mut out = stdout();
    let mut code = ExitCode::SUCCESS;
    for name in names {
        match cat(&name, &mut out).await {
            Ok(()) => {}
            // Whoever has read has had enough: `cat FILE | head`.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) => {
                eprintln!("cat: {name}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

async fn cat(name: &str, out: &mut Stdout) -> io::Result<()> {
    if name == "-" {
        copy(stdin(), out).await
    } else {
        copy(File::open(name).await?, out).await
    }
}

async fn copy(mut from: impl AsyncRead + Unpin, out: &mut Stdout) -> io::Result<()> {
    use rt::io::AsyncReadExt;
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            return out.flush().await;
        }
        out.write_all(&piece[..read]).await?;
    }
}
