//! Doc comments, attributes and inner attributes are kept; `?` works.
#![deny(warnings)]

/// The program.
#[rt::main(io_threads = 4, cpu_threads = 0x2)]
#[allow(clippy::large_futures)]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    #![allow(unused_variables)]
    let unused = 1;
    assert_eq!(rt::calls(), "io_threads(4) cpu_threads(2)");
    let number: u32 = "7".parse()?;
    assert_eq!(std::future::ready(number).await, 7);
    Ok(())
}
