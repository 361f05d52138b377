//! SM2's curve (GB/T 32918.5).

use super::comb::{self, BITS, ENTRIES, Entry};
use super::modulus::modulus;
use super::{A, Curve};

/// The curve sm2p256v1.
#[derive(Clone, Copy)]
pub struct Sm2Curve;

modulus!(
    /// Its field's modulus, 2^256 − 2^224 − 2^96 + 2^64 − 1.
    P, 4, [0xffffffffffffffff, 0xffffffff00000000, 0xffffffffffffffff, 0xfffffffeffffffff], Sm2
);

modulus!(
    /// Its order.
    N, 4, [0x53bbf40939d54123, 0x7203df6b21c6052b, 0xffffffffffffffff, 0xfffffffeffffffff], Montgomery
);

impl Curve for Sm2Curve {
    type W = [u64; 4];
    type Field = P;
    type Order = N;
    const A: A = A::MinusThree;
    const B: [u64; 4] = [0xddbcbd414d940e93, 0xf39789f515ab8f92, 0x4d5a9e4bcf6509a7, 0x28e9fa9e9d9f5e34];
    const GENERATOR: [[u64; 4]; 2] = [
        [0x715a4589334c74c7, 0x8fe30bbff2660be1, 0x5f9904466a39c994, 0x32c4ae2c1f198119],
        [0x02df32e52139f0a0, 0xd0a9877cc62a4740, 0x59bdcee36b692153, 0xbc3736a2f4f6779c],
    ];

    #[inline(always)]
    fn comb() -> &'static [Entry<[u64; 4]>] {
        static COMB: [Entry<[u64; 4]>; comb::windows(4, BITS) * ENTRIES] = comb::read(include_bytes!("sm2.bin"));
        &COMB
    }
}
