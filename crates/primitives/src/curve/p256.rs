//! P-256 (SP 800-186 §3.2.1.3; secp256r1 of SEC 2).

use super::comb::{self, BITS, ENTRIES, Entry};
use super::modulus::modulus;
use super::{A, Curve};

/// The curve P-256.
#[derive(Clone, Copy)]
pub struct P256;

modulus!(
    /// Its field's modulus, 2^256 − 2^224 + 2^192 + 2^96 − 1.
    P, 4, [0xffffffffffffffff, 0x00000000ffffffff, 0x0000000000000000, 0xffffffff00000001], P256
);

modulus!(
    /// Its order.
    N, 4, [0xf3b9cac2fc632551, 0xbce6faada7179e84, 0xffffffffffffffff, 0xffffffff00000000], Montgomery
);

impl Curve for P256 {
    type W = [u64; 4];
    type Field = P;
    type Order = N;
    const A: A = A::MinusThree;
    const B: [u64; 4] = [0x3bce3c3e27d2604b, 0x651d06b0cc53b0f6, 0xb3ebbd55769886bc, 0x5ac635d8aa3a93e7];
    const GENERATOR: [[u64; 4]; 2] = [
        [0xf4a13945d898c296, 0x77037d812deb33a0, 0xf8bce6e563a440f2, 0x6b17d1f2e12c4247],
        [0xcbb6406837bf51f5, 0x2bce33576b315ece, 0x8ee7eb4a7c0f9e16, 0x4fe342e2fe1a7f9b],
    ];

    #[inline(always)]
    fn comb() -> &'static [Entry<[u64; 4]>] {
        static COMB: [Entry<[u64; 4]>; comb::windows(4, BITS) * ENTRIES] = comb::read(include_bytes!("p256.bin"));
        &COMB
    }
}
