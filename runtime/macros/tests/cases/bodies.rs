//! Errors in a body and in a return type are the compiler's own, at the user's tokens.

#[rt::main]
async fn wrong_tail() -> u32 {
    "text" //~ mismatched types
}

#[rt::main]
async fn unit_body() -> Result<(), String> { //~ mismatched types
    let _ = 1;
}

#[rt::main]
async fn wrong_question() -> Result<(), String> {
    std::fs::read("x")?; //~ `?` couldn't convert the error to `String`
    Ok(())
}

fn main() {}
