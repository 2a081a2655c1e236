#!/usr/bin/env bash
# The tests with the most between threads, under ThreadSanitizer. `std` is built with it as well, since else it would
# not see what std's locks, channels and counts order: the nightly toolchain needs its component rust-src.
#
#   ci/tsan.sh               the unit tests of the channels, the scheduler and the reactor, and integration tests
#   ci/tsan.sh stress 600    the mixed stress test, for so many seconds
#
# `ci/tsan.supp` has what is reported and is no fault. That is told by the names of functions, so llvm-symbolizer is
# needed. No step of `.ci/run`: building all of it anew takes longer than what it runs.
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
    echo "SKIPPED: ThreadSanitizer needs llvm-symbolizer to know what is suppressed"
    exit 0
fi

export RUSTFLAGS="-Zsanitizer=thread"
export CARGO_TARGET_DIR=${TSAN_TARGET_DIR:-target/tsan}
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
# Those of hundreds of panics would be most of the time.
export RUST_BACKTRACE=0
suppressions=$PWD/ci/tsan.supp
build=(cargo +nightly test -q -Zbuild-std --target "$target")

# A million timers take longer than the watchdog allows.
all() {
    export TSAN_OPTIONS="suppressions=$suppressions"
    "${build[@]}" -p rt-channel -p rt-scheduler -p rt-reactor --lib
    "${build[@]}" -p rt-tests "${tests[@]/#/--test=}" -- --skip a_million
}

# The frames next to the accesses of each report, one report a line. One that is not of two accesses has none.
accesses() {
    awk '
        /^WARNING: ThreadSanitizer/ { if (reports++) print frames; frames = "report"; inside = 0 }
        / of size [0-9]+ at 0x[0-9a-f]+ by / { inside = 1; next }
        /^$/ { inside = 0 }
        inside && /^ *#[0-3] / && match($0, /\+0x[0-9a-f]+\)/) { frames = frames " " substr($0, RSTART + 1, RLENGTH - 2) }
        END { if (reports) print frames }
    ' "$1"
}

# The test counts its descriptors, of which a symbolizer beside it takes some: what is suppressed is found out afterwards.
stress() {
    local work binary reports=0 faults=0 frames
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    binary=$("${build[@]/-q/}" -p rt-tests --test stress --no-run 2>&1 | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
    sed -n 's/^race://p' "$suppressions" > "$work/known"
    (cd tests && TSAN_OPTIONS="symbolize=0:exitcode=0" RT_STRESS_SECONDS=$1 "$binary" --nocapture) 2>&1 | tee "$work/log"
    while read -r _ frames; do
        reports=$((reports + 1))
        # shellcheck disable=SC2086 # they are several
        if ! llvm-symbolizer --exe "$binary" $frames < /dev/null | grep -F -f "$work/known" > /dev/null; then
            faults=$((faults + 1))
            llvm-symbolizer --exe "$binary" $frames < /dev/null
        fi
    done < <(accesses "$work/log")
    echo "$reports reports of ThreadSanitizer, $faults of which ci/tsan.supp does not know"
    ((faults == 0))
}

if [[ ${1:-} == stress ]]; then
    stress "${2:-60}"
else
    all
fi
