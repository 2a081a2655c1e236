//! What is drawn, cell by cell, of a runtime that stands still.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rtop::client::Look;
use rtop::draw;
use rtop::live::press;
use rtop::model::{Dump, Hello, Metrics};
use rtop::view::{Sort, View};
use serde_json::{Value, json};

fn worker(polls: u64, busy_millis: u64) -> Value {
    let busy = json!({"secs": busy_millis / 1000, "nanos": busy_millis % 1000 * 1_000_000});
    json!({"polls": polls, "steals": polls / 100, "parks": 7, "busy": busy, "stalls": 1})
}

/// A look at the second `at`, and the older the busier.
fn look(at: u32) -> Look {
    let so_far = u64::from(at);
    let metrics: Metrics = serde_json::from_value(json!({
        "io_threads": 2, "cpu_threads": 1, "live_tasks": 1_234_567,
        "spawned_tasks": 2_000_000 + 50 * so_far, "stalls": 2, "spare_workers_started": 1,
        "io_workers": [worker(1000 * so_far, 250 * so_far), worker(3, 0), worker(10 * so_far, 0)],
        "cpu_workers": [worker(20 * so_far, 990 * so_far)],
        "blocking_threads": 4, "idle_blocking_threads": 1, "blocking_jobs": {"queued": 12},
        "reactor_polls": 100 * so_far, "live_sources": 3, "a_later_release": [1, 2, 3],
    }))
    .unwrap();
    let here = "/home/somebody/service/src/main.rs:31:9";
    let dump: Dump = serde_json::from_value(json!({
        "tasks": [
            {"id": 1, "name": "accept", "location": here, "pool": "io", "state": "idle",
             "polls": 90 * so_far, "busy": 0.25 * f64::from(at), "idle": 0.004,
             "waits_for": {"Readable": {"fd": 9}}, "and_others": true},
            {"id": 2, "name": "report", "location": here, "pool": "io", "state": "running",
             "polls": 2, "worker": 1, "running_for": 4.5, "blocked_in": "blocks in futex"},
            {"id": 3, "name": null, "location": "src/sums.rs:7:1", "pool": "cpu", "state": "running",
             "polls": 20 * so_far, "busy": 0.99 * f64::from(at), "worker": 0, "scope": 77},
            {"id": 4, "name": "child", "location": "src/sums.rs:9:1", "pool": "io", "state": "idle",
             "polls": 1, "idle": 3700.0, "waits_for": {"Join": {"task": 1}}, "scope": 78},
            {"id": 5, "name": "waits", "location": here, "pool": "io", "state": "idle",
             "polls": 1, "idle": 120.0, "waits_for": {"Telepathy": {"with": 3}}},
        ],
        "scopes": [
            {"id": 77, "name": "sums", "kind": "scope", "parent": null, "opened_in": 1,
             "children": 1, "deadline": 2.5, "cancelled": false},
            {"id": 78, "name": null, "kind": "supervisor", "parent": 77, "opened_in": 3,
             "children": 1, "deadline": null, "cancelled": true},
        ],
        "unlisted": 5,
    }))
    .unwrap();
    Look {
        at: f64::from(at),
        metrics,
        dump,
        left_out: 42,
    }
}

fn hello() -> Hello {
    Hello {
        rt_inspect: 1,
        process: 4711,
        runtime: "rt".to_owned(),
    }
}

fn seen() -> View {
    let mut view = View::new(hello());
    view.update(hello(), look(10));
    view.update(hello(), look(12));
    view
}

fn press_char(view: &mut View, key: char) -> bool {
    press(view, KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE))
}

/// The cells of a terminal of this size.
fn drawn(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, view)).unwrap();
    let cells = terminal.backend().buffer().content();
    let rows = cells.chunks(usize::from(width)).map(|row| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        format!("{}\n", line.trim_end())
    });
    rows.collect()
}

/// Compares with a file of this folder, which is written anew if `RTOP_SNAPSHOTS` is set.
#[track_caller]
fn assert_drawn(file: &str, drawn: &str) {
    let path = format!("{}/tests/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("RTOP_SNAPSHOTS").is_some() {
        std::fs::write(&path, drawn).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    assert!(wanted == drawn, "{file} is not what is drawn:\n{drawn}");
}

#[test]
fn the_busiest_come_first() {
    assert_drawn("busiest.txt", &drawn(&seen(), 150, 26));
}

#[test]
fn scopes_are_a_tree() {
    let mut view = seen();
    assert!(press_char(&mut view, 't'));
    assert_drawn("tree.txt", &drawn(&view, 150, 26));
}

#[test]
fn before_the_second_look_there_are_no_rates() {
    let mut view = View::new(hello());
    view.update(hello(), look(10));
    view.trouble = Some("the runtime has ended".to_owned());
    assert_drawn("first.txt", &drawn(&view, 120, 24));
}

#[test]
fn the_text_has_every_task() {
    let text = draw::text(&seen());
    for name in ["accept", "report", "task 3", "child", "waits"] {
        assert!(text.contains(name), "{name} is not in\n{text}");
    }
    assert!(text.contains("and 42 that were less busy, 5 in queues"));
    assert!(!text.contains("quit"));
}

#[test]
fn no_terminal_is_too_small() {
    let view = seen();
    for (width, height) in [(1, 1), (3, 2), (10, 5), (40, 8), (500, 3)] {
        drawn(&view, width, height);
    }
}

#[test]
fn each_order_has_its_first_task() {
    let mut view = seen();
    let firsts = [
        (Sort::Busy, " 100%"),
        (Sort::Rate, "accept"),
        (Sort::Polls, "accept"),
        (Sort::Idle, "child"),
        (Sort::Age, "accept"),
    ];
    for (sort, first) in firsts {
        assert_eq!(view.sort, sort);
        let text = drawn(&view, 150, 30);
        let mut lines = text.lines();
        let found = lines.find(|line| line.contains("spawned at"));
        assert!(found.is_some());
        let line = lines.next().unwrap();
        assert!(line.contains(first), "{sort:?}: {line}");
        press_char(&mut view, 's');
    }
    assert_eq!(view.sort, Sort::Busy);
}

#[test]
fn keys_scroll_pause_and_quit() {
    let mut view = seen();
    let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
    press(&mut view, key(KeyCode::Down));
    assert_eq!(view.above, 1);
    press(&mut view, key(KeyCode::PageDown));
    assert_eq!(view.above, 4, "the last one stays in sight");
    press(&mut view, key(KeyCode::Up));
    assert_eq!(view.above, 3);
    press(&mut view, key(KeyCode::Home));
    assert_eq!(view.above, 0);
    press_char(&mut view, 'p');
    view.update(hello(), look(13));
    assert_eq!(view.moment.look.at.to_bits(), 12_f64.to_bits());
    press_char(&mut view, 'p');
    view.update(hello(), look(14));
    assert_eq!(view.moment.look.at.to_bits(), 14_f64.to_bits());
    assert!(!press_char(&mut view, 'q'));
    assert!(!press(&mut view, key(KeyCode::Esc)));
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(!press(&mut view, control_c));
}

#[test]
fn another_runtime_begins_anew() {
    let mut view = seen();
    assert_eq!(view.stalls.len(), 1);
    let other = Hello {
        process: 4712,
        ..hello()
    };
    view.update(other, look(1));
    assert!(view.moment.total.is_none());
    assert_eq!(view.hello.process, 4712);
}
