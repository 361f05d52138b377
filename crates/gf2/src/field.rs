//! The fields GF(2^m), and sparse reduction for any modulus.
//!
//! - [`Field`]: multiplication, squares, inverses, square roots, traces, half-traces modulo a polynomial known at compile time
//!   ([`Modulus`]), of degree up to 576. The fields of the NIST binary curves, GCM, HQC, AES and Classic McEliece are defined.
//! - [`Packed`]: many products at once in a field with m ≤ 16. Each element takes two bytes.
//! - [`SparseModulus`]: reduction of polynomials of any length modulo any sparse polynomial, chosen at compile time or at run time.
//!
//! ```
//! use candor_gf2::field::{Field, Nist571};
//! let field = Field::<Nist571>::new();
//! let x = field.element([2, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
//! let mut power = x;
//! for _ in 1..571 {
//!     power = field.mul(&power, &x);
//! }
//! assert_eq!(power.words()[0], 1 << 10 | 1 << 5 | 1 << 2 | 1); // x^571 = x^10 + x^5 + x^2 + 1
//! ```

// arithmetic.rs            `Field`; `field_mux.rs` calls the arm
// modulus.rs, derived.rs   moduli, and the constants that follow from one
// limbs.rs, fused.rs       products and their reduction, over vectors of 128-bit lanes
// wide.rs                  what such vectors do, and the lanes in safe Rust; `low/` has those that need instructions
// packed.rs                small fields in slots of vectors
// counts.rs                `Operations`: what a multiplication costs, counted by running it
// reduce.rs                reducers over words, for any modulus; `word.rs` is what they ask of a word
//
// docs/reduction.md has the mathematics, docs/operation-counts.md the counts.

mod arithmetic;
mod counts;
mod derived;
mod element;
mod field_mux;
mod fused;
mod limbs;
mod low;
mod modulus;
mod packed;
mod reduce;
mod wide;
mod word;

pub use arithmetic::{ElementError, Field};
pub use counts::{Counts, Operations};
pub use element::Element;
pub use limbs::Limbs;
pub use modulus::*;
pub use packed::Packed;
