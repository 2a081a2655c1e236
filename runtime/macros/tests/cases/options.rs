//! Each wrong option is pointed at. The functions are expanded all the same.

#[rt::main(threads = 4)] //~ unknown option `threads`: known options are `flavor`, `io_threads`
async fn unknown() {}

#[rt::main(worker_threads = 4)] //~ are `io_threads`
async fn of_another_runtime() {}

#[rt::main(
    cpu_threads = 2,
    io_threads = 0, //~ `io_threads` must be a whole number of at least 1
)]
async fn no_threads() {}

#[rt::main(io_threads = "4")] //~ `io_threads` must be a whole number of at least 1
async fn threads_in_quotes() {}

#[rt::main(io_threads = -1)] //~ expected a value
async fn negative() {}

#[rt::main(io_threads)] //~ expected `io_threads = value`
async fn no_value() {}

#[rt::main(io_threads = )] //~ expected `io_threads = value`
async fn half_a_value() {}

#[rt::main(io_threads = 1 cpu_threads = 2)] //~ expected `,` between options
async fn no_comma() {}

#[rt::main("multi_thread")] //~ expected `name = value`
async fn no_name() {}

#[rt::main(flavor = "threaded")] //~ `flavor` must be "current_thread" or "multi_thread"
async fn flavour() {}

#[rt::main(flavor = "multi_thread", flavor = "multi_thread")] //~ option `flavor` is given twice
async fn twice() {}

#[rt::main(start_paused = 1)] //~ `start_paused` must be `true` or `false`
async fn paused() {}

#[rt::main(start_paused = true)] //~ `start_paused` needs `flavor = "current_thread"`
async fn paused_threads() {}

#[rt::main(flavor = "current_thread", io_threads = 2)] //~ `io_threads` needs `flavor = "multi_thread"`
async fn no_workers() {}

#[rt::main(seed = "x")] //~ `seed` must be a whole number below 2^64, or `random`
async fn seed() {}

#[rt::main(crate = rt)] //~ `crate` must be a path in quotes
async fn bare_path() {}

#[rt::main(crate = "a b!")] //~ `crate` must be a path in quotes
async fn no_path() {}

fn main() {
    unknown();
    of_another_runtime();
}
