#!/usr/bin/env bash
# All tests, those in the documentation included. A test that wants a program which is not installed says
# `skipped: `; where ci/setup.sh could have installed it, as root on Debian, that is a failure.
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
timeout 1200 cargo test --workspace --no-fail-fast 2>&1 | tee "$log"
# The features change what is compiled in `rt` alone.
timeout 300 cargo test -q -p rt --no-default-features --lib
if ((EUID == 0)) && command -v apt-get > /dev/null && grep 'skipped: .* is not installed' "$log"; then
    echo "ci/setup.sh should have installed these" >&2
    exit 1
fi
