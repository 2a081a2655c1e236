//! The annotated function, split into the parts that the expansion needs.

use std::iter::Peekable;

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree, token_stream};

use crate::error::Error;

/// `attributes visibility async fn name() -> output { body }`, each part with its own spans.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: TokenStream,
    pub(crate) async_: Ident,
    pub(crate) fn_: Ident,
    pub(crate) name: Ident,
    /// The empty parentheses.
    pub(crate) arguments: Group,
    /// `-> Type`, or nothing.
    pub(crate) output: TokenStream,
    pub(crate) body: Group,
}

/// `#[path …]`.
pub(crate) struct Attribute {
    pub(crate) tokens: TokenStream,
    /// The last segment of its path: `test` for `#[core::prelude::v1::test]`.
    name: String,
    pub(crate) span: Span,
}

impl Attribute {
    /// Whether this attribute alone makes the function a test.
    pub(crate) fn is_test(&self) -> bool {
        self.name == "test"
    }
}

type Tokens = Peekable<token_stream::IntoIter>;

impl Function {
    /// Splits an item. `attribute` is the macro's own name, for the messages.
    pub(crate) fn parse(item: TokenStream, attribute: &str) -> Result<Function, Error> {
        let mut tokens = item.into_iter().peekable();
        let attributes = attributes(&mut tokens);
        let visibility = visibility(&mut tokens);
        let (async_, fn_) = qualifiers(&mut tokens, attribute)?;
        let name = match tokens.next() {
            Some(TokenTree::Ident(name)) => name,
            other => return Err(expected("the function's name", other, fn_.span())),
        };
        if let Some(TokenTree::Punct(open)) = tokens.peek()
            && open.as_char() == '<'
        {
            let message = format!("a function with `{attribute}` cannot be generic");
            return Err(Error::new(open.span(), message));
        }
        let arguments = arguments(&mut tokens, &name, attribute)?;
        let (output, body) = output_and_body(tokens, &name, attribute)?;
        Ok(Function {
            attributes,
            visibility,
            async_,
            fn_,
            name,
            arguments,
            output,
            body,
        })
    }
}

fn attributes(tokens: &mut Tokens) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    while let Some(hash) = tokens.next_if(|token| is_punct(token, '#')) {
        let Some(body) = tokens.next() else { break };
        let mut name = String::new();
        if let TokenTree::Group(group) = &body {
            for token in group.stream() {
                match token {
                    TokenTree::Ident(segment) => name = segment.to_string(),
                    TokenTree::Punct(colon) if colon.as_char() == ':' => {}
                    _ => break,
                }
            }
        }
        let span = body.span();
        attributes.push(Attribute {
            tokens: [hash, body].into_iter().collect(),
            name,
            span,
        });
    }
    attributes
}

fn visibility(tokens: &mut Tokens) -> TokenStream {
    let mut visibility = TokenStream::new();
    // A `$vis` of a `macro_rules!` comes as one group without delimiters.
    let is_fragment = |token: &TokenTree| matches!(group(token), Some(Delimiter::None));
    if let Some(fragment) = tokens.next_if(is_fragment) {
        visibility.extend([fragment]);
    } else if let Some(keyword) = tokens.next_if(|token| is_keyword(token, "pub")) {
        visibility.extend([keyword]);
        let is_scope = |token: &TokenTree| matches!(group(token), Some(Delimiter::Parenthesis));
        visibility.extend(tokens.next_if(is_scope));
    }
    visibility
}

/// Reads `async fn`, and refuses everything else that may stand there.
fn qualifiers(tokens: &mut Tokens, attribute: &str) -> Result<(Ident, Ident), Error> {
    let mut async_ = None;
    loop {
        let token = tokens.next();
        let Some(TokenTree::Ident(word)) = token else {
            return Err(not_a_function(token, attribute));
        };
        match word.to_string().as_str() {
            "async" => async_ = Some(word),
            "fn" => {
                return match async_ {
                    Some(async_) => Ok((async_, word)),
                    None => Err(Error::new(
                        word.span(),
                        format!("`async` is missing: `{attribute}` takes an `async fn`"),
                    )),
                };
            }
            qualifier @ ("unsafe" | "const" | "extern" | "safe") => {
                let message = format!("a function with `{attribute}` cannot be `{qualifier}`");
                return Err(Error::new(word.span(), message));
            }
            _ => return Err(not_a_function(Some(word.into()), attribute)),
        }
    }
}

fn arguments(tokens: &mut Tokens, name: &Ident, attribute: &str) -> Result<Group, Error> {
    match tokens.next() {
        Some(TokenTree::Group(list)) if list.delimiter() == Delimiter::Parenthesis => {
            let Some(first) = list.stream().into_iter().next() else {
                return Ok(list);
            };
            let message = format!("a function with `{attribute}` takes no arguments");
            Err(Error::new(first.span(), message))
        }
        other => Err(expected("`()`", other, name.span())),
    }
}

/// Everything after the parentheses: the last token is the body, the rest the return type.
fn output_and_body(
    tokens: Tokens,
    name: &Ident,
    attribute: &str,
) -> Result<(TokenStream, Group), Error> {
    let mut output: Vec<TokenTree> = tokens.collect();
    if let Some(where_) = output.iter().find(|token| is_keyword(token, "where")) {
        let message = format!("a function with `{attribute}` cannot have a `where` clause");
        return Err(Error::new(where_.span(), message));
    }
    match output.pop().and_then(block) {
        Some(body) => Ok((output.into_iter().collect(), body)),
        None => Err(Error::new(name.span(), "the function has no body")),
    }
}

/// The braces of a body, also when a `$body:block` of a `macro_rules!` wraps them.
fn block(token: TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = token else {
        return None;
    };
    match group.delimiter() {
        Delimiter::Brace => Some(group),
        Delimiter::None => group.stream().into_iter().last().and_then(block),
        _ => None,
    }
}

fn not_a_function(found: Option<TokenTree>, attribute: &str) -> Error {
    let span = found.map_or_else(Span::call_site, |token| token.span());
    Error::new(span, format!("`{attribute}` takes an `async fn`"))
}

fn expected(what: &str, found: Option<TokenTree>, before: Span) -> Error {
    let span = found.map_or(before, |token| token.span());
    Error::new(span, format!("expected {what}"))
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_keyword(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word.to_string() == wanted)
}

fn group(token: &TokenTree) -> Option<Delimiter> {
    match token {
        TokenTree::Group(group) => Some(group.delimiter()),
        _ => None,
    }
}
