//! The HTTP side: from a request to the queue, and from tokens to events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_core::Stream;
use rt::Dispatcher;
use rt::channel::{Receiver, Sender, TrySendError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::batch::{Request, Stats};
use crate::tokens::{self, Token};

/// How many requests may wait. More are told to come back later: a queue that grows without end only makes everybody
/// wait for answers that nobody waits for any more.
pub(crate) const QUEUE: usize = 256;

/// The most tokens of one answer.
const MAX_TOKENS: usize = 256;

#[derive(Clone)]
struct Front {
    requests: Sender<Request>,
    stats: Arc<Stats>,
}

pub(crate) fn app(requests: Sender<Request>, stats: Arc<Stats>) -> Router {
    Router::new()
        .route("/generate", post(generate))
        .route("/stats", get(numbers))
        .with_state(Front { requests, stats })
}

/// What a client asks for.
#[derive(Deserialize)]
struct Question {
    prompt: String,
    #[serde(default = "Question::tokens")]
    tokens: usize,
}

impl Question {
    fn tokens() -> usize {
        32
    }
}

type Refusal = (StatusCode, &'static str);

async fn generate(
    State(front): State<Front>,
    Json(question): Json<Question>,
) -> Result<Sse<Answer>, Refusal> {
    let count = question.tokens;
    if !(1..=MAX_TOKENS).contains(&count) {
        return Err((
            StatusCode::UNPROCESSABLE_ENTITY,
            "between 1 and 256 tokens\n",
        ));
    }
    // A long prompt takes its time, which other connections of this worker would wait for.
    let encode = async move { tokens::encode(&question.prompt) };
    let prompt = rt::run_on(Dispatcher::Cpu, encode).await;
    let (tokens, answer) = rt::channel::bounded(count);
    let request = Request {
        prompt,
        count,
        tokens,
    };
    front
        .requests
        .try_send(request)
        .map_err(|error| match error {
            TrySendError::Full(_) => (StatusCode::SERVICE_UNAVAILABLE, "too much to do\n"),
            TrySendError::Closed(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "the model is not there\n")
            }
        })?;
    Ok(Sse::new(Answer {
        tokens: answer,
        left: Some(count),
    }))
}

/// The events of an answer: one for each token, and one for the end. Its channel is closed when it is dropped,
/// and hyper drops it when its client goes away.
struct Answer {
    tokens: Receiver<Token>,
    /// How many tokens are still to come. `None`: the end has been told.
    left: Option<usize>,
}

impl Stream for Answer {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(left) = self.left else {
            return Poll::Ready(None);
        };
        let token = ready!(Pin::new(&mut self.tokens).poll_next(cx));
        self.left = token.and(Some(left.saturating_sub(1)));
        let event = if let Some(token) = token {
            // As JSON: an event could not begin with a space otherwise.
            Event::default().data(json!(tokens::decode(token)).to_string())
        } else {
            let name = if left == 0 { "done" } else { "failed" };
            Event::default().event(name).data("")
        };
        Poll::Ready(Some(Ok(event)))
    }
}

async fn numbers(State(front): State<Front>) -> Json<Value> {
    let stats = &front.stats;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    Json(json!({
        "waiting": front.requests.len(),
        "finished": read(&stats.finished),
        "cancelled": read(&stats.cancelled),
        "tokens": read(&stats.tokens),
        "steps": read(&stats.steps),
    }))
}
