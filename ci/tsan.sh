#!/usr/bin/env bash
# The tests with the most between threads, under ThreadSanitizer. `std` is built with it as well, since else it would
# not see what std's locks, channels and counts order: the nightly toolchain needs its component rust-src.
#
#   ci/tsan.sh               the unit tests of the channels, the scheduler and the reactor, and integration tests
#   ci/tsan.sh stress 600    the mixed stress test, for so many seconds
#
# What `ci/tsan.supp` names is no fault; llvm-symbolizer is needed to see it. No step of `.ci/run`: building all of it anew
# takes longer than what it runs.
set -euo pipefail
cd "$(dirname "$0")/.."

# Not here: signals, forks, small stacks, and what is about memory or about one thread. tests/README.md says why.
tests=(abort blocking channels endings identity join join_set limited local panics run_on scopes shutdown spawn stdio task_local tcp timers unhandled unix)

target=$(rustc -vV | sed -n 's/^host: //p')
if ! sysroot=$(rustc +nightly --print sysroot 2>/dev/null) || [[ ! -e $sysroot/lib/rustlib/src/rust/library/Cargo.lock ]]; then
    echo "SKIPPED: ThreadSanitizer needs a nightly toolchain with the sources of std: rustup component add rust-src --toolchain nightly"
    exit 0
fi
if ! command -v llvm-symbolizer >/dev/null; then
    echo "SKIPPED: ThreadSanitizer needs llvm-symbolizer to tell what is no fault"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RUSTFLAGS="-Zsanitizer=thread"
export CARGO_TARGET_DIR=${TSAN_TARGET_DIR:-$PWD/target/tsan}
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
# Those of hundreds of panics would take most of the time.
export RUST_BACKTRACE=0
build=(cargo +nightly test -q -Zbuild-std --target "$target")

# Two of these count descriptors, of which a symbolizer takes some; a million timers take longer than the watchdog allows.
run_tests() {
    export TSAN_OPTIONS="suppressions=$PWD/ci/tsan.supp"
    "${build[@]}" -p rt-channel -p rt-scheduler -p rt-reactor --lib
    "${build[@]}" -p rt-tests "${tests[@]/#/--test=}" -- \
        --skip a_dispatcher_that_outlives_its_runtimes --skip a_thousand_connections_at_once --skip a_million
}

# The program and the frames next to the accesses of each report, one report a line. One that is of no accesses has none.
accesses() {
    awk '
        function tell() { if (reports++) print program frames }
        /^WARNING: ThreadSanitizer/ { tell(); program = "-"; frames = ""; inside = 0 }
        / of size [0-9]+ at 0x[0-9a-f]+ by / { inside = 1; next }
        /^$/ { inside = 0 }
        inside && /^ *#[0-3] / && match($0, /\([^ ()]*\+0x[0-9a-f]+\)/) {
            split(substr($0, RSTART + 1, RLENGTH - 2), place, "+")
            program = place[1]
            frames = frames " " place[2]
        }
        END { tell() }
    ' "$@"
}

# It counts descriptors all the time, so there is no symbolizer beside it: what was reported is looked up afterwards.
stress() {
    local program frames reports=0 faults=0 status=0
    export TSAN_OPTIONS="symbolize=0:exitcode=0"
    RT_STRESS_SECONDS=$1 "${build[@]}" -p rt-tests --test stress -- --nocapture 2>&1 | tee "$work/log" || status=$?
    sed -n 's/^race://p' ci/tsan.supp > "$work/known"
    while read -r program frames; do
        reports=$((reports + 1))
        # shellcheck disable=SC2086 # they are several
        llvm-symbolizer --exe "$CARGO_TARGET_DIR/$target/debug/deps/$program" $frames < /dev/null > "$work/frames" || true
        if ! grep -q -F -f "$work/known" "$work/frames"; then
            faults=$((faults + 1))
            cat "$work/frames"
        fi
    done < <(accesses "$work/log")
    echo "ThreadSanitizer has reported $reports times; not known: $faults"
    ((status == 0 && faults == 0))
}

if [[ ${1:-} == stress ]]; then
    stress "${2:-60}"
else
    run_tests
fi
