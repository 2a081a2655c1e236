#!/usr/bin/env bash
# The public API of the crates that programs name, as it is checked in under `api/`, beside what the sources have. A
# change of it is then something that a reader of the change sees.
#
#   ci/api.sh              compare
#   ci/api.sh --update     write what the sources have
#
# Needs a nightly toolchain and cargo-public-api, whose version goes with the nightly:
#   cargo install cargo-public-api --locked --version 0.52.0
set -euo pipefail
cd "$(dirname "$0")/.."

crates=(rt rt-channel rt-axum rt-quinn rt-tonic)

if ! cargo public-api --version > /dev/null 2>&1; then
    echo "SKIPPED: cargo-public-api is not installed: cargo install cargo-public-api --locked --version 0.52.0"
    exit 0
fi
export CARGO_TARGET_DIR=${API_TARGET_DIR:-target/api}
mkdir -p "$CARGO_TARGET_DIR"
changed=0
for crate in "${crates[@]}"; do
    # Without what every type has: blanket, automatic and derived implementations.
    listing=$(cargo public-api -p "$crate" --all-features -sss 2> "$CARGO_TARGET_DIR/api.err") || {
        cat "$CARGO_TARGET_DIR/api.err" >&2
        exit 1
    }
    if [[ ${1:-} == --update ]]; then
        printf '%s\n' "$listing" > "api/$crate.txt"
    elif ! diff -u "api/$crate.txt" - <<< "$listing"; then
        changed=1
    fi
done
if ((changed)); then
    echo "the public API is another than api/ says; if that is meant: ci/api.sh --update" >&2
    exit 1
fi
echo "api/: as listed"
