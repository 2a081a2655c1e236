#!/usr/bin/env bash
# The loom models of the scheduler's, the reactor's and the channels' protocols. Each has its own bound on
# preemptions, with which all of them together take minutes.
#
#   ci/models.sh [FILTER]                      with their own bounds
#   ci/models.sh --preemptions N [FILTER]      with so many, one model at a time, and how long each takes;
#                                              one that takes longer than LIMIT seconds (600) is given up
set -euo pipefail
cd "$(dirname "$0")/.."

crates=(rt-scheduler rt-reactor rt-channel)
export CARGO_TARGET_DIR=${LOOM_TARGET_DIR:-$PWD/target/loom}
export RUSTFLAGS="--cfg loom"
cargo test -q "${crates[@]/#/-p}" --profile model --lib --no-run

if [[ ${1:-} != --preemptions ]]; then
    timeout 400 cargo test -q "${crates[@]/#/-p}" --profile model --lib -- "$@"
    exit
fi

export LOOM_MAX_PREEMPTIONS=${2:?so many preemptions}
filter=${3:-}
limit=${LIMIT:-600}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failed=0
for crate in "${crates[@]}"; do
    binary=$(cargo test -p "$crate" --profile model --lib --no-run 2>&1 | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
    for model in $("$binary" --list | sed -n "/::model::.*$filter/s/: test\$//p"); do
        began=$(date +%s%N)
        status=0
        timeout "$limit" "$binary" --exact "$model" > "$output" 2>&1 || status=$?
        took=$((($(date +%s%N) - began) / 1000000))
        case $status in
            0) said=holds ;;
            124) said="is given up" ;;
            *)
                said=FAILS
                failed=1
                cat "$output"
                ;;
        esac
        printf '%s %s: %s, %d.%03d s\n' "$crate" "$model" "$said" $((took / 1000)) $((took % 1000))
    done
done
exit "$failed"
