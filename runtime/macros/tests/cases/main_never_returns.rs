#[rt::main(flavor = "current_thread", start_paused = true, seed = 0xffff_ffff_ffff_ffff)]
async fn main() -> ! {
    assert_eq!(rt::calls(), "current_thread start_paused(true) seed(18446744073709551615)");
    std::process::exit(0)
}
