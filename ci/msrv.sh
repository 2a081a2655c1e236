#!/usr/bin/env bash
# Builds what is to be published with the oldest Rust that it promises to work with: `rust-version` in Cargo.toml, or the
# one that is named.
#
#   ci/msrv.sh [VERSION]
set -euo pipefail
cd "$(dirname "$0")/.."

promised=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
version=${1:-$promised}
if ! cargo "+$version" --version > /dev/null 2>&1; then
    rustup toolchain install "$version" --profile minimal --no-self-update
fi
export CARGO_TARGET_DIR=${MSRV_TARGET_DIR:-target/msrv}
# Only what users build: no tests, and so no dependencies of tests.
cargo "+$version" check -q --locked --all-features --ignore-rust-version \
    -p rt -p rt-channel -p rt-axum -p rt-quinn -p rt-tonic
echo "builds with $version"
