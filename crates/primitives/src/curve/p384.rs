//! P-384 (SP 800-186 §3.2.1.4; secp384r1 of SEC 2).

use super::comb::{self, BITS, ENTRIES, Entry};
use super::modulus::modulus;
use super::{A, Curve};

/// The curve P-384.
#[derive(Clone, Copy)]
pub struct P384;

modulus!(
    /// Its field's modulus, 2^384 − 2^128 − 2^96 + 2^32 − 1.
    P, 6, [0x00000000ffffffff, 0xffffffff00000000, 0xfffffffffffffffe, 0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff], P384
);

modulus!(
    /// Its order.
    N, 6, [0xecec196accc52973, 0x581a0db248b0a77a, 0xc7634d81f4372ddf, 0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff], Montgomery
);

impl Curve for P384 {
    type W = [u64; 6];
    type Field = P;
    type Order = N;
    const A: A = A::MinusThree;
    const B: [u64; 6] = [
        0x2a85c8edd3ec2aef,
        0xc656398d8a2ed19d,
        0x0314088f5013875a,
        0x181d9c6efe814112,
        0x988e056be3f82d19,
        0xb3312fa7e23ee7e4,
    ];
    const GENERATOR: [[u64; 6]; 2] = [
        [
            0x3a545e3872760ab7,
            0x5502f25dbf55296c,
            0x59f741e082542a38,
            0x6e1d3b628ba79b98,
            0x8eb1c71ef320ad74,
            0xaa87ca22be8b0537,
        ],
        [
            0x7a431d7c90ea0e5f,
            0x0a60b1ce1d7e819d,
            0xe9da3113b5f0b8c0,
            0xf8f41dbd289a147c,
            0x5d9e98bf9292dc29,
            0x3617de4a96262c6f,
        ],
    ];

    #[inline(always)]
    fn comb() -> &'static [Entry<[u64; 6]>] {
        static COMB: [Entry<[u64; 6]>; comb::windows(6, BITS) * ENTRIES] = comb::read(include_bytes!("p384.bin"));
        &COMB
    }
}
