#[rt::main]
async fn main() -> impl std::process::Termination {
    assert_eq!(rt::calls(), "");
    std::process::ExitCode::SUCCESS
}
