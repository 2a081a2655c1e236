//! `rtop PATH`: what a program on the `rt` runtime does, live, as `top` shows processes.
//!
//! The program has been built with `rt::runtime::Builder::inspect(PATH)`. Nothing here depends on `rt`: all that is
//! shown comes over that socket, in the protocol that `rt::inspect` describes.
//!
//! | module | what |
//! |---|---|
//! | [`client`] | the connection, and one look at the runtime |
//! | [`model`] | what the runtime tells |
//! | [`rates`] | how fast it went between two looks |
//! | [`view`] | what the user has chosen to see |
//! | [`draw`] | the picture |
//! | [`live`] | the terminal, and its keys |

pub mod client;
pub mod draw;
pub mod live;
pub mod model;
pub mod rates;
pub mod view;

mod columns;
mod tree;
