//! From single requests to batches, and the worker that computes them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rt::channel::{Receiver, Sender};
use rt::time::{Instant, timeout_at};

use crate::model::{Model, State};
use crate::tokens::Token;

/// The most requests of a batch.
pub(crate) const SIZE: usize = 16;

/// How long the first request of a batch waits for others.
const WAIT: Duration = Duration::from_millis(5);

/// A prompt, and where the tokens go.
pub(crate) struct Request {
    pub(crate) prompt: Vec<Token>,
    /// How many tokens are wanted, at least one.
    pub(crate) count: usize,
    /// It has room for all of them, and is closed when nobody reads them.
    pub(crate) tokens: Sender<Token>,
}

/// What has happened. Counts alone: nothing is published through them.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) finished: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) tokens: AtomicU64,
    /// Steps of the worker, each for all requests of a batch.
    pub(crate) steps: AtomicU64,
}

/// Makes batches until the queue is closed and empty, or the worker is gone.
pub(crate) async fn collect(queue: Receiver<Request>, batches: Sender<Vec<Request>>) {
    while let Some(first) = queue.recv().await {
        let mut batch = vec![first];
        let until = Instant::now() + WAIT;
        while batch.len() < SIZE {
            // A receive that loses against the time takes nothing out of the queue.
            match timeout_at(until, queue.recv()).await {
                Ok(Some(request)) => batch.push(request),
                Ok(None) | Err(_) => break,
            }
        }
        if batches.send(batch).await.is_err() {
            return;
        }
    }
}

/// Computes batch after batch, until there will be no more.
pub(crate) fn work(model: &Model, batches: &Receiver<Vec<Request>>, stats: &Stats) {
    while let Some(requests) = batches.blocking_recv() {
        let mut batch = Batch::new(model, requests, stats);
        while !batch.is_empty() {
            batch.step(model, stats);
        }
    }
}

/// Requests that are computed together.
struct Batch {
    running: Vec<Running>,
    /// The state of each of them, side by side for the model.
    states: Vec<State>,
}

struct Running {
    left: usize,
    tokens: Sender<Token>,
}

impl Batch {
    /// Without those that nobody waits for any more.
    fn new(model: &Model, requests: Vec<Request>, stats: &Stats) -> Self {
        let asked = requests.len();
        let (running, states): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .filter(|request| !request.tokens.is_closed())
            .map(
                |Request {
                     prompt,
                     count,
                     tokens,
                 }| {
                    let left = count;
                    (Running { left, tokens }, model.read(&prompt))
                },
            )
            .unzip();
        let gone = asked - running.len();
        stats.cancelled.fetch_add(gone as u64, Ordering::Relaxed);
        Batch { running, states }
    }

    fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// A token for each request. Those that have all of theirs leave, and so do those whose client has.
    fn step(&mut self, model: &Model, stats: &Stats) {
        let tokens = model.step(&mut self.states);
        stats.steps.fetch_add(1, Ordering::Relaxed);
        // From the end, so that the last one, which takes a leaver's place, has been served.
        for (index, token) in tokens.into_iter().enumerate().rev() {
            let request = &mut self.running[index];
            request.left -= 1;
            // There is room: only a client that is gone makes it fail.
            let sent = request.tokens.try_send(token).is_ok();
            let left = request.left;
            stats.tokens.fetch_add(u64::from(sent), Ordering::Relaxed);
            if sent && left > 0 {
                continue;
            }
            let end = if sent {
                &stats.finished
            } else {
                &stats.cancelled
            };
            end.fetch_add(1, Ordering::Relaxed);
            self.running.swap_remove(index);
            self.states.swap_remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::encode;

    fn request(count: usize) -> (Request, Receiver<Token>) {
        let (tokens, answer) = rt::channel::bounded(count);
        let prompt = encode("the sea");
        (
            Request {
                prompt,
                count,
                tokens,
            },
            answer,
        )
    }

    #[test]
    fn who_goes_away_leaves_the_batch_and_the_others_stay() {
        let (model, stats) = (Model::new(), Stats::default());
        let ((a, keeps), (b, leaves), (c, short), (d, never)) =
            (request(4), request(4), request(1), request(4));
        drop(never);
        let mut batch = Batch::new(&model, vec![a, b, c, d], &stats);
        assert_eq!(
            (batch.running.len(), stats.cancelled.load(Ordering::Relaxed)),
            (3, 1)
        );
        batch.step(&model, &stats);
        assert_eq!((short.len(), batch.running.len()), (1, 2));
        drop(leaves);
        batch.step(&model, &stats);
        assert_eq!((batch.running.len(), batch.states.len()), (1, 1));
        while !batch.is_empty() {
            batch.step(&model, &stats);
        }
        assert_eq!((keeps.len(), keeps.is_closed()), (4, true));
        assert_eq!(stats.finished.load(Ordering::Relaxed), 2);
        assert_eq!(stats.cancelled.load(Ordering::Relaxed), 2);
    }

    #[rt::test(start_paused = true)]
    async fn a_batch_is_full_or_its_time_is_over() {
        let (requests, queue) = rt::channel::unbounded();
        let (batches, work) = rt::channel::unbounded();
        let collector = rt::spawn(collect(queue, batches));
        let answers: Vec<_> = (0..=SIZE)
            .map(|_| {
                let (request, answer) = request(1);
                assert!(requests.try_send(request).is_ok());
                answer
            })
            .collect();
        assert_eq!(work.recv().await.map(|batch| batch.len()), Some(SIZE));
        assert_eq!(work.recv().await.map(|batch| batch.len()), Some(1));
        drop((requests, answers));
        assert!(work.recv().await.is_none());
        collector.await.unwrap();
    }
}
