//! The options in the attribute's parentheses: `name = value, …`.

use std::iter::Peekable;

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree, token_stream};

use crate::error::Error;

/// Every option that was given, each with the place of its value.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) flavor: Option<Given<Flavor>>,
    pub(crate) io_threads: Option<Given<TokenTree>>,
    pub(crate) cpu_threads: Option<Given<TokenTree>>,
    pub(crate) start_paused: Option<Given<TokenTree>>,
    pub(crate) seed: Option<Given<Seed>>,
    pub(crate) crate_path: Option<Given<TokenStream>>,
}

/// A value and where it stands.
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavor {
    CurrentThread,
    MultiThread,
}

pub(crate) enum Seed {
    /// A number, or any other expression that is one literal.
    Fixed(TokenTree),
    /// Chosen anew each run.
    Random,
}

const KNOWN: &str = "known options are `flavor`, `io_threads`, `cpu_threads`, `start_paused`, \
                     `seed` and `crate`";

type Tokens = Peekable<token_stream::IntoIter>;

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Options, Error> {
        let mut options = Options::default();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let TokenTree::Ident(name) = token else {
                return Err(Error::new(token.span(), "expected `name = value`"));
            };
            let value = value(&name, &mut tokens)?;
            options.set(&name, &value)?;
            if let Some(after) = tokens.next()
                && !matches!(&after, TokenTree::Punct(comma) if comma.as_char() == ',')
            {
                return Err(Error::new(after.span(), "expected `,` between options"));
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &Ident, value: &TokenTree) -> Result<(), Error> {
        match name.to_string().as_str() {
            "flavor" => put(&mut self.flavor, name, value, flavor),
            "io_threads" => put(&mut self.io_threads, name, value, threads),
            "cpu_threads" => put(&mut self.cpu_threads, name, value, threads),
            "start_paused" => put(&mut self.start_paused, name, value, boolean),
            "seed" => put(&mut self.seed, name, value, seed),
            "crate" => put(&mut self.crate_path, name, value, path),
            "worker_threads" => Err(Error::new(
                name.span(),
                "unknown option `worker_threads`: the workers of the IO pool are `io_threads`",
            )),
            unknown => {
                let message = format!("unknown option `{unknown}`: {KNOWN}");
                Err(Error::new(name.span(), message))
            }
        }
    }

    /// Refuses options that contradict the flavour, which is `default` when none is given.
    pub(crate) fn check(&self, default: Flavor) -> Result<Flavor, Error> {
        let flavor = self.flavor.as_ref().map_or(default, |given| given.value);
        match (flavor, &self.io_threads, &self.start_paused) {
            (Flavor::CurrentThread, Some(given), _) => Err(Error::new(
                given.span,
                "`io_threads` needs `flavor = \"multi_thread\"`: \
                 the current-thread flavour has no IO workers",
            )),
            (Flavor::MultiThread, _, Some(given)) => Err(Error::new(
                given.span,
                "`start_paused` needs `flavor = \"current_thread\"`",
            )),
            _ => Ok(flavor),
        }
    }
}

/// Reads `= value`, one token.
fn value(name: &Ident, tokens: &mut Tokens) -> Result<TokenTree, Error> {
    let missing = |span| Err(Error::new(span, format!("expected `{name} = value`")));
    match tokens.next() {
        Some(TokenTree::Punct(equals)) if equals.as_char() == '=' => {}
        Some(other) => return missing(other.span()),
        None => return missing(name.span()),
    }
    match tokens.next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => Ok(ungroup(group)),
        // A sign is a token of its own; no option takes a negative number.
        Some(TokenTree::Punct(sign)) => Err(Error::new(sign.span(), "expected a value")),
        Some(value) => Ok(value),
        None => missing(name.span()),
    }
}

/// A `$x:expr` or `$x:literal` of a `macro_rules!` comes in a group without delimiters.
fn ungroup(group: Group) -> TokenTree {
    let mut inner = group.stream().into_iter();
    match (inner.next(), inner.next()) {
        (Some(TokenTree::Group(inner)), None) if inner.delimiter() == Delimiter::None => {
            ungroup(inner)
        }
        (Some(token), None) => token,
        _ => group.into(),
    }
}

fn put<T>(
    option: &mut Option<Given<T>>,
    name: &Ident,
    value: &TokenTree,
    convert: impl FnOnce(&TokenTree) -> Result<T, &'static str>,
) -> Result<(), Error> {
    if option.is_some() {
        let message = format!("option `{name}` is given twice");
        return Err(Error::new(name.span(), message));
    }
    let span = value.span();
    match convert(value) {
        Ok(value) => {
            *option = Some(Given { value, span });
            Ok(())
        }
        Err(wanted) => Err(Error::new(span, format!("`{name}` must be {wanted}"))),
    }
}

fn flavor(value: &TokenTree) -> Result<Flavor, &'static str> {
    match string(value).as_deref() {
        Some("current_thread") => Ok(Flavor::CurrentThread),
        Some("multi_thread") => Ok(Flavor::MultiThread),
        _ => Err("\"current_thread\" or \"multi_thread\""),
    }
}

fn threads(value: &TokenTree) -> Result<TokenTree, &'static str> {
    match integer(value) {
        Some(1..) => Ok(value.clone()),
        _ => Err("a whole number of at least 1"),
    }
}

fn boolean(value: &TokenTree) -> Result<TokenTree, &'static str> {
    match value.to_string().as_str() {
        "true" | "false" => Ok(value.clone()),
        _ => Err("`true` or `false`"),
    }
}

fn seed(value: &TokenTree) -> Result<Seed, &'static str> {
    if value.to_string() == "random" {
        return Ok(Seed::Random);
    }
    match integer(value) {
        Some(_) => Ok(Seed::Fixed(value.clone())),
        None => Err("a whole number below 2^64, or `random`"),
    }
}

/// `"some::path"`, its tokens placed where the string stands.
fn path(value: &TokenTree) -> Result<TokenStream, &'static str> {
    const WANTED: &str = "a path in quotes, such as \"::rt\"";
    let tokens = string(value).and_then(|text| text.parse::<TokenStream>().ok());
    let tokens: Vec<TokenTree> = tokens.into_iter().flatten().collect();
    let is_path = |token: &TokenTree| match token {
        TokenTree::Ident(_) => true,
        TokenTree::Punct(colon) => colon.as_char() == ':',
        _ => false,
    };
    if !matches!(tokens.last(), Some(TokenTree::Ident(_))) || !tokens.iter().all(is_path) {
        return Err(WANTED);
    }
    let place = |mut token: TokenTree| {
        token.set_span(value.span());
        token
    };
    Ok(tokens.into_iter().map(place).collect())
}

/// The text of a plain string literal. No option's value needs an escape.
fn string(value: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = value else {
        return None;
    };
    let literal = literal.to_string();
    let text = literal.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then(|| text.to_owned())
}

/// The number of an integer literal, in any of Rust's notations. A suffix is the compiler's to judge.
fn integer(value: &TokenTree) -> Option<u64> {
    let TokenTree::Literal(literal) = value else {
        return None;
    };
    let text = literal.to_string().replace('_', "");
    let (digits, radix) = match text.get(..2) {
        Some("0x") => (&text[2..], 16),
        Some("0o") => (&text[2..], 8),
        Some("0b") => (&text[2..], 2),
        _ => (text.as_str(), 10),
    };
    let digits = digits
        .trim_end_matches("usize")
        .trim_end_matches("u64")
        .trim_end_matches("u32");
    u64::from_str_radix(digits, radix).ok()
}
