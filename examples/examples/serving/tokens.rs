//! The tokenizer: text to tokens and back.
//!
//! A token is a printable character of ASCII or a pair of frequent letters; of those that fit, the longest is taken.

/// A piece of text, as the model knows it.
pub(crate) type Token = u16;

/// The letters that come in pairs.
const FREQUENT: &[u8; 16] = b"etaoinshrdlu cmf";

const SINGLE: usize = 95;

/// How many tokens there are.
pub(crate) const VOCABULARY: usize = SINGLE + FREQUENT.len() * FREQUENT.len();

/// The tokens of `text`. What is not printable ASCII is as good as a question mark.
pub(crate) fn encode(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 2);
    let mut characters = text.chars().map(simplify).peekable();
    while let Some(first) = characters.next() {
        let pair = characters.peek().and_then(|&second| pair(first, second));
        if pair.is_some() {
            characters.next();
        }
        tokens.push(pair.unwrap_or(Token::from(first - b' ')));
    }
    tokens
}

fn simplify(character: char) -> u8 {
    match u8::try_from(character.to_ascii_lowercase()) {
        Ok(byte @ b' '..=b'~') => byte,
        Ok(b'\n' | b'\t') => b' ',
        _ => b'?',
    }
}

fn pair(first: u8, second: u8) -> Option<Token> {
    let first = FREQUENT.iter().position(|&letter| letter == first)?;
    let second = FREQUENT.iter().position(|&letter| letter == second)?;
    Some((SINGLE + first * FREQUENT.len() + second) as Token)
}

/// What `token` stands for.
pub(crate) fn decode(token: Token) -> String {
    let index = usize::from(token);
    let bytes = match index.checked_sub(SINGLE) {
        None => vec![b' ' + token as u8],
        Some(pair) => vec![
            FREQUENT[pair / FREQUENT.len()],
            FREQUENT[pair % FREQUENT.len()],
        ],
    };
    bytes.into_iter().map(char::from).collect()
}

#[test]
fn what_is_encoded_can_be_read_again() {
    let text = "once upon a time, in a land of 7 trees";
    let tokens = encode(text);
    assert!(tokens.len() < text.len());
    assert!(tokens.iter().all(|&token| usize::from(token) < VOCABULARY));
    let decoded: String = tokens.into_iter().map(decode).collect();
    assert_eq!(decoded, text);
    assert_eq!(encode("é\n"), encode("? "));
}
