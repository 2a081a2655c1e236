//! Trees of groups that are made for the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{unescape, usable, usable_under};

/// A folder that stands for `/`; it goes with the value.
struct Root(PathBuf);

impl Root {
    fn new(cgroup: &str, mountinfo: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rt-cgroups-{}-{number}", std::process::id());
        let root = Root(std::env::temp_dir().join(name));
        root.file("proc/self/cgroup", cgroup);
        root.file("proc/self/mountinfo", mountinfo);
        root
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn usable(&self, affinity: usize) -> usize {
        usable_under(&self.0, affinity)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const V2: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
    32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

#[test]
fn without_groups_the_affinity_counts() {
    assert_eq!(usable_under(Path::new("/nowhere"), 6), 6);
    assert_eq!(usable_under(Path::new("/nowhere"), 0), 1);
    assert_eq!(Root::new("", "").usable(3), 3);
    assert_eq!(Root::new("0::/a\n", V2).usable(3), 3, "no file for a quota");
    assert!(usable() >= 1);
}

#[test]
fn the_groups_own_quota_is_rounded_down_but_not_to_nothing() {
    let root = Root::new("0::/a/b\n", V2);
    for (max, cpus) in [
        ("max 100000\n", 8),
        ("400000 100000\n", 4),
        ("250000 100000\n", 2),
        ("10000 100000\n", 1),
        ("0 100000\n", 1),
        ("90000000 100000\n", 8),
        ("18446744073709551615 1\n", 8),
        ("100000 0\n", 8),
        ("nonsense\n", 8),
        ("", 8),
    ] {
        root.file("sys/fs/cgroup/a/b/cpu.max", max);
        assert_eq!(root.usable(8), cpus, "{max:?}");
    }
}

#[test]
fn the_scarcest_ancestor_counts() {
    let root = Root::new("0::/a/b/c\n", V2);
    root.file("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    root.file("sys/fs/cgroup/a/b/cpu.max", "700000 100000\n");
    root.file("sys/fs/cgroup/a/cpu.max", "150000 50000\n");
    assert_eq!(root.usable(8), 3);
    // The top of the tree has none on a host; in a container it is the container's own group.
    root.file("sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_eq!(root.usable(8), 2);
    // Neighbours do not count.
    root.file("sys/fs/cgroup/x/cpu.max", "100000 100000\n");
    assert_eq!(root.usable(8), 2);
}

#[test]
fn version_one_counts_too_with_all_ancestors() {
    let root = Root::new("5:memory:/m\n4:cpu,cpuacct:/a/b\n", V1);
    let cpu = "sys/fs/cgroup/cpu,cpuacct";
    root.file(&format!("{cpu}/a/b/cpu.cfs_quota_us"), "-1\n");
    root.file(&format!("{cpu}/a/b/cpu.cfs_period_us"), "100000\n");
    assert_eq!(root.usable(8), 8);
    root.file(&format!("{cpu}/a/cpu.cfs_quota_us"), "300000\n");
    root.file(&format!("{cpu}/a/cpu.cfs_period_us"), "100000\n");
    assert_eq!(root.usable(8), 3);
    // The memory tree has a file of that name: it is none of ours.
    root.file("sys/fs/cgroup/memory/m/cpu.cfs_quota_us", "100000\n");
    root.file("sys/fs/cgroup/memory/m/cpu.cfs_period_us", "100000\n");
    assert_eq!(root.usable(8), 3);
}

#[test]
fn both_versions_at_once_and_the_scarcer_one_counts() {
    let mounts = format!("{V1}{V2}").replace("/sys/fs/cgroup rw,nosuid", "/sys/fs/unified rw");
    let root = Root::new("4:cpu,cpuacct:/one\n0::/two\n", &mounts);
    root.file("sys/fs/cgroup/cpu,cpuacct/one/cpu.cfs_quota_us", "500000");
    root.file("sys/fs/cgroup/cpu,cpuacct/one/cpu.cfs_period_us", "100000");
    assert_eq!(root.usable(8), 5);
    root.file("sys/fs/unified/two/cpu.max", "400000 100000");
    assert_eq!(root.usable(8), 4);
}

#[test]
fn a_container_sees_its_part_of_the_tree() {
    // The host's path of the group, of which the mount shows the group and what is below it.
    let mounts = "30 24 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let root = Root::new("0::/docker/1f/child\n", mounts);
    root.file("sys/fs/cgroup/cpu.max", "300000 100000");
    assert_eq!(root.usable(8), 3);
    root.file("sys/fs/cgroup/child/cpu.max", "200000 100000");
    assert_eq!(root.usable(8), 2);
    // A group that lies outside of what is mounted: the top is all that there is to go by.
    for outside in ["0::/../other\n", "0::/docker/2e\n", "0::/\n"] {
        root.file("proc/self/cgroup", outside);
        assert_eq!(root.usable(8), 3, "{outside:?}");
    }
}

#[test]
fn odd_paths_are_read_as_the_kernel_writes_them() {
    assert_eq!(unescape(r"/a\040b\134c\011"), "/a b\\c\t");
    assert_eq!(unescape(r"/a\b\"), r"/a\b\");
    let mounts = "30 24 0:26 / /odd\\040place rw - cgroup2 cgroup rw\nbroken line\n\n";
    let root = Root::new("broken\n0::/a:b\n", mounts);
    root.file("odd place/a:b/cpu.max", "100000 100000");
    assert_eq!(root.usable(8), 1);
}
