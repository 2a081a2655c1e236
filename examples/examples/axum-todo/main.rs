//! A list of things to do: a JSON API of axum's and a small page that uses it.
//!
//! ```text
//! cargo run -p rt-examples --example axum-todo -- 127.0.0.1:8080
//! curl http://127.0.0.1:8080/api/todos
//! curl http://127.0.0.1:8080/api/todos --json '{"text": "water the plants"}'
//! curl -X POST http://127.0.0.1:8080/api/todos/1/toggle
//! curl -X DELETE http://127.0.0.1:8080/api/todos/1
//! ```
//!
//! The list is in memory, or in Postgres if the environment has a `DATABASE_URL` such as
//! `postgres://user:password@localhost/database`. Ctrl-C ends the server gracefully: requests that have begun
//! are answered.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use rt::net::TcpListener;
use rt_axum::TimeoutLayer;
use serde::Deserialize;
use serde_json::json;

use store::{Failure, Store, Todo};

mod database;
mod store;

/// How long a request may take, and how long the last ones have after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest text of one entry, in bytes.
const MAX_TEXT: usize = 1000;

#[rt::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1);
    let store = match env::var("DATABASE_URL") {
        Ok(url) => Store::Database(Box::new(database::Database::open(&url).await?)),
        Err(_) => Store::default(),
    };
    println!("the list is {store}");
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    rt_axum::serve(listener, app(Arc::new(store)))
        .with_graceful_shutdown(ctrl_c())
        .drain_timeout(PATIENCE)
        .await?;
    println!("all requests have been answered");
    Ok(())
}

async fn ctrl_c() {
    if let Err(error) = rt::signal::ctrl_c().await {
        eprintln!("cannot listen for Ctrl-C: {error}");
        std::future::pending::<()>().await;
    }
}

fn app(store: Arc<Store>) -> Router {
    Router::new()
        .route("/", get(|| async { Html(include_str!("page.html")) }))
        .route("/api/todos", get(list).post(add))
        .route("/api/todos/{id}", delete(remove))
        .route("/api/todos/{id}/toggle", post(toggle))
        .layer(TimeoutLayer::new(PATIENCE).status_code(StatusCode::SERVICE_UNAVAILABLE))
        .with_state(store)
}

/// What a new entry is made of.
#[derive(Deserialize)]
struct Draft {
    text: String,
}

async fn list(State(store): State<Arc<Store>>) -> Result<Json<Vec<Todo>>, Failure> {
    store.list().await.map(Json)
}

async fn add(
    State(store): State<Arc<Store>>,
    Json(draft): Json<Draft>,
) -> Result<(StatusCode, Json<Todo>), Failure> {
    let text = draft.text.trim();
    // PostgreSQL's texts have no NUL.
    if text.is_empty() || text.len() > MAX_TEXT || text.contains('\0') {
        return Err(Failure::Text);
    }
    let todo = store.add(text).await?;
    Ok((StatusCode::CREATED, Json(todo)))
}

async fn toggle(
    State(store): State<Arc<Store>>,
    Path(id): Path<i64>,
) -> Result<Json<Todo>, Failure> {
    store.toggle(id).await.map(Json)
}

async fn remove(
    State(store): State<Arc<Store>>,
    Path(id): Path<i64>,
) -> Result<StatusCode, Failure> {
    store.remove(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match &self {
            Failure::Unknown => StatusCode::NOT_FOUND,
            Failure::Text => StatusCode::UNPROCESSABLE_ENTITY,
            Failure::Database(error) => {
                // Who asks need not know how the database is set up.
                eprintln!("database: {error}");
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
