//! The traits of `futures_io` on the process's input and outputs.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::futures_io::{AsyncRead, AsyncWrite};

use super::{Stderr, Stdin, Stdout, input};
use crate::sys::file::Destination;

impl AsyncRead for Stdin {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        input::poll_read(cx, &mut Destination::Plain(buf))
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

            fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                $type::poll_flush(&mut self, cx)
            }
        }
    )*};
}

implement_write!(Stdout, Stderr);
