//! The Mandelbrot set as a picture: rows are computed by tasks on the CPU pool, while a monitor on the IO pool
//! collects them and shows how far they are.
//!
//! ```text
//! cargo run --release -p rt-examples --example mandelbrot [FILE [WIDTH HEIGHT]]
//! ```
//!
//! Three channels: rows go through `done` to the monitor, which selects over it and a ticker; the picture comes back
//! through `finish`. Should a row be lost, `done` closes early and the monitor says so.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use rt::Dispatcher;
use rt::channel::{Receiver, bounded, oneshot};
use rt::time::interval;

/// Where a point is said to be in the set.
const MAX_STEPS: u32 = 500;

#[derive(Clone, Copy)]
struct Size {
    width: usize,
    height: usize,
}

struct Row {
    number: usize,
    pixels: Vec<u8>,
}

#[rt::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize, default: usize| match arguments.get(at) {
        Some(text) => text.parse(),
        None => Ok(default),
    };
    let file = arguments.first().map_or("mandelbrot.png", String::as_str);
    let size = Size {
        width: number(1, 1200)?.max(1),
        height: number(2, 800)?.max(1),
    };

    let (done, rows) = bounded(16);
    let (finish, finished) = oneshot();
    rt::spawn(async move {
        // Nobody waits for the picture if this program is being stopped.
        let _ = finish.send(monitor(size, rows).await);
    });
    for number in 0..size.height {
        let done = done.clone();
        rt::spawn_on(Dispatcher::Cpu, async move {
            let pixels = compute(size, number);
            // As above.
            let _ = done.send(Row { number, pixels }).await;
        });
    }
    drop(done);

    let picture = finished.await?.ok_or("a row is missing")?;
    write(file, size, &picture)?;
    println!("{file}: {} x {}", size.width, size.height);
    Ok(())
}

/// Puts the rows where they belong, and says how many have come. `None` if some never come.
async fn monitor(size: Size, rows: Receiver<Row>) -> Option<Vec<u8>> {
    let mut picture = vec![0; size.width * size.height];
    let mut ticks = interval(Duration::from_millis(50));
    let mut have = 0;
    while have < size.height {
        rt::select! {
            row = rows.recv() => {
                let Row { number, pixels } = row?;
                picture[number * size.width..][..size.width].copy_from_slice(&pixels);
                have += 1;
            }
            _ = ticks.tick() => show(have, size.height),
        }
    }
    show(have, size.height);
    eprintln!();
    Some(picture)
}

/// The progress bar. What cannot be shown is not.
fn show(have: usize, all: usize) {
    const WIDTH: usize = 50;
    let full = have * WIDTH / all;
    let bar = "#".repeat(full) + &" ".repeat(WIDTH - full);
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "\r[{bar}] {have}/{all}");
    let _ = stderr.flush();
}

/// One row of pixels: bright where it takes long to leave, black where it never does.
fn compute(size: Size, row: usize) -> Vec<u8> {
    let scale = 3.0 / float(size.width);
    let im = (float(row) - float(size.height) / 2.0) * scale;
    let pixel = |column: usize| {
        let re = (float(column) - float(size.width) * 0.7) * scale;
        match steps(re, im) {
            MAX_STEPS => 0,
            steps => brightness(steps),
        }
    };
    (0..size.width).map(pixel).collect()
}

/// Sizes of pictures are small numbers.
fn float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[expect(clippy::cast_sign_loss, reason = "it is between 0 and 255")]
fn brightness(steps: u32) -> u8 {
    ((f64::from(steps) / f64::from(MAX_STEPS)).powf(0.3) * 255.0) as u8
}

fn steps(re: f64, im: f64) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..MAX_STEPS {
        if x * x + y * y > 4.0 {
            return step;
        }
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
    }
    MAX_STEPS
}

fn write(file: &str, size: Size, picture: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
    let file = BufWriter::new(File::create(file)?);
    let mut encoder = png::Encoder::new(
        file,
        u32::try_from(size.width)?,
        u32::try_from(size.height)?,
    );
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(picture)?;
    writer.finish()?;
    Ok(())
}
