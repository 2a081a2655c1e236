//! `select!`: its grammar, and what it becomes.
//!
//! ```text
//! select! { [biased;] (PATTERN = FUTURE [, if GUARD] => HANDLER [,])+ [else => HANDLER [,]] }
//! ```
//!
//! A handler without braces ends at a comma.

use proc_macro::{Delimiter, Group, Literal, TokenStream, TokenTree};

use crate::error::Error;
use crate::split::{Input, Stop};
use crate::template::fill;

/// As many as there are bits in the word of the disabled ones.
const MAX_BRANCHES: usize = 64;

struct Branch {
    pattern: TokenStream,
    future: TokenStream,
    guard: Option<TokenStream>,
    handler: TokenStream,
}

struct Select {
    path: TokenStream,
    biased: bool,
    branches: Vec<Branch>,
    otherwise: Option<TokenStream>,
}

/// Expands `(crate path) …`.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    match parse(tokens) {
        Ok(select) => select.write(),
        Err(error) => error.into_tokens(),
    }
}

fn parse(tokens: TokenStream) -> Result<Select, Error> {
    let mut input = Input::new(tokens);
    let path = input.crate_path();
    let biased = input.take_flag("biased");
    let mut branches = Vec::new();
    let mut otherwise = None;
    while !input.is_empty() {
        let span = input.span();
        if input.take_word("else") {
            if !input.take_arrow() {
                return Err(Error::new(input.span(), "expected `else => handler`"));
            }
            otherwise = Some(handler(&mut input)?);
            if !input.is_empty() {
                let message = "nothing can follow the `else` branch: it is the last one";
                return Err(Error::new(input.span(), message));
            }
        } else {
            branches.push(branch(&mut input)?);
            if branches.len() > MAX_BRANCHES {
                let message = format!("`select!` takes at most {MAX_BRANCHES} branches");
                return Err(Error::new(span, message));
            }
        }
    }
    if branches.is_empty() {
        let message = "`select!` needs a branch: `pattern = future => handler`";
        return Err(Error::new(input.span(), message));
    }
    Ok(Select {
        path,
        biased,
        branches,
        otherwise,
    })
}

fn branch(input: &mut Input) -> Result<Branch, Error> {
    let span = input.span();
    let (pattern, stop) = input.take_until(&[Stop::Equals, Stop::Arrow]);
    if stop != Some(Stop::Equals) {
        let message = "expected `pattern = future => handler`: this branch has no `=`";
        return Err(Error::new(span, message));
    }
    if pattern.is_empty() {
        return Err(Error::new(span, "expected a pattern before the `=`"));
    }
    let equals = input.span();
    input.next();
    let (future, mut stop) = input.take_until(&[Stop::Comma, Stop::Arrow]);
    if future.is_empty() {
        return Err(Error::new(equals, "expected a future after the `=`"));
    }
    let mut guard = None;
    if stop == Some(Stop::Comma) {
        let comma = input.span();
        input.take_comma();
        if !input.take_word("if") {
            let message = "expected `=> handler`, or a guard: `, if condition => handler`";
            return Err(Error::new(comma, message));
        }
        let if_ = input.span();
        let (condition, end) = input.take_until(&[Stop::Arrow]);
        if condition.is_empty() {
            return Err(Error::new(if_, "expected a condition after `if`"));
        }
        guard = Some(condition);
        stop = end;
    }
    if stop.is_none() {
        return Err(Error::new(span, "this branch has no `=> handler`"));
    }
    input.take_arrow();
    Ok(Branch {
        pattern,
        future,
        guard,
        handler: handler(input)?,
    })
}

/// A block, or an expression up to the next comma.
fn handler(input: &mut Input) -> Result<TokenStream, Error> {
    let span = input.span();
    if let Some(block) = input.take_block() {
        input.take_comma();
        return Ok(block.into());
    }
    let (handler, stop) = input.take_until(&[Stop::Comma, Stop::Arrow]);
    match stop {
        Some(Stop::Arrow) => {
            let message =
                "a `,` is missing before this branch: a handler without braces ends with one";
            Err(Error::new(input.span(), message))
        }
        _ if handler.is_empty() => Err(Error::new(span, "expected a handler after the `=>`")),
        _ => {
            input.take_comma();
            Ok(handler)
        }
    }
}

impl Select {
    /// The outcomes are an enum, so that the futures are gone before a handler runs.
    fn write(&self) -> TokenStream {
        let count = number(self.branches.len());
        let first = if self.biased {
            fill("0_u32", &[])
        } else {
            fill(
                "RT::macros_support::random_below(COUNT)",
                &[("RT", &self.path), ("COUNT", &count)],
            )
        };
        let mut types = TokenStream::new();
        let mut variants = TokenStream::new();
        let mut guards = TokenStream::new();
        let mut futures = TokenStream::new();
        let mut polls = TokenStream::new();
        let mut handlers = TokenStream::new();
        for (index, branch) in self.branches.iter().enumerate() {
            let names = Names::new(index);
            types.extend(names.fill("Type,", &[]));
            variants.extend(names.fill("Variant(Type),", &[]));
            if let Some(guard) = &branch.guard {
                let guard = parenthesised(guard);
                guards.extend(names.fill(
                    "if !GUARD { disabled |= 1_u64 << INDEX; }",
                    &[("GUARD", &guard)],
                ));
            }
            futures.extend(names.fill(
                "let mut this = ::core::pin::pin!(::core::future::IntoFuture::into_future(FUTURE));",
                &[("FUTURE", &branch.future)],
            ));
            let pattern = without_bindings_modes(branch.pattern.clone());
            polls.extend(names.fill(POLL, &[("PATTERN", &pattern)]));
            handlers.extend(names.fill(
                "__RtSelected::Variant(PATTERN) => HANDLER,",
                &[("PATTERN", &branch.pattern), ("HANDLER", &branch.handler)],
            ));
        }
        let otherwise = match &self.otherwise {
            Some(handler) => handler.clone(),
            None => fill(
                "::core::panic!(\"all branches are disabled and there is no `else` branch\")",
                &[],
            ),
        };
        let holes = [
            ("RT", &self.path),
            ("COUNT", &count),
            ("FIRST", &first),
            ("TYPES", &types),
            ("VARIANTS", &variants),
            ("GUARDS", &guards),
            ("FUTURES", &futures),
            ("POLLS", &polls),
            ("HANDLERS", &handlers),
            ("OTHERWISE", &otherwise),
        ];
        fill(SELECT, &holes)
    }
}

const SELECT: &str = "{
    enum __RtSelected<TYPES> { VARIANTS Nothing }
    let selected = {
        #[allow(unused_mut)]
        let mut disabled = 0_u64;
        GUARDS
        FUTURES
        ::core::future::poll_fn(|cx| {
            if RT::macros_support::is_out_of_budget(cx) {
                return ::core::task::Poll::Pending;
            }
            let first: u32 = FIRST;
            let mut waits = false;
            let mut turn = 0_u32;
            while turn < COUNT {
                let branch = RT::macros_support::turn_of(first, turn, COUNT);
                turn += 1;
                match branch {
                    POLLS
                    _ => ::core::unreachable!(),
                }
            }
            if waits {
                ::core::task::Poll::Pending
            } else {
                ::core::task::Poll::Ready(__RtSelected::Nothing)
            }
        })
        .await
    };
    #[allow(unreachable_patterns, clippy::match_single_binding, clippy::ignored_unit_patterns)]
    match selected {
        HANDLERS
        __RtSelected::Nothing => OTHERWISE,
        _ => ::core::unreachable!(),
    }
}";

const POLL: &str = "
    #[allow(unreachable_code)]
    INDEX => {
        if disabled & (1_u64 << INDEX) != 0 {
            continue;
        }
        match ::core::future::Future::poll(this.as_mut(), cx) {
            ::core::task::Poll::Ready(output) => {
                disabled |= 1_u64 << INDEX;
                #[allow(unused_variables, unreachable_patterns, clippy::all, clippy::pedantic)]
                match &output {
                    PATTERN => return ::core::task::Poll::Ready(__RtSelected::Variant(output)),
                    _ => {}
                }
            }
            ::core::task::Poll::Pending => waits = true,
        }
    }";

/// What belongs to one branch: its number, and names with the number in them.
struct Names {
    index: TokenStream,
    variant: TokenStream,
    ty: TokenStream,
    local: TokenStream,
}

impl Names {
    fn new(index: usize) -> Self {
        Names {
            index: number(index),
            variant: fill(&format!("Branch{index}"), &[]),
            ty: fill(&format!("Type{index}"), &[]),
            local: fill(&format!("future{index}"), &[]),
        }
    }

    fn fill(&self, source: &str, holes: &[(&str, &TokenStream)]) -> TokenStream {
        let mut all = vec![
            ("INDEX", &self.index),
            ("Variant", &self.variant),
            ("Type", &self.ty),
            ("this", &self.local),
        ];
        all.extend_from_slice(holes);
        fill(source, &all)
    }
}

fn number(number: usize) -> TokenStream {
    TokenTree::from(Literal::u32_unsuffixed(number as u32)).into()
}

fn parenthesised(tokens: &TokenStream) -> TokenStream {
    TokenTree::from(Group::new(Delimiter::Parenthesis, tokens.clone())).into()
}

/// The pattern for a look at an output by reference, which is not to be moved: without `ref` and `mut`.
fn without_bindings_modes(pattern: TokenStream) -> TokenStream {
    let kept = pattern.into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) if ["ref", "mut"].contains(&word.to_string().as_str()) => None,
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), without_bindings_modes(group.stream()));
            inner.set_span(group.span());
            Some(inner.into())
        }
        other => Some(other),
    });
    kept.collect()
}
