//! The function that the macros leave behind.

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

use crate::error::Error;
use crate::item::Function;
use crate::options::{Flavor, Options, Seed};

/// Which of the two attributes is expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Test,
}

impl Kind {
    fn attribute(self) -> &'static str {
        match self {
            Kind::Main => "#[rt::main]",
            Kind::Test => "#[rt::test]",
        }
    }

    fn default_flavor(self) -> Flavor {
        match self {
            Kind::Main => Flavor::MultiThread,
            Kind::Test => Flavor::CurrentThread,
        }
    }
}

/// Expands either attribute.
///
/// An error is written beside a function of the right name wherever one can be made, so that a
/// program does not also lack its `main`.
pub(crate) fn entry(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match Function::parse(item.clone(), kind.attribute()) {
        Ok(function) => function,
        Err(error) => return beside(error, stub(kind, item)),
    };
    if kind == Kind::Test
        && let Some(second) = function.attributes.iter().find(|other| other.is_test())
    {
        let message = "a second test attribute: the function would run twice";
        return beside(Error::new(second.span, message), TokenStream::new());
    }
    let options = Options::parse(options);
    match options.and_then(|options| Ok((options.check(kind.default_flavor())?, options))) {
        Ok((flavor, options)) => {
            outer(kind, &function, &builder(kind, flavor, &options, &function))
        }
        Err(error) => {
            let defaults = builder(kind, kind.default_flavor(), &Options::default(), &function);
            beside(error, outer(kind, &function, &defaults))
        }
    }
}

fn beside(error: Error, rest: TokenStream) -> TokenStream {
    let mut tokens = error.into_tokens();
    tokens.extend(rest);
    tokens
}

/// What stands in for an item that could not be split: a `main` if it was one, so that its absence is
/// not reported too; and the item itself if the compiler can take it as it is.
fn stub(kind: Kind, item: TokenStream) -> TokenStream {
    let words: Vec<String> = item
        .clone()
        .into_iter()
        .map(|token| token.to_string())
        .collect();
    let is_async = words.iter().any(|word| word == "async");
    let is_main = words
        .windows(2)
        .any(|pair| pair[0] == "fn" && pair[1] == "main");
    match kind {
        Kind::Main if !is_async => item,
        Kind::Main if is_main => quote("fn main() {}", Span::call_site()),
        _ => TokenStream::new(),
    }
}

/// `attributes visibility fn name() -> output { async fn name() -> output { body } run }`
fn outer(kind: Kind, function: &Function, run: &TokenStream) -> TokenStream {
    let mut tokens = TokenStream::new();
    if kind == Kind::Test {
        tokens.extend(quote("#[::core::prelude::v1::test]", site(function)));
    }
    for attribute in &function.attributes {
        tokens.extend(attribute.tokens.clone());
    }
    tokens.extend(function.visibility.clone());
    tokens.extend(signature(function));

    let mut body = quote("#[allow(clippy::unused_async)]", site(function));
    body.extend([TokenTree::from(function.async_.clone())]);
    body.extend(signature(function));
    body.extend([TokenTree::from(function.body.clone())]);
    body.extend(run.clone());
    let mut body = Group::new(Delimiter::Brace, body);
    body.set_span(function.body.span());
    tokens.extend([TokenTree::from(body)]);
    tokens
}

/// `fn name() -> output`
fn signature(function: &Function) -> TokenStream {
    let mut tokens = TokenStream::from_iter([
        TokenTree::from(function.fn_.clone()),
        function.name.clone().into(),
        function.arguments.clone().into(),
    ]);
    tokens.extend(function.output.clone());
    tokens
}

/// `path::Runtime::builder().option(value)….build().expect("…").block_on(name())`
fn builder(kind: Kind, flavor: Flavor, options: &Options, function: &Function) -> TokenStream {
    let site = site(function);
    let rt = match &options.crate_path {
        Some(path) => path.value.clone(),
        None => quote("::rt", site),
    };
    let mut tokens = rt.clone();
    tokens.extend(quote("::Runtime::builder()", site));
    if flavor == Flavor::CurrentThread {
        tokens.extend(quote(".current_thread()", site));
    }
    let values = [
        ("io_threads", &options.io_threads),
        ("cpu_threads", &options.cpu_threads),
        ("start_paused", &options.start_paused),
    ];
    for (name, given) in values {
        if let Some(given) = given {
            tokens.extend(call(name, given.value.clone(), site));
        }
    }
    if let Some(seed) = &options.seed {
        let value = match &seed.value {
            Seed::Fixed(value) => value.clone(),
            Seed::Random => {
                let call = format!("::macros_support::random_seed(\"{}\")", kind.attribute());
                let mut drawn = rt;
                drawn.extend(quote(&call, site));
                Group::new(Delimiter::None, drawn).into()
            }
        };
        tokens.extend(call("seed", value, site));
    }
    tokens.extend(quote(
        ".build().expect(\"the runtime could not be built\").block_on",
        site,
    ));
    let name = [
        TokenTree::from(function.name.clone()),
        function.arguments.clone().into(),
    ];
    let argument = Group::new(Delimiter::Parenthesis, name.into_iter().collect());
    tokens.extend([TokenTree::from(argument)]);
    tokens
}

/// `.name(value)`
fn call(name: &str, value: TokenTree, site: Span) -> TokenStream {
    let mut tokens = quote(&format!(".{name}"), site);
    let argument = Group::new(Delimiter::Parenthesis, value.into());
    tokens.extend([TokenTree::from(argument)]);
    tokens
}

/// Where generated tokens stand: at the function's name, but invisible to the user's own names.
fn site(function: &Function) -> Span {
    Span::mixed_site().located_at(function.name.span())
}

/// Parses source written in this file and gives it a place.
fn quote(source: &str, site: Span) -> TokenStream {
    let tokens: TokenStream = source.parse().expect("the macros' own source is valid");
    at(tokens, site)
}

fn at(tokens: TokenStream, site: Span) -> TokenStream {
    let place = |token| {
        let mut token = match token {
            TokenTree::Group(group) => {
                Group::new(group.delimiter(), at(group.stream(), site)).into()
            }
            other => other,
        };
        token.set_span(site);
        token
    };
    tokens.into_iter().map(place).collect()
}
