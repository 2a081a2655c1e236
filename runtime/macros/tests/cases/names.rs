//! Names that are not found are pointed at where the user wrote them.

#[rt::main]
async fn unknown_name() {
    missing(); //~ cannot find function `missing`
}

#[rt::main(crate = "::nowhere")] //~ cannot find `nowhere`
async fn missing_crate() {}

fn main() {}
