//! The helper with tokio's runtime, where it cannot help.

use rt::Runtime;
use rt_tests::{alone, in_child};

#[test]
fn a_forked_child_is_told_that_the_helper_is_not_its_own() {
    alone(|| {
        let runtime = Runtime::builder().tokio_context(true).build().unwrap();
        assert_eq!(runtime.block_on(rt::compat::tokio(async { 1 })), 1);
        in_child(|| {
            let error = Runtime::builder().tokio_context(true).build().unwrap_err();
            assert!(error.to_string().contains("forked"), "{error}");
            let own = Runtime::new().unwrap();
            let told = std::panic::catch_unwind(|| {
                own.block_on(rt::compat::tokio(async { 1 }));
            });
            let panic = told.unwrap_err();
            let text = panic.downcast_ref::<String>().unwrap();
            assert!(text.contains("forked"), "{text}");
        });
        // The parent's goes on.
        assert_eq!(runtime.block_on(rt::compat::tokio(async { 2 })), 2);
    });
}
