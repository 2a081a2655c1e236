//! Where the list is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::database::{self, Database};

/// One entry.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Todo {
    pub(crate) id: i64,
    pub(crate) text: String,
    pub(crate) done: bool,
}

/// Why a request cannot be fulfilled.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no such entry.
    Unknown,
    /// The text is nothing that could be kept.
    Text,
    /// The database failed.
    Database(database::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Unknown => "there is no such entry",
            Failure::Text => "the text must have 1 to 1000 bytes, none of them zero",
            Failure::Database(_) => "the database does not answer",
        })
    }
}

impl From<database::Error> for Failure {
    fn from(error: database::Error) -> Self {
        Failure::Database(error)
    }
}

/// The list, the oldest entry first.
pub(crate) enum Store {
    /// Gone when the program ends.
    Memory(Memory),
    Database(Box<Database>),
}

impl Default for Store {
    fn default() -> Self {
        Store::Memory(Memory::default())
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Store::Memory(_) => "in memory",
            Store::Database(_) => "in PostgreSQL",
        })
    }
}

impl Store {
    pub(crate) async fn list(&self) -> Result<Vec<Todo>, Failure> {
        match self {
            Store::Memory(memory) => Ok(memory.lock().todos.values().cloned().collect()),
            Store::Database(database) => Ok(database.list().await?),
        }
    }

    pub(crate) async fn add(&self, text: &str) -> Result<Todo, Failure> {
        match self {
            Store::Memory(memory) => Ok(memory.lock().add(text)),
            Store::Database(database) => Ok(database.add(text).await?),
        }
    }

    /// Turns done into not done and back.
    pub(crate) async fn toggle(&self, id: i64) -> Result<Todo, Failure> {
        let toggled = match self {
            Store::Memory(memory) => memory.lock().toggle(id),
            Store::Database(database) => database.toggle(id).await?,
        };
        toggled.ok_or(Failure::Unknown)
    }

    pub(crate) async fn remove(&self, id: i64) -> Result<(), Failure> {
        let removed = match self {
            Store::Memory(memory) => memory.lock().todos.remove(&id).is_some(),
            Store::Database(database) => database.remove(id).await?,
        };
        if removed {
            Ok(())
        } else {
            Err(Failure::Unknown)
        }
    }
}

/// A list in memory. Its lock is held for no longer than a look-up takes, never across an `await`.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Todos>);

#[derive(Default)]
struct Todos {
    last_id: i64,
    todos: BTreeMap<i64, Todo>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Todos> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Todos {
    fn add(&mut self, text: &str) -> Todo {
        self.last_id += 1;
        let todo = Todo {
            id: self.last_id,
            text: text.to_owned(),
            done: false,
        };
        self.todos.insert(todo.id, todo.clone());
        todo
    }

    fn toggle(&mut self, id: i64) -> Option<Todo> {
        let todo = self.todos.get_mut(&id)?;
        todo.done = !todo.done;
        Some(todo.clone())
    }
}
