//! Source with holes, for what the macros leave behind.

use proc_macro::{Group, Span, TokenStream, TokenTree};

/// Parses `source`, which is written in this crate, and puts tokens where it has one of the words in `holes`.
///
/// All else stands at the macro's call, and its local names are out of the user's sight.
pub(crate) fn fill(source: &str, holes: &[(&str, &TokenStream)]) -> TokenStream {
    let tokens: TokenStream = source.parse().expect("the macros' own source is valid");
    fill_tokens(tokens, holes)
}

fn fill_tokens(tokens: TokenStream, holes: &[(&str, &TokenStream)]) -> TokenStream {
    let mut filled = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let inner = fill_tokens(group.stream(), holes);
                let mut group = Group::new(group.delimiter(), inner);
                group.set_span(Span::mixed_site());
                filled.extend([TokenTree::from(group)]);
            }
            TokenTree::Ident(word) => {
                let name = word.to_string();
                match holes.iter().find(|(hole, _)| *hole == name) {
                    Some((_, tokens)) => filled.extend((*tokens).clone()),
                    None => filled.extend([place(word.into())]),
                }
            }
            other => filled.extend([place(other)]),
        }
    }
    filled
}

fn place(mut token: TokenTree) -> TokenTree {
    token.set_span(Span::mixed_site());
    token
}
