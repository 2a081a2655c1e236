#!/usr/bin/env bash
# The loom models of the scheduler's, the reactor's and the channels' protocols. Each has its own bound on
# preemptions; LOOM_MAX_PREEMPTIONS sets another for all.
#
#   ci/models.sh [FILTER]
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR=${LOOM_TARGET_DIR:-$PWD/target/loom}
export RUSTFLAGS="--cfg loom"
cargo test -q -p rt-scheduler -p rt-reactor -p rt-channel --profile model --lib --no-run
timeout 400 cargo test -q -p rt-scheduler -p rt-reactor -p rt-channel --profile model --lib -- "$@"
