#!/usr/bin/env bash
# The loom models of the scheduler's and the reactor's protocols.
#
#   ci/models.sh [FILTER]
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR=${LOOM_TARGET_DIR:-$PWD/target/loom}
export RUSTFLAGS="--cfg loom"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
timeout 600 cargo test -q -p rt-scheduler -p rt-reactor --profile model --lib -- "$@"
