//! `join!` and `try_join!`: what they become.

use proc_macro::{Literal, TokenStream, TokenTree};

use crate::error::Error;
use crate::split::{Input, Stop};
use crate::template::fill;

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Join,
    TryJoin,
}

/// Expands `(crate path) [biased;] future, …`.
pub(crate) fn expand(kind: Kind, tokens: TokenStream) -> TokenStream {
    let mut input = Input::new(tokens);
    let path = input.crate_path();
    let biased = input.take_flag("biased");
    let mut futures = Vec::new();
    while !input.is_empty() {
        let span = input.span();
        let (future, _) = input.take_until(&[Stop::Comma]);
        if future.is_empty() {
            return Error::new(span, "expected a future before the `,`").into_tokens();
        }
        futures.push(future);
        input.take_comma();
    }
    write(kind, biased, &path, &futures)
}

fn write(kind: Kind, biased: bool, path: &TokenStream, futures: &[TokenStream]) -> TokenStream {
    let take = match kind {
        Kind::Join => "this.as_mut().take(),",
        Kind::TryJoin => "this.as_mut().take_ok(),",
    };
    let check = match kind {
        Kind::Join => "",
        Kind::TryJoin => {
            "if let ::core::option::Option::Some(error) = this.as_mut().take_error() {
                return ::core::task::Poll::Ready(::core::result::Result::Err(error));
            }"
        }
    };
    let mut keepers = TokenStream::new();
    let mut polls = TokenStream::new();
    let mut outputs = TokenStream::new();
    for (index, future) in futures.iter().enumerate() {
        let name = fill(&format!("future{index}"), &[]);
        let index = TokenStream::from(TokenTree::from(Literal::u32_unsuffixed(index as u32)));
        keepers.extend(fill(
            "let mut this = ::core::pin::pin!(RT::macros_support::Kept::new(FUTURE));",
            &[("this", &name), ("RT", path), ("FUTURE", future)],
        ));
        polls.extend(fill(
            &format!("INDEX => {{ waits |= this.as_mut().poll(cx).is_pending(); {check} }}"),
            &[("INDEX", &index), ("this", &name)],
        ));
        outputs.extend(fill(take, &[("this", &name)]));
    }
    let count = futures.len() as u32;
    let count = TokenStream::from(TokenTree::from(Literal::u32_unsuffixed(count)));
    let step = fill(if biased { "0" } else { "1" }, &[]);
    let result = match kind {
        Kind::Join => fill("(OUTPUTS)", &[("OUTPUTS", &outputs)]),
        Kind::TryJoin => fill(
            "::core::result::Result::Ok((OUTPUTS))",
            &[("OUTPUTS", &outputs)],
        ),
    };
    let holes = [
        ("RT", path),
        ("KEEPERS", &keepers),
        ("POLLS", &polls),
        ("COUNT", &count),
        ("STEP", &step),
        ("RESULT", &result),
    ];
    fill(JOIN, &holes)
}

/// Each poll begins with another future, so that none of them spends the budget of all.
const JOIN: &str = "{
    KEEPERS
    let mut first = 0_u32;
    ::core::future::poll_fn(move |cx| {
        let mut waits = false;
        let mut turn = 0_u32;
        while turn < COUNT {
            let index = RT::macros_support::turn_of(first, turn, COUNT);
            turn += 1;
            match index {
                POLLS
                _ => ::core::unreachable!(),
            }
        }
        first = first.wrapping_add(STEP);
        if waits {
            ::core::task::Poll::Pending
        } else {
            ::core::task::Poll::Ready(RESULT)
        }
    })
    .await
}";
