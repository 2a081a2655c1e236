#!/usr/bin/env bash
# All tests, those in the documentation included.
#
#   ci/test.sh              run them
#   ci/test.sh --results    the results of the last run
set -euo pipefail
cd "$(dirname "$0")/.."

log=${CARGO_TARGET_DIR:-target}/test.log
if [[ ${1:-} == --results ]]; then
    grep -E '^ *(Running|Doc-tests)|^test result:' "$log"
    exit
fi
mkdir -p "$(dirname "$log")"
timeout 900 cargo test --workspace --no-fail-fast 2>&1 | tee "$log"
# The features change what is compiled in `rt` alone.
timeout 300 cargo test -q -p rt --no-default-features --lib
