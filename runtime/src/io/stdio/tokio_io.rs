//! The traits of `tokio::io` on the process's input and outputs.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Stderr, Stdin, Stdout};
use crate::io::{AsyncRead, AsyncWrite, ReadBuf, fill};

impl AsyncRead for Stdin {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        fill(buf, |unfilled| {
            let read = self.poll_read_uninit(cx, unfilled);
            read.map_ok(|read| (read, ()))
        })
    }
}

macro_rules! implement_write {
    ($($type:ident),*) => {$(
        impl AsyncWrite for $type {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                $type::poll_write(&mut self, cx, bytes)
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                $type::poll_flush(&mut self, cx)
            }

            fn poll_shutdown(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                $type::poll_flush(&mut self, cx)
            }
        }
    )*};
}

implement_write!(Stdout, Stderr);
