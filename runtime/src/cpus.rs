//! How many CPUs this process may use: its affinity, and the quotas of its control groups.
//!
//! As many threads as the host has CPUs, under a quota of one CPU, spend the quota of a period in its
//! first fraction and are then all stopped for the rest. So a pool has no more workers than what the
//! scarcest of the group and all its ancestors leaves, rounded down, and at least one. `std` counts the
//! affinity; the quotas are read here, from version 1 and version 2 of the interface, since groups of
//! both may be mounted, at any place, and as any part of the host's tree.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::thread;

#[cfg(test)]
mod tests;

/// The CPUs that this process may use, at least 1.
pub(crate) fn usable() -> usize {
    let affinity = thread::available_parallelism().map_or(1, usize::from);
    usable_under(Path::new("/"), affinity)
}

/// As [`usable`], with the files below `root`.
fn usable_under(root: &Path, affinity: usize) -> usize {
    let quota = Groups::read(root).and_then(|groups| groups.quota());
    quota.map_or(affinity, |cpus| affinity.min(cpus)).max(1)
}

/// What the kernel says of this process's groups.
struct Groups<'a> {
    root: &'a Path,
    /// `/proc/self/cgroup`: `ID:CONTROLLERS:PATH` a line.
    memberships: String,
    /// `/proc/self/mountinfo`.
    mounts: String,
}

/// The two versions of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl<'a> Groups<'a> {
    fn read(root: &'a Path) -> Option<Self> {
        Some(Groups {
            root,
            memberships: fs::read_to_string(root.join("proc/self/cgroup")).ok()?,
            mounts: fs::read_to_string(root.join("proc/self/mountinfo")).ok()?,
        })
    }

    /// The least number of CPUs that any group leaves. `None`: no group has a quota.
    fn quota(&self) -> Option<usize> {
        let groups = self.memberships.lines().filter_map(membership);
        groups
            .filter_map(|(version, path)| self.quota_of(version, path))
            .min()
    }

    /// The least of one group and its ancestors, as far as they are mounted.
    fn quota_of(&self, version: Version, group: &Path) -> Option<usize> {
        let mounts = self.mounts.lines().filter_map(|line| mount(line, version));
        let quotas = mounts.filter_map(|mount| {
            let top = below(self.root, &mount.point);
            // The mount shows the tree from some group on. One that lies elsewhere is not visible;
            // what is, is an ancestor or a stand-in for it.
            let inside = group.strip_prefix(&mount.shows).unwrap_or(Path::new(""));
            let group = below(&top, inside);
            let ancestors = group.ancestors().take_while(|dir| dir.starts_with(&top));
            ancestors.filter_map(|dir| version.quota(dir)).min()
        });
        quotas.min()
    }
}

impl Version {
    /// The CPUs that the group at `dir` leaves, rounded down.
    fn quota(self, dir: &Path) -> Option<usize> {
        let read = |name| fs::read_to_string(dir.join(name)).ok();
        let (quota, period) = match self {
            Version::One => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
            Version::Two => {
                let max = read("cpu.max")?;
                let (quota, period) = max.split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
        };
        // No quota is `max` or -1, neither of which is such a number.
        let quota: u64 = quota.trim().parse().ok()?;
        let period: u64 = period.trim().parse().ok()?;
        let cpus = quota.checked_div(period)?;
        Some(usize::try_from(cpus).unwrap_or(usize::MAX))
    }
}

/// The version and the path of a line of `/proc/self/cgroup`, if it is about CPUs.
fn membership(line: &str) -> Option<(Version, &Path)> {
    let mut fields = line.splitn(3, ':');
    let (_id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let version = match controllers {
        "" => Version::Two,
        list if list.split(',').any(|controller| controller == "cpu") => Version::One,
        _ => return None,
    };
    Some((version, Path::new(path)))
}

/// A mounted tree of groups.
struct Mount {
    /// The group that is seen at the top.
    shows: PathBuf,
    point: PathBuf,
}

/// A line of `/proc/self/mountinfo`, if it is a tree of that version with the CPU controller.
fn mount(line: &str, version: Version) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (shows, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (name, _source, options) = (kind.next()?, kind.next()?, kind.next()?);
    let wanted = match version {
        Version::One => name == "cgroup" && options.split(',').any(|option| option == "cpu"),
        Version::Two => name == "cgroup2",
    };
    wanted.then(|| Mount {
        shows: PathBuf::from(unescape(shows)),
        point: PathBuf::from(unescape(point)),
    })
}

/// The kernel writes blanks, line ends and backslashes in paths as `\` and three octal digits.
fn unescape(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..3).map(|digits| u8::from_str_radix(digits, 8));
        if let Some(Ok(byte)) = digits {
            plain.push(char::from(byte));
            plain.push_str(&part[3..]);
        } else {
            plain.push('\\');
            plain.push_str(part);
        }
    }
    plain
}

/// `path` below `root`, whether it is absolute or not; what leads upwards is left out.
fn below(root: &Path, path: &Path) -> PathBuf {
    let mut full = root.to_owned();
    full.extend(
        path.components()
            .filter(|part| matches!(part, Component::Normal(_))),
    );
    full
}
