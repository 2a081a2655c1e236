//! The terminal, and its keys. A thread of its own asks the runtime, so that keys are heard while it is silent.

use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::client::{Client, Error, Look};
use crate::draw;
use crate::model::Hello;
use crate::view::View;

/// How long a new look may wait for being drawn.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// What the asking thread says.
type News = Result<(Hello, Look), Error>;

/// Shows it until the user has seen enough.
///
/// # Errors
///
/// The terminal's.
pub fn run(client: Client, path: &Path, interval: Duration) -> io::Result<()> {
    let mut view = View::new(client.hello().clone());
    let (send, news) = mpsc::channel();
    let (stay, stop) = mpsc::channel();
    let path = path.to_owned();
    thread::spawn(move || ask(client, &path, interval, &send, &stop));
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, &mut view, &news);
    ratatui::restore();
    drop(stay);
    shown
}

/// Asks, and connects again when the runtime has gone, until `stop` is closed.
fn ask(client: Client, path: &Path, interval: Duration, send: &Sender<News>, stop: &Receiver<()>) {
    let mut connection = Ok(client);
    loop {
        let news = match &mut connection {
            Ok(client) => client.look().map(|look| (client.hello().clone(), look)),
            Err(error) => Err(Error::clone(error)),
        };
        let lost = news.is_err();
        if send.send(news).is_err() {
            return;
        }
        if stop.recv_timeout(interval) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        if lost {
            connection = Client::connect(path);
        }
    }
}

fn show(terminal: &mut DefaultTerminal, view: &mut View, news: &Receiver<News>) -> io::Result<()> {
    loop {
        for news in news.try_iter() {
            match news {
                Ok((hello, look)) => view.update(hello, look),
                Err(error) => view.trouble = Some(error.to_string()),
            }
        }
        terminal.draw(|frame| draw::draw(frame, view))?;
        if !event::poll(KEY_WAIT)? {
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && !press(view, key)
        {
            return Ok(());
        }
    }
}

/// Does what a key asks for. `false` if it is to end.
pub fn press(view: &mut View, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('p' | ' ') => view.paused = !view.paused,
        KeyCode::Char('s') => view.next_sort(),
        KeyCode::Char('t') => {
            view.tree = !view.tree;
            view.above = 0;
        }
        KeyCode::Up | KeyCode::Char('k') => view.scroll(-1),
        KeyCode::Down | KeyCode::Char('j') => view.scroll(1),
        KeyCode::PageUp => view.scroll(-20),
        KeyCode::PageDown => view.scroll(20),
        KeyCode::Home => view.above = 0,
        _ => {}
    }
    true
}
