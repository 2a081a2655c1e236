//! The picture, on whatever has cells: a terminal, or the text of `--once`.

use ratatui::Frame;
use ratatui::backend::TestBackend;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::columns::{self, Names, bar, count, percent, rate, time, whole};
use crate::rates::{Pace, WorkerRow};
use crate::tree::Node;
use crate::view::{SeenStall, View};

/// How wide the text of [`text`] is.
const WIDTH: u16 = 160;

/// Deeper lines are not indented further.
const DEEPEST: usize = 16;

/// From here on a task keeps a worker for itself.
const HOT: f64 = 0.8;

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, view: &View) {
    let area = frame.area();
    // Never so many workers that no task can be seen.
    let workers = lines(view.moment.workers.len()).min(area.height / 3);
    let stalls = lines(view.stalls.len());
    let [head, worker_area, stall_area, task_area, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(workers + 2),
        Constraint::Length(if stalls > 0 { stalls + 2 } else { 1 }),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(head_lines(view)), head);
    draw_workers(frame, view, worker_area);
    if stalls > 0 {
        draw_stalls(frame, view, stall_area);
    }
    draw_tasks(frame, view, task_area);
    frame.render_widget(Paragraph::new(key_line(view)), keys);
}

/// The picture as text, with all of its tasks.
pub fn text(view: &View) -> String {
    let rows = view.lines() + view.stalls.len() + 3 * (view.moment.workers.len() + 2) + 12;
    let height = u16::try_from(rows).unwrap_or(u16::MAX / 2);
    let Ok(mut terminal) = Terminal::with_options(
        TestBackend::new(WIDTH, height),
        TerminalOptions {
            viewport: Viewport::Fixed(Rect::new(0, 0, WIDTH, height)),
        },
    );
    let Ok(drawn) = terminal.draw(|frame| draw(frame, view));
    let cells = drawn.buffer.content();
    let mut text = String::new();
    let rows = cells.chunks(usize::from(WIDTH));
    // The last line tells of keys.
    for row in rows.take(usize::from(height) - 1) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn lines(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX / 4)
}

fn head_lines(view: &View) -> Vec<Line<'static>> {
    let (look, hello) = (&view.moment.look, &view.hello);
    let (metrics, total) = (&look.metrics, view.moment.total);
    let mut first = vec![
        Span::from(format!("{} ", hello.runtime)).bold(),
        Span::from(format!(
            "process {}, up {}   tasks {} (spawned {}/s, in injectors {})   stalls {}   spare workers called {}",
            hello.process,
            time(look.at),
            whole(metrics.live_tasks),
            rate(total.map(|total| total.spawned)),
            whole(metrics.injected),
            whole(metrics.stalls),
            whole(metrics.spare_workers_started),
        )),
    ];
    if view.paused {
        first.push(Span::from("   paused").yellow().bold());
    }
    let second = match &view.trouble {
        Some(trouble) => Line::from(format!("{trouble}; trying again")).red().bold(),
        None => Line::from(format!(
            "blocking threads {} (idle {}), waiting: jobs {}, files {}, lookups {}   reactor: polls {}/s, events {}/s, sources {}, timers {}, fired {}/s",
            metrics.blocking_threads,
            metrics.idle_blocking_threads,
            whole(metrics.blocking_jobs.queued),
            whole(metrics.blocking_files.queued),
            whole(metrics.blocking_lookups.queued),
            rate(total.map(|total| total.reactor_polls)),
            rate(total.map(|total| total.reactor_events)),
            whole(metrics.live_sources),
            whole(metrics.live_timers),
            rate(total.map(|total| total.timers_fired)),
        )),
    };
    vec![Line::from(first), second]
}

fn draw_workers(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let widths = [
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(5),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Min(10),
    ];
    let titles = [
        "", "busy", "", "polls/s", "steals/s", "parks/s", "stalls", "polls",
    ];
    let header = Row::new(titles.iter().enumerate().map(|(at, title)| {
        let right = (2..7).contains(&at);
        aligned((*title).to_owned(), right)
    }));
    let rows = view.moment.workers.iter().map(worker_row);
    let table = Table::new(rows, widths).header(header.style(heading()));
    frame.render_widget(table, below_a_blank(area));
}

fn worker_row(worker: &WorkerRow) -> Row<'static> {
    let spare = if worker.spare { " spare" } else { "" };
    Row::new([
        Cell::from(format!("{} {}{spare}", worker.pool, worker.index)),
        Cell::from(bar(worker.pace)).style(heat(worker.pace)),
        aligned(percent(worker.pace), true),
        aligned(rate(worker.pace.polls), true),
        aligned(rate(worker.steals), true),
        aligned(rate(worker.parks), true),
        aligned(whole(worker.stalls), true),
        Cell::from(worker.task.clone().unwrap_or_default()),
    ])
}

fn draw_stalls(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let mut lines = vec![Line::from("stalls: polls that lasted too long").style(heading())];
    let line = |stall| stall_line(stall, view.moment.look.at);
    lines.extend(view.stalls.iter().map(line));
    frame.render_widget(Paragraph::new(lines), below_a_blank(area));
}

fn stall_line(stall: &SeenStall, now: f64) -> Line<'static> {
    let what = stall
        .blocked_in
        .as_deref()
        .unwrap_or("it is not known in what");
    let ago = now - stall.at;
    let (when, style) = if ago > 0.0 {
        (format!("{} ago", time(ago)), Style::new())
    } else {
        ("now".to_owned(), Style::new().fg(Color::Red))
    };
    let lasted = time(stall.lasted);
    let text = format!(
        "{when:>9}  {}, from {}: {lasted}, {what}",
        stall.title, stall.place
    );
    Line::from(text).style(style)
}

fn draw_tasks(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let widths = [
        Constraint::Length(5),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Length(10),
        Constraint::Fill(2),
        Constraint::Fill(2),
        Constraint::Fill(4),
    ];
    let task = if view.tree { "task or scope" } else { "task" };
    let titles = [
        "busy",
        "polls/s",
        "polls",
        "idle",
        "pool",
        "state",
        task,
        "spawned at",
        "waits for",
    ];
    let header = Row::new(titles.iter().enumerate().map(|(at, title)| {
        let cell = aligned((*title).to_owned(), at < 4);
        let chosen = !view.tree && *title == view.sort.name();
        cell.style(if chosen {
            heading().reversed()
        } else {
            heading()
        })
    }));
    let names = Names::new(&view.moment.look.dump);
    // What the area cannot hold needs no row.
    let nodes = view.nodes().into_iter().skip(view.above);
    let rows = nodes.take(usize::from(area.height));
    let rows = rows.map(|(depth, node)| task_row(view, &names, depth, node));
    let missing = missing(view);
    let [area, rest] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(u16::from(missing.is_some())),
    ])
    .areas(area);
    frame.render_widget(Table::new(rows, widths).header(header), area);
    frame.render_widget(Paragraph::new(missing.unwrap_or_default()), rest);
}

/// What is said of tasks that are not in the list.
fn missing(view: &View) -> Option<String> {
    let look = &view.moment.look;
    let (left_out, unlisted) = (look.left_out, look.dump.unlisted);
    match (left_out, unlisted) {
        (0, 0) => None,
        (_, 0) => Some(format!("and {left_out} that were less busy")),
        (0, _) => Some(format!("and {unlisted} in queues, never polled")),
        _ => Some(format!(
            "and {left_out} that were less busy, {unlisted} in queues, never polled"
        )),
    }
}

fn task_row(view: &View, names: &Names<'_>, depth: usize, node: Node) -> Row<'static> {
    let indent = "  ".repeat(depth.min(DEEPEST));
    let dump = &view.moment.look.dump;
    let at = match node {
        Node::Task(at) => at,
        Node::Scope(at) => {
            let line = format!("{indent}{}", columns::scope(&dump.scopes[at], names));
            let mut cells = vec![Cell::from(""); 6];
            cells.push(Cell::from(line).column_span(3));
            return Row::new(cells).style(Style::new().fg(Color::Cyan));
        }
    };
    let (task, pace) = (&dump.tasks[at], view.moment.tasks[at]);
    let title = match &task.name {
        Some(name) => format!("{indent}{name}"),
        None => format!("{indent}task {}", task.id),
    };
    Row::new([
        aligned(percent(pace), true).style(heat(pace)),
        aligned(rate(pace.polls), true),
        aligned(whole(task.polls), true),
        aligned(task.idle.map(time).unwrap_or_default(), true),
        Cell::from(match task.worker {
            Some(worker) => format!("{} {worker}", task.pool),
            None => task.pool.clone(),
        }),
        Cell::from(task.state.clone()),
        Cell::from(title),
        Cell::from(task.place().to_owned()),
        Cell::from(names.doing(task)),
    ])
}

fn key_line(view: &View) -> Line<'static> {
    let order = if view.tree {
        "by scopes".to_owned()
    } else {
        format!("by {}", view.sort.name())
    };
    let first = (view.above + 1).min(view.lines());
    let shown = count(lossless(first)) + " of " + &count(lossless(view.lines()));
    let resume = if view.paused { "go on" } else { "pause" };
    Line::from(format!(
        "q quit  p {resume}  s sort  t tree  ↑↓ PgUp PgDn Home scroll   {order}, from {shown}"
    ))
    .style(Style::new().add_modifier(Modifier::DIM))
}

fn lossless(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn aligned(text: String, right: bool) -> Cell<'static> {
    let alignment = if right {
        Alignment::Right
    } else {
        Alignment::Left
    };
    Cell::from(Line::from(text).alignment(alignment))
}

fn below_a_blank(area: Rect) -> Rect {
    Rect {
        y: area.y + 1.min(area.height),
        height: area.height.saturating_sub(1),
        ..area
    }
}

fn heading() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn heat(pace: Pace) -> Style {
    match pace.busy {
        Some(busy) if busy >= HOT => Style::new().fg(Color::Red),
        Some(busy) if busy >= HOT / 4.0 => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    }
}
