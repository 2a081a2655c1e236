//! Reading the files of `/proc`, on lines written for the purpose and on this process.

use super::{Machine, Others, Usage, cpu_seconds, field, machine, threads};

#[test]
fn cpu_time_is_found_behind_a_name_with_spaces_and_parentheses() {
    let line = "42 (a) b (c) S 1 42 42 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 3 0 100 0 0";
    assert_eq!(cpu_seconds(line), Some(3.0));
}

#[test]
fn a_truncated_stat_line_is_refused() {
    assert_eq!(cpu_seconds("42 (a) S 1"), None);
    assert_eq!(cpu_seconds(""), None);
}

#[test]
fn a_status_field_is_not_mistaken_for_one_that_ends_alike() {
    let text = "VmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nvoluntary_ctxt_switches:\t7\n\
                nonvoluntary_ctxt_switches:\t9\n";
    assert_eq!(field(text, "VmRSS"), Some(1024));
    assert_eq!(field(text, "voluntary_ctxt_switches"), Some(7));
    assert_eq!(field(text, "VmSwap"), None);
}

#[test]
fn interrupts_count_as_time_but_not_as_anybodys_work() {
    let now = machine("cpu  100 10 50 800 20 5 15 40 0 0\ncpu0 1 1\n").expect("a whole line");
    assert_eq!(
        now,
        Machine {
            busy: 2.0,
            all: 10.4
        }
    );
}

#[test]
fn the_share_of_others_leaves_out_our_own_seconds() {
    let before = Machine {
        busy: 10.0,
        all: 100.0,
    };
    let after = Machine {
        busy: 14.0,
        all: 110.0,
    };
    let share = |ours| Others::share([after.others_since(&before, ours)].into_iter());
    assert!((share(3.0) - 0.1).abs() < 1e-9);
    assert!(share(9.0).abs() < 1e-9);
}

#[test]
fn runs_are_added_up_before_others_are_judged() {
    let run = |seconds| Others { seconds, of: 2.0 };
    let share = Others::share([run(0.5), run(-0.1), run(0.0)].into_iter());
    assert!((share - 0.4 / 6.0).abs() < 1e-9);
    assert!(Others::share([].into_iter()).abs() < 1e-9);
}

#[test]
fn this_process_has_a_thread_and_memory() {
    let usage = Usage::own();
    assert!(usage.rss_bytes > 0 && usage.peak_bytes >= usage.rss_bytes / 2);
    assert!(threads(std::process::id()).contains(&std::process::id()));
}
