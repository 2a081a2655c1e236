#!/usr/bin/env bash
# The tests that drive the most unsafe code, under AddressSanitizer with its leak check: the unit
# tests of the scheduler and the reactor, and of the integration tests these.
set -euo pipefail
cd "$(dirname "$0")/.."

# What is not here counts threads, memory or descriptors, for which the sanitizer's own get in the way,
# or takes too long with it.
tests=(abort endings fs identity join join_set local panics process shutdown signal stdio task_local unhandled)

target=$(rustc -vV | sed -n 's/^host: //p')
installed() {
    cargo +nightly --version >/dev/null 2>&1
}
if ! installed && command -v rustup >/dev/null; then
    rustup toolchain install nightly --profile minimal --no-self-update || true
fi
if ! installed; then
    echo "SKIPPED: AddressSanitizer needs a nightly toolchain, and there is none: rustup toolchain install nightly"
    exit 0
fi

export RUSTFLAGS="-Zsanitizer=address"
export CARGO_TARGET_DIR=${ASAN_TARGET_DIR:-target/asan}
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=1}

# One of these leaks a future on purpose, the other measures the process.
cargo +nightly test -q --target "$target" -p rt-scheduler -p rt-reactor --lib -- \
    --skip a_future_that_was_leaked --skip leave_nothing_behind
# One of these has panic payloads that cannot be dropped.
cargo +nightly test -q --target "$target" -p rt-tests "${tests[@]/#/--test=}" -- \
    --skip a_panic_that_panics_when_it_is_dropped
