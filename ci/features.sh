#!/usr/bin/env bash
# What `rt` pulls in: of `tokio` its traits alone, no runtime; without features nothing of it; and
# the two halves of the engine know nothing of each other.
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

tokio=$(tree -p rt | grep '^tokio v') || fail "the default features should have tokio's traits"
features=${tokio##*[}
features=${features%]}
for feature in ${features//,/ }; do
    case $feature in
        bytes | io-util | sync) ;;
        *) fail "rt pulls in the feature \`$feature\` of tokio: $tokio" ;;
    esac
done
echo "rt: tokio with [$features]"

if tree -p rt --no-default-features | grep -E '^(tokio|futures|tracing)'; then
    fail "rt without features should have nothing of tokio or futures"
fi
echo "rt without features: no tokio"

for pair in rt-scheduler:rt-reactor rt-reactor:rt-scheduler; do
    if tree -p "${pair%:*}" | grep "^${pair#*:} "; then
        fail "${pair%:*} depends on ${pair#*:}"
    fi
done
echo "rt-scheduler and rt-reactor: neither needs the other"
