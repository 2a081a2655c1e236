//! An error with the place in the user's code that it is about.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// What was wrong, and where.
pub(crate) struct Error {
    span: Span,
    message: String,
}

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Error {
            span,
            message: message.into(),
        }
    }

    /// Writes the error as a call of `compile_error!` whose tokens all stand at its place.
    pub(crate) fn into_tokens(self) -> TokenStream {
        let mut message = Literal::string(&self.message);
        message.set_span(self.span);
        let argument = TokenStream::from(TokenTree::from(message));
        let mut tokens = vec![
            TokenTree::from(Punct::new(':', Spacing::Joint)),
            Punct::new(':', Spacing::Alone).into(),
            Ident::new("core", self.span).into(),
            Punct::new(':', Spacing::Joint).into(),
            Punct::new(':', Spacing::Alone).into(),
            Ident::new("compile_error", self.span).into(),
            Punct::new('!', Spacing::Alone).into(),
            Group::new(Delimiter::Brace, argument).into(),
        ];
        for token in &mut tokens {
            token.set_span(self.span);
        }
        tokens.into_iter().collect()
    }
}
