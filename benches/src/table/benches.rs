//! The benches themselves, in the order in which they are run.

use super::{Against, Bench, Budget, Kind, Row, Size};
use super::{hot_sum, scattered_sum, sequential_sum, sum_below};
use crate::peers::WORKERS;

use Against::{Best, Peer};
use Budget::{AtLeast, AtMost, Limit};

const RUNTIMES: &[&str] = &["rt", "tokio", "smol", "go"];
const WITH_MAY: &[&str] = &["rt", "tokio", "smol", "may", "go"];
const ECHO: &[&str] = &[
    "rt",
    "tokio",
    "tokio_current",
    "smol",
    "raw_1",
    "raw_2",
    "go",
];

fn same(count: u64) -> u64 {
    count
}

fn workers(_: u64) -> u64 {
    WORKERS as u64
}

/// Answers to a ping-pong are one more than the questions.
fn answers(count: u64) -> u64 {
    sum_below(count) + count
}

/// All benches.
pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "spawn_join_external",
        group: "spawn",
        question: "tasks spawned and joined from the plain thread of block_on",
        kind: Kind::Process { sum: sum_below },
        size: Size::new(1_000_000, 50_000),
        seconds: 0.6,
        peers: WITH_MAY,
        rows: &[Row {
            name: "spawn_join_external",
            unit: "ns",
            budgets: &[AtMost(0.6, Best)],
        }],
    },
    Bench {
        name: "spawn_join_internal",
        group: "spawn",
        question: "tasks spawned and joined from inside a task",
        kind: Kind::Process { sum: sum_below },
        size: Size::new(1_000_000, 50_000),
        seconds: 0.6,
        peers: WITH_MAY,
        rows: &[Row {
            name: "spawn_join_internal",
            unit: "ns",
            budgets: &[AtMost(0.5, Best)],
        }],
    },
    Bench {
        name: "chained_spawn",
        group: "spawn",
        question: "each task spawns the next",
        kind: Kind::Process { sum: same },
        size: Size::new(1_000_000, 50_000),
        seconds: 0.6,
        peers: RUNTIMES,
        rows: &[Row {
            name: "chained_spawn",
            unit: "ns",
            budgets: &[AtMost(0.6, Best)],
        }],
    },
    Bench {
        name: "skynet",
        group: "spawn",
        question: "a tree of tasks with a million leaves that report through oneshots",
        kind: Kind::Process { sum: sum_below },
        size: Size::new(1_000_000, 10_000),
        seconds: 1.2,
        peers: RUNTIMES,
        rows: &[Row {
            name: "skynet",
            unit: "ms",
            budgets: &[AtMost(0.6, Best)],
        }],
    },
    Bench {
        name: "yield_1k",
        group: "yield",
        question: "a yield among a thousand tasks that yield",
        kind: Kind::Process { sum: same },
        size: Size::new(5_000_000, 100_000),
        seconds: 0.6,
        peers: WITH_MAY,
        rows: &[Row {
            name: "yield_1k",
            unit: "ns",
            budgets: &[AtMost(1.0, Best)],
        }],
    },
    Bench {
        name: "yield_1",
        group: "yield",
        question: "a yield of a task that is alone",
        kind: Kind::Process { sum: same },
        size: Size::new(10_000_000, 200_000),
        seconds: 2.0,
        peers: WITH_MAY,
        rows: &[Row {
            name: "yield_1",
            unit: "ns",
            budgets: &[AtMost(1.0, Best)],
        }],
    },
    Bench {
        name: "pingpong",
        group: "channels",
        question: "a round trip between two tasks over bounded(1) channels",
        kind: Kind::Process { sum: answers },
        size: Size::new(1_000_000, 50_000),
        seconds: 0.6,
        peers: &[
            "rt",
            "tokio",
            "kanal",
            "flume",
            "async_channel",
            "may",
            "go",
        ],
        rows: &[Row {
            name: "pingpong",
            unit: "ns",
            budgets: &[AtMost(0.6, Best)],
        }],
    },
    Bench {
        name: "mpsc_b1024",
        group: "channels",
        question: "a message of 4 producers to 1 consumer, capacity 1024",
        kind: Kind::Process { sum: sum_below },
        size: Size::new(4_000_000, 200_000),
        seconds: 0.7,
        peers: &["rt", "tokio", "kanal", "flume", "async_channel", "go"],
        rows: &[Row {
            name: "mpsc_b1024",
            unit: "ns",
            budgets: &[AtMost(1.0, Best)],
        }],
    },
    Bench {
        name: "mpsc_unb",
        group: "channels",
        question: "a message of 4 producers to 1 consumer, unbounded",
        kind: Kind::Process { sum: sum_below },
        size: Size::new(4_000_000, 200_000),
        seconds: 0.7,
        peers: &["rt", "tokio", "kanal", "flume", "async_channel", "may"],
        rows: &[Row {
            name: "mpsc_unb",
            unit: "ns",
            budgets: &[AtMost(1.0, Best)],
        }],
    },
    Bench {
        name: "mpmc_b1024",
        group: "channels",
        question: "a message of 4 producers to 4 consumers, capacity 1024",
        kind: Kind::Process { sum: sum_below },
        size: Size::new(4_000_000, 200_000),
        seconds: 0.7,
        peers: &["rt", "kanal", "flume", "async_channel", "go"],
        rows: &[Row {
            name: "mpmc_b1024",
            unit: "ns",
            budgets: &[AtMost(1.0, Best)],
        }],
    },
    Bench {
        name: "timer_cancel",
        group: "timers",
        question: "a sleep that is polled once and dropped, from two tasks",
        kind: Kind::Process { sum: same },
        size: Size::new(5_000_000, 250_000),
        seconds: 2.0,
        peers: RUNTIMES,
        rows: &[Row {
            name: "timer_cancel",
            unit: "ns",
            budgets: &[AtMost(0.5, Best)],
        }],
    },
    Bench {
        name: "timer_mass",
        group: "timers",
        question: "a million tasks that sleep 0.5 to 1.5 s at once: CPU time, bytes a task at the peak",
        kind: Kind::Process { sum: same },
        size: Size::new(1_000_000, 50_000),
        seconds: 3.5,
        peers: RUNTIMES,
        rows: &[
            Row {
                name: "timer_mass",
                unit: "cpu_s",
                budgets: &[AtMost(0.6, Best)],
            },
            Row {
                name: "timer_mass_bytes",
                unit: "B",
                budgets: &[AtMost(0.8, Best)],
            },
        ],
    },
    Bench {
        name: "sleep_100us",
        group: "latency",
        question: "how late a sleep of 100 us ends, median",
        kind: Kind::Process { sum: same },
        size: Size::new(1000, 200),
        seconds: 0.8,
        peers: &["rt", "tokio", "smol", "may", "go", "kernel"],
        rows: &[Row {
            name: "sleep_100us",
            unit: "us",
            budgets: &[AtMost(1.0, Best)],
        }],
    },
    Bench {
        name: "wake_latency",
        group: "latency",
        question: "from a plain thread's wake to the task running in an idle runtime, median",
        kind: Kind::Process { sum: same },
        size: Size::new(1000, 200),
        seconds: 1.4,
        peers: WITH_MAY,
        rows: &[Row {
            name: "wake_latency",
            unit: "us",
            budgets: &[AtMost(1.0, Best)],
        }],
    },
    Bench {
        name: "blocked",
        group: "latency",
        question: "the longest gap between 5 ms ticks while two tasks block both workers for 1 s",
        kind: Kind::Process { sum: workers },
        size: Size::new(1000, 300),
        seconds: 1.3,
        peers: WITH_MAY,
        rows: &[Row {
            name: "blocked",
            unit: "ms",
            budgets: &[Limit(10.0)],
        }],
    },
    Bench {
        name: "memory",
        group: "memory",
        question: "resident memory of a pending task",
        kind: Kind::Process { sum: same },
        size: Size::new(1_000_000, 100_000),
        seconds: 1.0,
        peers: RUNTIMES,
        rows: &[Row {
            name: "memory",
            unit: "B",
            budgets: &[AtMost(1.2, Best)],
        }],
    },
    Bench {
        name: "echo_1",
        group: "echo",
        question: "CPU time of a server for a million 64-byte echoes, 1 connection",
        kind: Kind::Load {
            http: false,
            connections: 1,
        },
        size: Size::new(2000, 300),
        seconds: 2.4,
        peers: ECHO,
        rows: &[Row {
            name: "echo_1",
            unit: "cpu_s",
            budgets: &[AtMost(1.0, Peer("tokio")), AtMost(1.05, Best)],
        }],
    },
    Bench {
        name: "echo_50",
        group: "echo",
        question: "CPU time of a server for a million 64-byte echoes, 50 connections",
        kind: Kind::Load {
            http: false,
            connections: 50,
        },
        size: Size::new(2000, 300),
        seconds: 2.4,
        peers: &[
            "rt",
            "tokio",
            "tokio_current",
            "smol",
            "may",
            "raw_1",
            "raw_2",
            "go",
        ],
        rows: &[Row {
            name: "echo_50",
            unit: "cpu_s",
            budgets: &[AtMost(1.0, Peer("tokio")), AtMost(1.05, Best)],
        }],
    },
    Bench {
        name: "echo_1000",
        group: "echo",
        question: "CPU time of a server for a million 64-byte echoes, 1000 connections",
        kind: Kind::Load {
            http: false,
            connections: 1000,
        },
        size: Size::new(2000, 300),
        seconds: 2.6,
        peers: ECHO,
        rows: &[Row {
            name: "echo_1000",
            unit: "cpu_s",
            budgets: &[AtMost(1.0, Peer("tokio")), AtMost(1.05, Best)],
        }],
    },
    Bench {
        name: "echo_8000",
        group: "echo",
        question: "CPU time of a server for a million 64-byte echoes, 8000 connections",
        kind: Kind::Load {
            http: false,
            connections: 8000,
        },
        size: Size::new(2000, 300),
        seconds: 3.6,
        peers: ECHO,
        rows: &[Row {
            name: "echo_8000",
            unit: "cpu_s",
            budgets: &[AtMost(1.0, Peer("tokio")), AtMost(1.05, Best)],
        }],
    },
    Bench {
        name: "http",
        group: "http",
        question: "CPU time of a server for a million keep-alive requests, 64 connections",
        kind: Kind::Load {
            http: true,
            connections: 64,
        },
        size: Size::new(2000, 300),
        seconds: 2.4,
        peers: &["rt", "tokio", "go"],
        rows: &[Row {
            name: "http",
            unit: "cpu_s",
            budgets: &[AtMost(0.95, Peer("tokio"))],
        }],
    },
    Bench {
        name: "axum",
        group: "http",
        question: "CPU time of an axum server for a million keep-alive requests, 64 connections",
        kind: Kind::Load {
            http: true,
            connections: 64,
        },
        size: Size::new(2000, 300),
        seconds: 2.4,
        peers: &["rt", "tokio"],
        rows: &[Row {
            name: "axum",
            unit: "cpu_s",
            budgets: &[AtMost(0.95, Peer("tokio"))],
        }],
    },
    Bench {
        name: "mixed_inline",
        group: "mixed",
        question: "echo_50 while four computations of 20 ms each are in flight as ordinary tasks: p99, mean, pieces a second",
        kind: Kind::Mixed { connections: 50 },
        size: Size::new(3000, 600),
        seconds: 3.5,
        peers: WITH_MAY,
        rows: &[
            Row {
                name: "mixed_inline",
                unit: "ms",
                budgets: &[AtMost(0.2, Best)],
            },
            Row {
                name: "mixed_inline_mean",
                unit: "ms",
                budgets: &[AtMost(0.2, Best)],
            },
            Row {
                name: "mixed_inline_tasks",
                unit: "tasks/s",
                budgets: &[AtLeast(0.8, Peer("go"))],
            },
        ],
    },
    Bench {
        name: "mixed_cpu",
        group: "mixed",
        question: "the same with the computations where each runtime wants them: p99, mean, pieces a second",
        kind: Kind::Mixed { connections: 50 },
        size: Size::new(3000, 600),
        seconds: 3.5,
        peers: &[
            "rt",
            "tokio_rayon",
            "tokio_blocking",
            "tokio_in_place",
            "smol_blocking",
        ],
        rows: &[
            Row {
                name: "mixed_cpu",
                unit: "ms",
                budgets: &[AtMost(0.5, Best)],
            },
            Row {
                name: "mixed_cpu_mean",
                unit: "ms",
                budgets: &[AtMost(0.5, Best)],
            },
            Row {
                name: "mixed_cpu_tasks",
                unit: "tasks/s",
                budgets: &[AtLeast(0.9, Best)],
            },
        ],
    },
    Bench {
        name: "idle",
        group: "idle",
        question: "10000 silent connections and a timer an hour away: system calls, CPU time, bytes a connection",
        kind: Kind::Idle {
            connections: Size::new(10_000, 1000),
        },
        size: Size::new(5000, 1000),
        seconds: 7.5,
        peers: RUNTIMES,
        rows: &[
            Row {
                name: "idle",
                unit: "syscalls/s",
                budgets: &[Limit(0.0)],
            },
            Row {
                name: "idle_cpu",
                unit: "cpu_ms/s",
                budgets: &[Limit(0.0)],
            },
            Row {
                name: "idle_bytes",
                unit: "B",
                budgets: &[AtMost(0.9, Best)],
            },
        ],
    },
    Bench {
        name: "fs_cached_4k",
        group: "files",
        question: "a cached read of 4 KiB",
        kind: Kind::Files { sum: hot_sum },
        size: Size::new(100_000, 4000),
        seconds: 1.5,
        peers: &["rt", "std", "tokio"],
        rows: &[Row {
            name: "fs_cached_4k",
            unit: "ns",
            budgets: &[AtMost(1.5, Peer("std")), AtMost(0.1, Peer("tokio"))],
        }],
    },
    Bench {
        name: "fs_seq",
        group: "files",
        question: "a pass over a cached file in pieces of 64 KiB, time a GiB",
        kind: Kind::Files {
            sum: sequential_sum,
        },
        size: Size::new(1024, 64),
        seconds: 0.6,
        peers: &["rt", "std", "tokio"],
        rows: &[
            Row {
                name: "fs_seq",
                unit: "ms",
                budgets: &[AtMost(1.1, Peer("std"))],
            },
            Row {
                name: "fs_seq_cpu",
                unit: "cpu_ms",
                budgets: &[AtMost(1.1, Peer("std"))],
            },
        ],
    },
    Bench {
        name: "fs_rand",
        group: "files",
        question: "random reads of 64 KiB that are not cached, 64 in flight",
        kind: Kind::Files { sum: scattered_sum },
        size: Size::new(4096, 256),
        seconds: 0.6,
        peers: &["rt", "std", "tokio"],
        rows: &[Row {
            name: "fs_rand",
            unit: "us",
            budgets: &[AtMost(0.7, Peer("tokio"))],
        }],
    },
];
