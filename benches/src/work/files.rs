//! What does reading a file cost?
//!
//! Small reads of cached data show the price of a call; a sequential pass over cached data shows what is
//! lost to copies and hand-overs; random reads at depth 64 of data that is not cached show how many
//! reads are in flight. The file holds a number every 4 KiB, and the sums of those read are checked.

use std::env;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::sum_below;

/// Tells a child where the file is.
pub(crate) const PATH_VARIABLE: &str = "VERSUS_FILE";
/// Distance of the numbers, and size of a small read.
pub(crate) const BLOCK: u64 = 4 << 10;
/// Size of a read of the sequential pass.
pub(crate) const CHUNK: u64 = 64 << 10;
/// Size of a random read.
pub(crate) const PAGE: u64 = 64 << 10;
/// Random reads in flight.
pub(crate) const DEPTH: u64 = 64;
/// The part of the file that small reads keep to.
const HOT: u64 = 16 << 20;

/// Where the file is.
pub(crate) fn path() -> PathBuf {
    env::var_os(PATH_VARIABLE).map_or_else(|| env::temp_dir().join("versus.data"), PathBuf::from)
}

/// Makes the file, and makes sure that its pages are clean so that they can be dropped.
pub(crate) fn create(path: &Path, bytes: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut block = vec![0_u8; BLOCK as usize];
    for number in 0..bytes / BLOCK {
        block[..8].copy_from_slice(&number.to_le_bytes());
        out.write_all(&block)?;
    }
    out.into_inner()?.sync_all()
}

/// The number at the start of some data that was read.
pub(crate) fn number(data: &[u8]) -> u64 {
    data.first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Where the small read of this index goes: a prime step through the hot part.
pub(crate) fn hot_offset(index: u64) -> u64 {
    const STEP: u64 = 2017;
    index * STEP % (HOT / BLOCK) * BLOCK
}

/// Where the random read of this index goes, in a file of so many bytes. No page comes twice: the
/// step is odd and files have a power of two of pages.
pub(crate) fn scattered_offset(index: u64, bytes: u64) -> u64 {
    const STEP: u64 = 40_503;
    let pages = (bytes / PAGE).max(1);
    index * STEP % pages * PAGE
}

/// What `count` small reads add up to.
pub(crate) fn hot_sum(count: u64) -> u64 {
    (0..count).map(|index| hot_offset(index) / BLOCK).sum()
}

/// What the sequential pass over `mebibytes` adds up to.
pub(crate) fn sequential_sum(mebibytes: u64) -> u64 {
    sum_below((mebibytes << 20) / CHUNK) * (CHUNK / BLOCK)
}

/// What `count` random reads add up to.
pub(crate) fn scattered_sum(count: u64) -> u64 {
    (0..count)
        .map(|index| scattered_offset(index, scattered_file(count)) / BLOCK)
        .sum()
}

/// The part of the file that `count` random reads are spread over.
pub(crate) fn scattered_file(count: u64) -> u64 {
    (4 * count).next_power_of_two() * PAGE
}
