#!/usr/bin/env bash
# Format, lints and documentation, each with warnings as errors: as users build it, without
# features, and as the models build it.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo fmt --all --check
cargo clippy -q --workspace --all-targets -- -D warnings
cargo clippy -q -p rt --no-default-features --all-targets -- -D warnings
cargo clippy -q -p rt --no-default-features --features metrics -- -D warnings
# A workspace of its own, with a flag that cargo finds in its folder.
console=$(realpath -m "${CARGO_TARGET_DIR:-target}")/console
(cd examples/console && cargo fmt --check && CARGO_TARGET_DIR=$console cargo clippy -q -- -D warnings)
CARGO_TARGET_DIR=${LOOM_TARGET_DIR:-$PWD/target/loom} RUSTFLAGS="--cfg loom" \
    cargo clippy -q -p rt-scheduler -p rt-reactor -p rt-channel --profile model --lib --tests -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc -q --workspace --no-deps
RUSTDOCFLAGS="-D warnings" cargo doc -q -p rt --no-deps --no-default-features
echo "no warnings"
