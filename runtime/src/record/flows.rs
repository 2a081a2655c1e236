//! Which wake led to which poll.

use std::collections::HashMap;

use rt_scheduler::record::{Event, Kind};

/// An arrow: from a moment on one thread to a moment on another.
pub(super) struct Flow {
    pub(super) from: (usize, u64),
    pub(super) to: (usize, u64),
}

/// The wakes and polls of one task, as (when, thread).
#[derive(Default)]
struct Life {
    wakes: Vec<(u64, usize)>,
    polls: Vec<(u64, usize)>,
}

/// The arrows between what `threads` did. Each has both its ends among those events, and begins
/// within a slice. Of several wakes before a poll the first one counts: the others changed nothing.
pub(super) fn between(threads: &[(String, Vec<Event>)]) -> Vec<Flow> {
    let mut lives: HashMap<_, Life> = HashMap::new();
    for (thread, (_, events)) in threads.iter().enumerate() {
        let mut until = None;
        for event in events {
            if event.kind.is_slice() {
                // Slices that follow one another on a thread are one beside or in the other.
                let end = event.lasts.map_or(u64::MAX, |lasts| event.at + lasts);
                until = until.max(Some(end));
            }
            let Some(id) = event.id else { continue };
            let life = lives.entry(id).or_default();
            match event.kind {
                Kind::Poll => life.polls.push((event.at, thread)),
                Kind::Wake if until >= Some(event.at) => life.wakes.push((event.at, thread)),
                _ => {}
            }
        }
    }
    let mut flows: Vec<Flow> = lives.into_values().flat_map(Life::flows).collect();
    flows.sort_by_key(|flow| (flow.from.1, flow.from.0));
    flows
}

impl Life {
    fn flows(mut self) -> Vec<Flow> {
        self.wakes.sort_unstable();
        self.polls.sort_unstable();
        let mut wakes = self.wakes.into_iter().peekable();
        let mut flows = Vec::new();
        for poll in self.polls {
            let mut first = None;
            while let Some(wake) = wakes.next_if(|wake| wake.0 <= poll.0) {
                first.get_or_insert(wake);
            }
            if let Some(wake) = first {
                flows.push(Flow {
                    from: (wake.1, wake.0),
                    to: (poll.1, poll.0),
                });
            }
        }
        flows
    }
}
