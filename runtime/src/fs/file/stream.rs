//! Reading and writing at the file's own position, one at a time.

use std::future::poll_fn;
use std::io::{self, SeekFrom};
use std::mem::MaybeUninit;
use std::task::{Context, Poll};

use super::File;
use crate::sys::file::Destination;

/// Reading and writing at the file's own position.
impl File {
    /// Reads some bytes, and returns how many. Zero is the end of the file.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    ///
    /// # Panics
    ///
    /// Outside a runtime, if the bytes are not in the page cache.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what was read for nobody is given to the next read.
    pub async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, Destination::Plain(buf))).await
    }

    /// Reads until the buffer is full.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends before; else those of `read`.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the position is somewhere within what was asked for.
    pub async fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.read(&mut buf[filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(filled)
    }

    /// Writes some bytes, and returns how many. An error may be that of an earlier write.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    ///
    /// # Panics
    ///
    /// Outside a runtime, if the file system does not take the bytes at once.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped, nothing of these bytes was written.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write(cx, bytes)).await
    }

    /// Writes all bytes. An error may be that of an earlier write.
    ///
    /// # Errors
    ///
    /// Those of `write`. Some of the bytes may have been written then.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: some of the bytes may have been written.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match self.write(&bytes[written..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                more => written += more,
            }
        }
        Ok(())
    }

    /// Waits until the kernel has all that was written.
    ///
    /// # Errors
    ///
    /// That of a write that failed after it had been taken over.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Moves the position, and tells where it is now.
    ///
    /// # Errors
    ///
    /// Those of `lseek`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped, the position has not been moved.
    pub async fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        self.start_seek(target);
        poll_fn(|cx| self.poll_seek(cx)).await
    }

    /// Reads into memory that need not be initialised. That many bytes at its start are so then.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn poll_read_uninit(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        self.poll_read(cx, Destination::Uninit(buf))
    }

    pub(in crate::fs) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: Destination<'_>,
    ) -> Poll<io::Result<usize>> {
        let cursor = self.cursor.get_mut();
        cursor.poll_read(&self.shared, self.max_buf_size, cx, buf)
    }

    /// Writes, or takes bytes over to be written. See [`write`](File::write).
    ///
    /// # Errors
    ///
    /// Those of `write`.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let cursor = self.cursor.get_mut();
        cursor.poll_write(&self.shared, self.max_buf_size, cx, bytes)
    }

    /// Waits until the kernel has all that was written. See [`flush`](File::flush).
    ///
    /// # Errors
    ///
    /// That of a write that failed after it had been taken over.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.cursor.get_mut().poll_flush(cx)
    }

    /// Says where to move, for [`poll_seek`](File::poll_seek).
    pub fn start_seek(&mut self, target: SeekFrom) {
        self.cursor.get_mut().start_seek(target);
    }

    /// Carries out what [`start_seek`](File::start_seek) said, if it was called, and tells the position.
    ///
    /// # Errors
    ///
    /// Those of `lseek`.
    pub fn poll_seek(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.cursor.get_mut().poll_seek(&self.shared, cx)
    }
}
