//! `versus`: the same work on `rt` and on its peers, judged by the budgets of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    rt_benches::versus()
}
