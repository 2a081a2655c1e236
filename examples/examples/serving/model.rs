//! The model: what comes next, for a whole batch at once.
//!
//! A recurrent network of one layer. Its weights come from a generator of pseudo-random numbers: it has learned nothing.

use crate::tokens::{Token, VOCABULARY};

/// The width of its state.
const WIDTH: usize = 192;

/// About three times the inverse of the root of [`WIDTH`].
const SCALE: f32 = 0.22;

/// What the model knows of a text so far.
pub(crate) type State = [f32; WIDTH];

/// A matrix, row by row.
struct Matrix {
    columns: usize,
    cells: Vec<f32>,
}

pub(crate) struct Model {
    /// A row for each token.
    embeddings: Matrix,
    /// From a state and an embedding to the next state.
    recurrence: Matrix,
}

impl Model {
    pub(crate) fn new() -> Self {
        let mut seed = 42;
        Model {
            embeddings: Matrix::random(VOCABULARY, WIDTH, &mut seed),
            recurrence: Matrix::random(WIDTH, WIDTH, &mut seed),
        }
    }

    /// The state after the prompt.
    pub(crate) fn read(&self, prompt: &[Token]) -> State {
        let mut state = [0.0; WIDTH];
        for &token in prompt {
            for (sum, weight) in state.iter_mut().zip(self.embeddings.row(token.into())) {
                *sum = (*sum * 0.9 + weight).tanh();
            }
        }
        state
    }

    /// The next token after each of the states, which move on.
    pub(crate) fn step(&self, states: &mut [State]) -> Vec<Token> {
        let moved = self.recurrence.times(states);
        for (state, moved) in states.iter_mut().zip(&moved) {
            for (cell, sum) in state.iter_mut().zip(moved) {
                *cell = sum.tanh();
            }
        }
        let scores = self.embeddings.times(states);
        let mut tokens = Vec::with_capacity(states.len());
        for (state, scores) in states.iter_mut().zip(&scores) {
            let best = (0..VOCABULARY).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            let best = best.expect("there are tokens");
            // What has been said changes what is said next.
            for (cell, weight) in state.iter_mut().zip(self.embeddings.row(best)) {
                *cell -= weight;
            }
            tokens.push(best as Token);
        }
        tokens
    }
}

impl Matrix {
    /// Numbers around zero, small enough for a sum of [`WIDTH`] products to stay in bounds.
    fn random(rows: usize, columns: usize, seed: &mut u64) -> Self {
        let cells = (0..rows * columns)
            .map(|_| {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (f32::from((*seed >> 48) as u16) / f32::from(u16::MAX) - 0.5) * SCALE
            })
            .collect();
        Matrix { columns, cells }
    }

    fn row(&self, index: usize) -> &[f32] {
        &self.cells[index * self.columns..][..self.columns]
    }

    /// The product with each of the vectors. Every row is read once for the whole batch: that is why
    /// batches pay.
    fn times(&self, vectors: &[State]) -> Vec<Vec<f32>> {
        let rows = self.cells.len() / self.columns;
        let mut products = vec![Vec::with_capacity(rows); vectors.len()];
        for row in self.cells.chunks_exact(self.columns) {
            for (product, vector) in products.iter_mut().zip(vectors) {
                product.push(row.iter().zip(vector).map(|(a, b)| a * b).sum());
            }
        }
        products
    }
}

#[test]
fn neighbours_in_a_batch_change_nothing() {
    let model = Model::new();
    let alone = model.read(&crate::tokens::encode("once upon a time"));
    let other = model.read(&crate::tokens::encode("the sea"));
    let mut states = [alone, other];
    let mut single = [alone];
    let mut said = Vec::new();
    for _ in 0..20 {
        let together = model.step(&mut states);
        assert_eq!(together[0], model.step(&mut single)[0]);
        said.push(together[0]);
    }
    said.dedup();
    assert!(said.len() > 1, "it stammers");
}
