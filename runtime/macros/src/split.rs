//! Splitting tokens at commas and arrows, where they separate the parts of a macro's input.
//!
//! Brackets are groups already, so only the angle brackets of generic arguments hide commas. Whether a `<` opens such
//! or compares is told from what stands before it: it opens after `::`, after `as PATH`, and where an
//! expression begins.

use proc_macro::{Delimiter, Group, Spacing, Span, TokenStream, TokenTree};

/// Tokens that are read from left to right.
pub(crate) struct Input {
    tokens: Vec<TokenTree>,
    at: usize,
}

impl Input {
    pub(crate) fn new(tokens: TokenStream) -> Self {
        Input {
            tokens: tokens.into_iter().collect(),
            at: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub(crate) fn peek(&self) -> Option<&TokenTree> {
        self.tokens.get(self.at)
    }

    pub(crate) fn next(&mut self) -> Option<TokenTree> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        Some(token)
    }

    /// The place of the next token, or of the last one at the end.
    pub(crate) fn span(&self) -> Span {
        let token = self.peek().or(self.tokens.last());
        token.map_or_else(Span::call_site, TokenTree::span)
    }

    /// Takes the first group: the path of the crate, which the outer macro puts in front.
    pub(crate) fn crate_path(&mut self) -> TokenStream {
        match self.next() {
            Some(TokenTree::Group(group)) => group.stream(),
            _ => "::rt".parse().expect("a path"),
        }
    }

    /// Takes `word ;` if it stands next.
    pub(crate) fn take_flag(&mut self, word: &str) -> bool {
        let stands = is_word(self.peek(), word) && is_punct(self.tokens.get(self.at + 1), ';');
        if stands {
            self.at += 2;
        }
        stands
    }

    /// Takes a word if it stands next.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let stands = is_word(self.peek(), word);
        self.at += usize::from(stands);
        stands
    }

    /// Takes a comma if it stands next.
    pub(crate) fn take_comma(&mut self) -> bool {
        let stands = is_punct(self.peek(), ',');
        self.at += usize::from(stands);
        stands
    }

    /// Takes `=>` if it stands next.
    pub(crate) fn take_arrow(&mut self) -> bool {
        let stands = self.stop_at(self.at) == Some(Stop::Arrow);
        self.at += if stands { 2 } else { 0 };
        stands
    }

    /// Takes what is a block by itself, with braces also if a `$x:block` wraps them.
    pub(crate) fn take_block(&mut self) -> Option<TokenTree> {
        match self.peek() {
            Some(TokenTree::Group(group)) if is_block(group) => self.next(),
            _ => None,
        }
    }

    /// Takes everything up to the next stop that is one of `stops`, or to the end, and says which it was.
    pub(crate) fn take_until(&mut self, stops: &[Stop]) -> (TokenStream, Option<Stop>) {
        let from = self.at;
        let mut angles = Angles::default();
        while self.at < self.tokens.len() {
            let stop = self.stop_at(self.at);
            if let Some(stop) = stop
                && stops.contains(&stop)
                && (angles.depth == 0 || stop == Stop::Arrow)
            {
                let taken = self.tokens[from..self.at].iter().cloned().collect();
                return (taken, Some(stop));
            }
            angles.pass(&self.tokens[from..self.at], &self.tokens[self.at]);
            // An arrow is passed whole, so that its `>` closes nothing.
            self.at += if stop == Some(Stop::Arrow) { 2 } else { 1 };
        }
        (self.tokens[from..].iter().cloned().collect(), None)
    }

    fn stop_at(&self, at: usize) -> Option<Stop> {
        let TokenTree::Punct(punct) = self.tokens.get(at)? else {
            return None;
        };
        let joined = at > 0
            && matches!(&self.tokens[at - 1], TokenTree::Punct(before)
                if before.spacing() == Spacing::Joint && "=!<>+-*/%^&|.".contains(before.as_char()));
        let next = match self.tokens.get(at + 1) {
            Some(TokenTree::Punct(next)) if punct.spacing() == Spacing::Joint => {
                Some(next.as_char())
            }
            _ => None,
        };
        match (punct.as_char(), next) {
            (',', _) => Some(Stop::Comma),
            ('=', Some('>')) if !joined => Some(Stop::Arrow),
            ('=', Some('=')) => None,
            ('=', _) if !joined => Some(Stop::Equals),
            _ => None,
        }
    }
}

/// What separates parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// `,`
    Comma,
    /// `=` by itself.
    Equals,
    /// `=>`
    Arrow,
}

/// How deep in generic arguments we are.
#[derive(Default)]
struct Angles {
    depth: u32,
}

impl Angles {
    /// Passes `token`, which stands behind `before`.
    fn pass(&mut self, before: &[TokenTree], token: &TokenTree) {
        let TokenTree::Punct(punct) = token else {
            return;
        };
        match punct.as_char() {
            '<' if self.depth > 0 || opens_generics(before) => self.depth += 1,
            '>' if self.depth > 0 && !is_joint(before.last(), '-') => self.depth -= 1,
            _ => {}
        }
    }
}

/// Whether a `<` behind these tokens opens generic arguments.
fn opens_generics(before: &[TokenTree]) -> bool {
    match before.last() {
        // Where an expression begins; after `::` too.
        None => true,
        Some(TokenTree::Punct(punct)) => !matches!(punct.as_char(), '?' | '>'),
        Some(TokenTree::Ident(word)) => {
            if ["return", "break", "in", "await"].contains(&word.to_string().as_str()) {
                return word.to_string() != "await";
            }
            // `as some::Path<`
            let path = before.iter().rev();
            let mut path = path.skip_while(|token| {
                matches!(token, TokenTree::Ident(word) if word.to_string() != "as")
                    || matches!(token, TokenTree::Punct(colon) if colon.as_char() == ':')
            });
            is_word(path.next(), "as")
        }
        Some(TokenTree::Group(_) | TokenTree::Literal(_)) => false,
    }
}

fn is_block(group: &Group) -> bool {
    match group.delimiter() {
        Delimiter::Brace => true,
        Delimiter::None => {
            let mut inner = group.stream().into_iter();
            match (inner.next(), inner.next()) {
                (Some(TokenTree::Group(inner)), None) => is_block(&inner),
                _ => false,
            }
        }
        _ => false,
    }
}

fn is_word(token: Option<&TokenTree>, wanted: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(word)) if word.to_string() == wanted)
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_joint(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct))
        if punct.as_char() == wanted && punct.spacing() == Spacing::Joint)
}
