//! Where tasks' memory comes from: what a thread has freed it uses again, before it asks the
//! allocator.
//!
//! A task that is spawned and ends on the same thread costs the allocator some hundred
//! instructions, a third of all that a small task costs. So a thread that runs futures keeps a
//! *shelf*: lists of freed blocks by size, without locks or atomics. It holds so much at most,
//! gives half of what is above a small stock back whenever its worker goes to sleep, and all of it
//! when the thread stops running futures; other threads have none. A block may come from one thread
//! and end on the shelf of another: to the allocator both are the program.
//!
//! Where many tasks come and none has gone, the allocator's heap has to grow. glibc grows that of any thread but
//! the first by a page at a time: a system call each, which keeps page faults of all threads waiting. So a thread asks
//! for a large piece now and then and gives it back untouched; the next blocks are cut from that. A million
//! sleeping tasks took a sixth more CPU time without it. Other allocators are asked once in hundreds of blocks.
//!
//! Plain cells without destructors, as in `context.rs`.

#![expect(
    unsafe_code,
    reason = "free blocks are linked through their own memory"
)]

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::hint;
use std::ptr;

/// Blocks have sizes of 8 more than a multiple of this: what malloc hands out without a rest.
const STEP: usize = 16;

/// Sizes up to `STEP * (CLASSES - 1) + 8` are kept: beyond that the allocator's share is small.
const CLASSES: usize = 64;

/// The most bytes on one shelf.
const FULL: usize = 256 << 10;

/// So many bytes stay when the worker goes to sleep.
const STOCK: usize = 16 << 10;

/// The piece that the allocator is asked for so that it grows. From 128 KiB on glibc would map it apart, and give a
/// rest of that size back.
const PIECE: Layout = Layout::new::<[u64; 12 << 10]>();

/// So much is taken before the next one.
const TAKEN: usize = 64 << 10;

/// A freed block: the next one of its size.
struct Block {
    next: *mut Block,
}

struct Shelf {
    open: Cell<bool>,
    bytes: Cell<usize>,
    /// How much the allocator has ready, as far as this thread knows.
    ahead: Cell<usize>,
    heads: [Cell<*mut Block>; CLASSES],
}

thread_local! {
    static SHELF: Shelf = const {
        Shelf {
            open: Cell::new(false),
            bytes: Cell::new(0),
            ahead: Cell::new(0),
            heads: [const { Cell::new(ptr::null_mut()) }; CLASSES],
        }
    };
}

/// Which list blocks for `layout` are in; `None`: they are not kept.
#[inline]
const fn class_of(layout: Layout) -> Option<usize> {
    let class = (layout.size() + 7) / STEP;
    if class < CLASSES && layout.align() <= STEP {
        Some(class)
    } else {
        None
    }
}

/// The size and alignment of all blocks of a class.
#[inline]
const fn block(class: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and the size far from overflow.
    unsafe { Layout::from_size_align_unchecked(class * STEP + 8, STEP) }
}

/// Memory for `layout`, which has a size. Aborts as `Box::new` does where there is none.
#[inline]
pub(super) fn allocate(layout: Layout) -> *mut u8 {
    let Some(class) = class_of(layout) else {
        return fresh(layout);
    };
    SHELF.with(|shelf| {
        let head = shelf.heads[class].get();
        if head.is_null() {
            return shelf.fresh(class);
        }
        // SAFETY: a block on the shelf is free memory with its link in it.
        shelf.heads[class].set(unsafe { (*head).next });
        shelf.bytes.set(shelf.bytes.get() - block(class).size());
        head.cast()
    })
}

fn fresh(layout: Layout) -> *mut u8 {
    // SAFETY: by the callers, the layout has a size.
    let memory = unsafe { alloc::alloc(layout) };
    if memory.is_null() {
        alloc::handle_alloc_error(layout);
    }
    memory
}

/// Frees what [`allocate`] gave.
///
/// # Safety
///
/// `memory` came from `allocate(layout)` and is not used any more.
#[inline]
pub(super) unsafe fn free(memory: *mut u8, layout: Layout) {
    let Some(class) = class_of(layout) else {
        // SAFETY: by the caller; a layout without a class was allocated as it is.
        return unsafe { alloc::dealloc(memory, layout) };
    };
    SHELF.with(|shelf| {
        let bytes = shelf.bytes.get() + block(class).size();
        if bytes > FULL || !shelf.open.get() {
            // SAFETY: by the caller; it was allocated as a block of its class.
            return unsafe { alloc::dealloc(memory, block(class)) };
        }
        shelf.bytes.set(bytes);
        let freed: *mut Block = memory.cast();
        let next = shelf.heads[class].replace(freed);
        // SAFETY: the block is free, aligned, and has room for a link.
        unsafe { freed.write(Block { next }) };
    });
}

/// This thread begins to run futures: it keeps what it frees.
pub(crate) fn open_shelf() {
    SHELF.with(|shelf| shelf.open.set(true));
}

/// It stops: all goes back to the allocator.
pub(crate) fn close_shelf() {
    SHELF.with(|shelf| {
        shelf.open.set(false);
        shelf.shrink(0);
    });
}

/// The thread is about to sleep: half of what is above the stock goes back.
#[inline]
pub(crate) fn trim_shelf() {
    SHELF.with(|shelf| {
        let bytes = shelf.bytes.get();
        if bytes > STOCK {
            shelf.shrink(STOCK.max(bytes / 2));
        }
    });
}

impl Shelf {
    /// A block that is not on the shelf.
    fn fresh(&self, class: usize) -> *mut u8 {
        let block = block(class);
        if self.ahead.get() < block.size() {
            self.grow();
        }
        self.ahead.set(self.ahead.get() - block.size());
        fresh(block)
    }

    #[cold]
    fn grow(&self) {
        // Hidden, as both calls could be left out.
        let piece = hint::black_box(fresh(PIECE));
        // SAFETY: just allocated, with this layout.
        unsafe { alloc::dealloc(piece, PIECE) };
        self.ahead.set(TAKEN);
    }

    /// Gives blocks back, the large ones first, until so many bytes are left at most.
    #[cold]
    fn shrink(&self, left: usize) {
        for (class, head) in self.heads.iter().enumerate().rev() {
            let size = block(class).size();
            while self.bytes.get() > left && !head.get().is_null() {
                let freed = head.get();
                // SAFETY: a block on the shelf is free memory with its link in it, and was allocated
                // as a block of its class.
                unsafe {
                    head.set((*freed).next);
                    alloc::dealloc(freed.cast(), block(class));
                }
                self.bytes.set(self.bytes.get() - size);
            }
        }
    }
}

#[cfg(test)]
mod tests;
