//! The children of `versus`: this executable again, told to be one peer in one bench, or the load.

use std::io;

use crate::control;
use crate::load::{self, Plan};
use crate::peers;
use crate::sys;

/// Runs a workload, says its result, and stays to be looked at until the input ends.
pub(crate) fn work(bench: &str, peer: &str, size: u64) -> Result<(), String> {
    let work = peers::work(bench, peer).ok_or(format!("{peer} has no {bench}"))?;
    let measured = work(size);
    control::result(measured.sum, &measured.values);
    while control::next_line().is_some() {}
    Ok(())
}

/// Serves until the input ends.
pub(crate) fn serve(bench: &str, peer: &str, core: Option<usize>) -> Result<(), String> {
    let server = peers::server(bench, peer).ok_or(format!("{peer} has no {bench}"))?;
    control::answer_in_background();
    let serve = || -> io::Result<()> {
        core.map_or(Ok(()), sys::pin_to)?;
        sys::raise_open_files()?;
        server(sys::listen()?)
    };
    serve().map_err(|error| error.to_string())
}

/// Puts a server under load.
pub(crate) fn load(plan: &Plan, core: Option<usize>) -> Result<(), String> {
    core.map_or(Ok(()), sys::pin_to)
        .and_then(|()| load::run(plan))
        .map_err(|error| format!("load: {error}"))
}
