#!/usr/bin/env bash
# The benches compile and run: not to judge by, only to see that they do.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo check -q -p rt-benches --benches
cargo build -q -p rt-benches
versus=${CARGO_TARGET_DIR:-target}/debug/versus
"$versus" --list > /dev/null
timeout 120 "$versus" --quick --only spawn_join_internal,echo_50 --peers rt,tokio
