//! X25519 on general registers (`adx`), and on AVX-512's products of 52 bits: the ladder for one point, two and eight, and the comb for one
//! scalar and eight.
//!
//! `docs/x25519.md` has the formulas and the bounds of all limbs.

pub(crate) mod adx;
mod comb;
mod ladder;
mod lanes;
mod numbers;
mod words;

pub(crate) use comb::{base, base_8};
pub(crate) use ladder::{ladder, ladder_2, ladder_8};
