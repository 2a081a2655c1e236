//! Reading files: plain calls of `std` (with threads for depth), `rt::fs` and `tokio::fs`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::Exec;
use super::rt::Rt;
use super::tokio::Tokio;
use crate::sys;
use crate::work::Measured;
use crate::work::files::{
    BLOCK, CHUNK, DEPTH, PAGE, hot_offset, number, path, scattered_file, scattered_offset,
};

const READABLE: &str = "the file was made for this run and is as long as it should be";

/// Small cached reads with `pread`.
pub(crate) fn std_cached(count: u64) -> Measured {
    let file = warm_file().expect(READABLE);
    let mut buffer = vec![0; BLOCK as usize];
    let started = Instant::now();
    let sum = (0..count)
        .map(|index| {
            file.read_exact_at(&mut buffer, hot_offset(index))
                .expect(READABLE);
            number(&buffer)
        })
        .sum();
    Measured::each(count, started, sum)
}

/// A pass over `mebibytes` with `read`.
pub(crate) fn std_sequential(mebibytes: u64) -> Measured {
    let mut file = warm_file().expect(READABLE);
    let mut buffer = vec![0; CHUNK as usize];
    let pass = Pass::begin();
    let sum = (0..(mebibytes << 20) / CHUNK)
        .map(|_| {
            file.read_exact(&mut buffer).expect(READABLE);
            number(&buffer)
        })
        .sum();
    pass.end(mebibytes, sum)
}

/// Random uncached reads on as many threads as reads are in flight.
pub(crate) fn std_random(count: u64) -> Measured {
    let file = cold_file().expect(READABLE);
    let started = Instant::now();
    let sum = thread::scope(|scope| {
        let readers: Vec<_> = (0..DEPTH)
            .map(|lane| {
                let file = &file;
                scope.spawn(move || {
                    let mut buffer = vec![0; PAGE as usize];
                    let mut sum = 0;
                    for index in (lane..count).step_by(DEPTH as usize) {
                        let offset = scattered_offset(index, scattered_file(count));
                        file.read_exact_at(&mut buffer, offset).expect(READABLE);
                        sum += number(&buffer);
                    }
                    sum
                })
            })
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().expect(READABLE))
            .sum()
    });
    per_read(count, started, sum)
}

/// Small cached reads at their places, with a buffer that goes there and back.
pub(crate) fn rt_cached(count: u64) -> Measured {
    on_rt(async move {
        let file = rt::fs::File::from_std(warm_file()?);
        let mut buffer = vec![0; BLOCK as usize];
        let mut sum = 0;
        let started = Instant::now();
        for index in 0..count {
            let read;
            (read, buffer) = file.read_exact_at(buffer, hot_offset(index)).await;
            read?;
            sum += number(&buffer);
        }
        Ok(Measured::each(count, started, sum))
    })
}

/// A pass over `mebibytes` as a stream.
pub(crate) fn rt_sequential(mebibytes: u64) -> Measured {
    on_rt(async move {
        let mut file = rt::fs::File::from_std(warm_file()?);
        let mut buffer = vec![0; CHUNK as usize];
        let mut sum = 0;
        let pass = Pass::begin();
        for _ in 0..(mebibytes << 20) / CHUNK {
            file.read_exact(&mut buffer).await?;
            sum += number(&buffer);
        }
        Ok(pass.end(mebibytes, sum))
    })
}

/// Random uncached reads of one file, by as many tasks as reads are in flight.
pub(crate) fn rt_random(count: u64) -> Measured {
    on_rt(async move {
        let file = Arc::new(rt::fs::File::from_std(cold_file()?));
        let started = Instant::now();
        let lanes: Vec<_> = (0..DEPTH)
            .map(|lane| rt::spawn(rt_lane(Arc::clone(&file), lane, count)))
            .collect();
        let mut sum = 0;
        for lane in lanes {
            sum += lane.await??;
        }
        Ok(per_read(count, started, sum))
    })
}

async fn rt_lane(file: Arc<rt::fs::File>, lane: u64, count: u64) -> io::Result<u64> {
    let mut buffer = vec![0; PAGE as usize];
    let mut sum = 0;
    for index in (lane..count).step_by(DEPTH as usize) {
        let offset = scattered_offset(index, scattered_file(count));
        let read;
        (read, buffer) = file.read_exact_at(buffer, offset).await;
        read?;
        sum += number(&buffer);
    }
    Ok(sum)
}

/// Small cached reads with `tokio::fs`, which has no positioned read.
pub(crate) fn tokio_cached(count: u64) -> Measured {
    on_tokio(async move {
        let mut file = tokio::fs::File::from_std(warm_file()?);
        let mut buffer = vec![0; BLOCK as usize];
        let mut sum = 0;
        let started = Instant::now();
        for index in 0..count {
            file.seek(SeekFrom::Start(hot_offset(index))).await?;
            file.read_exact(&mut buffer).await?;
            sum += number(&buffer);
        }
        Ok(Measured::each(count, started, sum))
    })
}

/// A pass over `mebibytes` with `tokio::fs`.
pub(crate) fn tokio_sequential(mebibytes: u64) -> Measured {
    on_tokio(async move {
        let mut file = tokio::fs::File::from_std(warm_file()?);
        let mut buffer = vec![0; CHUNK as usize];
        let mut sum = 0;
        let pass = Pass::begin();
        for _ in 0..(mebibytes << 20) / CHUNK {
            file.read_exact(&mut buffer).await?;
            sum += number(&buffer);
        }
        Ok(pass.end(mebibytes, sum))
    })
}

/// Random uncached reads in as many tasks as reads are in flight, each with the file open.
pub(crate) fn tokio_random(count: u64) -> Measured {
    on_tokio(async move {
        drop(cold_file()?);
        let started = Instant::now();
        let lanes: Vec<_> = (0..DEPTH)
            .map(|lane| tokio::spawn(tokio_lane(lane, count)))
            .collect();
        let mut sum = 0;
        for lane in lanes {
            sum += lane.await??;
        }
        Ok(per_read(count, started, sum))
    })
}

async fn tokio_lane(lane: u64, count: u64) -> io::Result<u64> {
    let mut file = tokio::fs::File::open(path()).await?;
    let mut buffer = vec![0; PAGE as usize];
    let mut sum = 0;
    for index in (lane..count).step_by(DEPTH as usize) {
        file.seek(SeekFrom::Start(scattered_offset(
            index,
            scattered_file(count),
        )))
        .await?;
        file.read_exact(&mut buffer).await?;
        sum += number(&buffer);
    }
    Ok(sum)
}

fn on_rt<F>(work: F) -> Measured
where
    F: Future<Output = io::Result<Measured>> + Send + 'static,
{
    Rt::block_on(async move { Rt::spawn(work).await }).expect(READABLE)
}

fn on_tokio<F>(work: F) -> Measured
where
    F: Future<Output = io::Result<Measured>> + Send + 'static,
{
    Tokio::block_on(async move { Tokio::spawn(work).await }).expect(READABLE)
}

/// The file, at its start, with all of it in the page cache.
fn warm_file() -> io::Result<File> {
    let mut file = File::open(path())?;
    io::copy(&mut file, &mut io::sink())?;
    file.rewind()?;
    Ok(file)
}

/// The file, with nothing of it in the page cache.
fn cold_file() -> io::Result<File> {
    let file = File::open(path())?;
    sys::drop_cached(&file)?;
    Ok(file)
}

/// The time of a pass, by the clock and of the CPUs.
struct Pass {
    started: Instant,
    cpu: Duration,
}

impl Pass {
    fn begin() -> Pass {
        Pass {
            cpu: sys::cpu_time(),
            started: Instant::now(),
        }
    }

    fn end(self, mebibytes: u64, sum: u64) -> Measured {
        let wall = self.started.elapsed().as_secs_f64();
        let cpu = sys::cpu_time().saturating_sub(self.cpu).as_secs_f64();
        let a_gibibyte = 1e3 * 1024.0 / mebibytes.max(1) as f64;
        Measured::figures(vec![wall * a_gibibyte, cpu * a_gibibyte], self.started, sum)
    }
}

fn per_read(count: u64, started: Instant, sum: u64) -> Measured {
    let micros = started.elapsed().as_secs_f64() * 1e6 / count.max(1) as f64;
    Measured::figures(vec![micros], started, sum)
}
