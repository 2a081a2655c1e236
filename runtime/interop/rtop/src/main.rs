//! `rtop PATH` shows a runtime live; `rtop --once PATH` prints one look and ends.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use rtop::client::Client;
use rtop::view::View;
use rtop::{draw, live};

const USAGE: &str = "\
usage: rtop [--once | --record FILE] [--interval SECONDS] PATH

Shows what a program on the `rt` runtime does that has called
`rt::runtime::Builder::inspect(PATH)`.

  --once              print one look, with the rates of one interval, and end
  --record FILE       write what the threads have done in the last interval, for
                      ui.perfetto.dev, and end; the program has called
                      `Builder::record`
  --interval SECONDS  the time between two looks; default: 1
  -h, --help          print this

keys: q quit, p pause, s sort, t tree, arrows, PgUp, PgDn and Home scroll";

struct Options {
    path: PathBuf,
    what: What,
    interval: Duration,
}

enum What {
    Live,
    Once,
    Record(PathBuf),
}

fn main() -> ExitCode {
    let options = match parse(std::env::args_os().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(mistake) => {
            eprintln!("rtop: {mistake}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rtop: {message}");
            ExitCode::FAILURE
        }
    }
}

/// `None` if only help is wanted.
fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Option<Options>, String> {
    let (mut path, mut what, mut interval) = (None, What::Live, Duration::from_secs(1));
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("-h" | "--help") => return Ok(None),
            Some("--once") => what = What::Once,
            Some("--record") => {
                let file = args.next().ok_or("`--record` wants a file")?;
                what = What::Record(PathBuf::from(file));
            }
            Some("--interval") => {
                let seconds = args.next().unwrap_or_default();
                interval =
                    parse_interval(&seconds).ok_or("`--interval` wants seconds, 0.05 at least")?;
            }
            Some(option) if option.starts_with("--") => {
                return Err(format!("there is no option `{option}`"));
            }
            _ if path.is_some() => return Err("one path, please".to_owned()),
            _ => path = Some(PathBuf::from(arg)),
        }
    }
    let path = path.ok_or("which path?")?;
    Ok(Some(Options {
        path,
        what,
        interval,
    }))
}

fn parse_interval(text: &OsString) -> Option<Duration> {
    let seconds = text.to_str()?.parse::<f64>().ok()?;
    let interval = Duration::try_from_secs_f64(seconds).ok()?;
    (interval >= Duration::from_millis(50)).then_some(interval)
}

fn run(options: &Options) -> Result<(), String> {
    let client = Client::connect(&options.path).map_err(|error| error.to_string())?;
    match &options.what {
        What::Once => once(client, options.interval),
        What::Record(file) => record(client, options.interval, file),
        What::Live => live(client, options),
    }
}

fn live(client: Client, options: &Options) -> Result<(), String> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err("there is no terminal to draw on; `--once` needs none".to_owned());
    }
    let shown = live::run(client, &options.path, options.interval);
    shown.map_err(|error| format!("the terminal: {error}"))
}

fn record(mut client: Client, time: Duration, file: &Path) -> Result<(), String> {
    let recording = client.recording(time).map_err(|error| error.to_string())?;
    let written = fs::write(file, recording);
    written.map_err(|error| format!("{}: {error}", file.display()))
}

fn once(mut client: Client, interval: Duration) -> Result<(), String> {
    let mut view = View::new(client.hello().clone());
    let (_never, wait) = mpsc::channel::<()>();
    for look in 0..2 {
        if look > 0 {
            // Rates need two looks.
            let _over = wait.recv_timeout(interval);
        }
        let look = client.look().map_err(|error| error.to_string())?;
        view.update(client.hello().clone(), look);
    }
    let written = io::stdout().lock().write_all(draw::text(&view).as_bytes());
    match written {
        // Who reads has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| error.to_string()),
    }
}
