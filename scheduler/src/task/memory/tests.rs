//! Blocks come back, sizes do not mix, and a shelf gives up what it does not need.

use super::*;

fn held() -> usize {
    SHELF.with(|shelf| shelf.bytes.get())
}

/// Runs `f` on a thread of its own that runs futures.
fn with_shelf(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        open_shelf();
        f();
        close_shelf();
        assert_eq!(held(), 0);
    });
    thread.join().unwrap();
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

#[test]
fn what_was_freed_is_used_again() {
    with_shelf(|| {
        let first = allocate(layout(88));
        // SAFETY: allocated just above, with this layout.
        unsafe { free(first, layout(88)) };
        assert_eq!(held(), 88);
        let other_size = allocate(layout(89));
        assert_ne!(other_size, first);
        assert_eq!(allocate(layout(81)), first);
        // SAFETY: as above.
        unsafe {
            free(first, layout(81));
            free(other_size, layout(89));
        }
        assert_eq!(held(), 88 + 104);
    });
}

#[test]
fn every_size_and_alignment_is_served() {
    with_shelf(|| {
        for round in 0..3 {
            let blocks: Vec<_> = (1..=2000)
                .step_by(7)
                .flat_map(|size| [1, 8, 16, 64, 4096].map(|align| (size, align)))
                .map(|(size, align)| {
                    let layout = Layout::from_size_align(size, align).unwrap();
                    let memory = allocate(layout);
                    assert!(memory.addr().is_multiple_of(align));
                    // SAFETY: the block has this size.
                    unsafe { memory.write_bytes(round, size) };
                    (memory, layout)
                })
                .collect();
            for (memory, layout) in blocks {
                // SAFETY: allocated above, with this layout.
                unsafe {
                    assert_eq!(memory.add(layout.size() - 1).read(), round);
                    free(memory, layout);
                }
            }
        }
    });
}

#[test]
fn a_shelf_has_an_end_and_shrinks() {
    with_shelf(|| {
        let blocks: Vec<_> = (0..10_000).map(|_| allocate(layout(100))).collect();
        for block in blocks {
            // SAFETY: allocated above, with this layout.
            unsafe { free(block, layout(100)) };
        }
        assert!(held() <= FULL && held() > FULL / 2);
        let full = held();
        trim_shelf();
        assert!(held() <= full / 2);
        for _ in 0..10 {
            trim_shelf();
        }
        assert!(held() <= STOCK);
    });
}

#[test]
fn a_thread_that_runs_no_futures_keeps_nothing() {
    let block = allocate(layout(100));
    // SAFETY: allocated above, with this layout.
    unsafe { free(block, layout(100)) };
    assert_eq!(held(), 0);
}

#[test]
fn the_allocator_is_asked_for_a_piece_once_in_many_blocks() {
    with_shelf(|| {
        let ahead = || SHELF.with(|shelf| shelf.ahead.get());
        let first = allocate(layout(88));
        assert_eq!(ahead(), TAKEN - 88);
        // SAFETY: allocated just above, with this layout.
        unsafe { free(first, layout(88)) };
        assert_eq!(allocate(layout(88)), first);
        assert_eq!(ahead(), TAKEN - 88, "what comes off the shelf is no growth");
        let others: Vec<_> = (1..TAKEN / 88).map(|_| allocate(layout(88))).collect();
        assert_eq!(ahead(), TAKEN % 88);
        let last = allocate(layout(88));
        assert_eq!(ahead(), TAKEN - 88);
        for block in [first, last].into_iter().chain(others) {
            // SAFETY: allocated above, with this layout.
            unsafe { free(block, layout(88)) };
        }
    });
}
