//! Reading and writing at positions of one's own, any number at a time.

use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;

use rt_scheduler::coop::poll_proceed;

use super::File;
use crate::fs::engine;
use crate::sys::file::{CHUNK, Room, offset};

/// Reading and writing at positions of one's own.
impl File {
    /// Reads at a position, and gives the buffer back with the number of bytes.
    ///
    /// It fills all of the buffer's bytes; an empty vector is filled up to its capacity, and gets the
    /// length of what was read. There are fewer bytes only where the file ends (or before an error,
    /// which a further read tells).
    ///
    /// The buffer is given away so that the kernel may write to it even if the future is dropped.
    ///
    /// # Errors
    ///
    /// Those of `pread`. The buffer comes back with them.
    ///
    /// # Panics
    ///
    /// Outside a runtime, if the bytes are not in the page cache.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the buffer, and nothing else.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("rt-read-at-{}", std::process::id()));
    /// # rt::fs::write(&path, "hello, world").await?;
    /// let file = rt::fs::File::open(&path).await?;
    /// let (read, buf) = file.read_at(vec![0; 5], 7).await;
    /// assert_eq!(read?, 5);
    /// assert_eq!(buf, b"world");
    ///
    /// let (read, buf) = file.read_at(Vec::with_capacity(100), 7).await;
    /// assert_eq!(read?, 5);
    /// assert_eq!(buf, b"world");
    /// # rt::fs::remove_file(&path).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_at(&self, buf: Vec<u8>, offset: u64) -> (io::Result<usize>, Vec<u8>) {
        let mut room = Room::new(buf);
        let result = self.fill(&mut room, Some(offset)).await;
        let read = match result {
            Err(error) if room.filled() == 0 => Err(error),
            _ => Ok(room.filled()),
        };
        (read, room.into_inner())
    }

    /// As [`read_at`](File::read_at), but the file must have as many bytes as the buffer.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if it has fewer; else those of `pread`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the buffer, and nothing else.
    pub async fn read_exact_at(&self, buf: Vec<u8>, offset: u64) -> (io::Result<()>, Vec<u8>) {
        let mut room = Room::new(buf);
        let result = self.fill(&mut room, Some(offset)).await;
        let result = result.and_then(|()| {
            if room.is_full() {
                Ok(())
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        });
        (result, room.into_inner())
    }

    /// Reads until the room is full, the file ends or an error comes. `None` is the file's own position.
    pub(in crate::fs) async fn fill(&self, room: &mut Room, start: Option<u64>) -> io::Result<()> {
        let before = room.filled();
        while !room.is_full() {
            let at = place(start, room.filled() - before)?;
            let coop = poll_fn(poll_proceed).await;
            let now = self
                .shared
                .read_now(|file| room.fill_now(file.as_fd(), CHUNK, at));
            coop.made_progress();
            let result = if let Some(result) = now {
                result
            } else {
                let result;
                (result, *room) = engine::read(&self.shared.file, room.take(), at).await;
                result
            };
            if result? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The length of a regular file that has just been opened. `None` if it does not tell.
    pub(in crate::fs) fn length_hint(&self) -> Option<usize> {
        let length = self.shared.file.metadata().ok()?.len();
        usize::try_from(length).ok().filter(|length| *length > 0)
    }

    /// Writes all of a buffer at a position, and gives it back with the number of bytes.
    ///
    /// There are fewer only before an error, which a further write tells. The position of the stream
    /// stays; but a file that was opened for appending is written to at its end, as `pwrite` does on Linux.
    ///
    /// # Errors
    ///
    /// Those of `pwrite`. The buffer comes back with them.
    ///
    /// # Panics
    ///
    /// Outside a runtime, if the file system does not take the bytes at once.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the buffer. The piece that was under way is written nonetheless; of a
    /// buffer larger than a mebibyte, what comes behind it is not.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("rt-write-at-{}", std::process::id()));
    /// let file = rt::fs::File::create(&path).await?;
    /// let (written, _) = file.write_at("world", 7).await;
    /// assert_eq!(written?, 5);
    /// let (written, _) = file.write_at("hello, ", 0).await;
    /// assert_eq!(written?, 7);
    /// assert_eq!(rt::fs::read(&path).await?, b"hello, world");
    /// # rt::fs::remove_file(&path).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write_at<B>(&self, buf: B, offset: u64) -> (io::Result<usize>, B)
    where
        B: AsRef<[u8]> + Send + 'static,
    {
        let (written, result, buf) = self.empty_at(buf, offset).await;
        match result {
            Err(error) if written == 0 => (Err(error), buf),
            _ => (Ok(written), buf),
        }
    }

    /// As [`write_at`](File::write_at), but writing fewer bytes is an error.
    ///
    /// # Errors
    ///
    /// Those of `pwrite`. Some bytes may have been written then.
    ///
    /// # Cancel safety
    ///
    /// As [`write_at`](File::write_at).
    pub async fn write_all_at<B>(&self, buf: B, offset: u64) -> (io::Result<()>, B)
    where
        B: AsRef<[u8]> + Send + 'static,
    {
        let (_, result, buf) = self.empty_at(buf, offset).await;
        (result, buf)
    }

    /// Writes until nothing is left or an error comes.
    async fn empty_at<B>(&self, buf: B, start: u64) -> (usize, io::Result<()>, B)
    where
        B: AsRef<[u8]> + Send + 'static,
    {
        let (mut buf, mut written) = (buf, 0);
        let result = loop {
            let left = buf.as_ref().get(written..).unwrap_or_default();
            if left.is_empty() {
                break Ok(());
            }
            let at = match place(Some(start), written) {
                Ok(at) => at,
                Err(error) => break Err(error),
            };
            poll_fn(poll_proceed).await.made_progress();
            let left = buf.as_ref().get(written..).unwrap_or_default();
            let result = if let Some(result) = self.shared.write_now(left, at) {
                result
            } else {
                let result;
                (result, buf) = engine::write(&self.shared.file, buf, written, at).await;
                result
            };
            match result {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => written += more,
                Err(error) => break Err(error),
            }
        };
        (written, result, buf)
    }
}

/// The place so many bytes behind `start`, if the kernel takes it.
fn place(start: Option<u64>, behind: usize) -> io::Result<Option<u64>> {
    let at = start.map(|start| start.saturating_add(behind as u64));
    offset(at).map(|_| at)
}
