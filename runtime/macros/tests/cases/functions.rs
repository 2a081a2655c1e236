//! Each function that cannot be a main is pointed at.

#[rt::main]
fn not_async() {} //~ `async` is missing: `#[rt::main]` takes an `async fn`

#[rt::main]
async fn arguments(
    n: u32, //~ a function with `#[rt::main]` takes no arguments
) {
}

#[rt::main]
async fn generic<T>() {} //~ a function with `#[rt::main]` cannot be generic

#[rt::main]
async fn bounded()
where //~ cannot have a `where` clause
    u8: Copy,
{
}

#[rt::main]
async unsafe fn not_safe() {} //~ a function with `#[rt::main]` cannot be `unsafe`

#[rt::main]
struct NotAFunction; //~ `#[rt::main]` takes an `async fn`

#[rt::main]
async fn main(arguments: Vec<String>) {} //~ a function with `#[rt::main]` takes no arguments
