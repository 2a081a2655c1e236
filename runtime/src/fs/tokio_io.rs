//! The traits of `tokio::io` on files.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::File;
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf, SeekFrom, fill};

impl AsyncRead for File {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        fill(buf, |unfilled| {
            let read = self.poll_read_uninit(cx, unfilled);
            read.map_ok(|read| (read, ()))
        })
    }
}

impl AsyncWrite for File {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        File::poll_write(&mut self, cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        File::poll_flush(&mut self, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        File::poll_flush(&mut self, cx)
    }
}

impl AsyncSeek for File {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        File::start_seek(&mut self, position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        File::poll_seek(&mut self, cx)
    }
}
