#!/usr/bin/env bash
# What `rt` and its covers pull in: of `tokio` its traits alone, no runtime, unless `tokio-context` is on; without
# features nothing of it; and the two halves of the engine know nothing of each other.
set -euo pipefail
cd "$(dirname "$0")/.."

# Each package of the tree with its features, as `name vX [a,b]`.
tree() {
    cargo tree -q -e normal --prefix none -f '{p} [{f}]' "$@" | sed 's/ (\*)$//' | sort -u
}

fail() {
    echo "$1" >&2
    exit 1
}

# Says which features of tokio are in the tree of the arguments; none may be of its runtime.
traits_only() {
    local tokio features feature
    tokio=$(tree "$@" | grep '^tokio v') || fail "${*: -1}: there should be tokio's traits"
    features=$(sed 's/.*\[//; s/\]$//; y/,/\n/' <<< "$tokio" | sort -u)
    for feature in $features; do
        case $feature in
            bytes | default | io-util | sync) ;;
            *) fail "${*: -1}: pulls in the feature \`$feature\` of tokio" ;;
        esac
    done
    echo "${*: -1}: tokio with [${features//$'\n'/,}]"
}

traits_only -p rt
traits_only -p rt --features tracing
for cover in runtime/interop/*/Cargo.toml; do
    # `rtop` is no cover: it looks at a runtime from outside.
    [[ $cover != */rtop/* ]] || continue
    traits_only -p "$(sed -n 's/^name = "\(.*\)"/\1/p' "$cover")"
done

# The one feature that is there for tokio's runtime.
tree -p rt --features tokio-context | grep -qE '^tokio v.*[[,]rt[],]' || fail "\`tokio-context\` should have tokio's runtime"

if tree -p rt --no-default-features | grep -E '^(tokio|futures|tracing)'; then
    fail "rt without features should have nothing of tokio or futures"
fi
echo "rt without features: no tokio"
# The facade alone, no exporter with a runtime of its own.
if tree -p rt --no-default-features --features metrics | grep -E '^(tokio|hyper|futures|metrics-)'; then
    fail "\`metrics\` should have the facade alone"
fi

for pair in rt-scheduler:rt-reactor rt-reactor:rt-scheduler; do
    if tree -p "${pair%:*}" | grep "^${pair#*:} "; then
        fail "${pair%:*} depends on ${pair#*:}"
    fi
done
echo "rt-scheduler and rt-reactor: neither needs the other"
