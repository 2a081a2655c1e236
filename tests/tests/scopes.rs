//! Structured concurrency: what each sentence about scopes in the API says, on every flavour.

#[path = "scopes/basics.rs"]
mod basics;
#[path = "scopes/cancel.rs"]
mod cancel;
#[path = "scopes/failure.rs"]
mod failure;
#[path = "scopes/forest.rs"]
mod forest;
#[path = "scopes/holders.rs"]
mod holders;
#[path = "scopes/lost.rs"]
mod lost;
#[path = "scopes/shields.rs"]
mod shields;
#[path = "scopes/tokens.rs"]
mod tokens;
