//! secp256k1 (SEC 2 version 2, §2.4.1).

use super::comb::{self, BITS, ENTRIES, Entry};
use super::modulus::modulus;
use super::{A, Curve, Endomorphism};

/// The curve secp256k1.
#[derive(Clone, Copy)]
pub struct Secp256k1;

modulus!(
    /// Its field's modulus, 2^256 − 2^32 − 977.
    P, 4, [0xfffffffefffffc2f, 0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff], Secp256k1
);

modulus!(
    /// Its order.
    N, 4, [0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff], Montgomery
);

impl Curve for Secp256k1 {
    type W = [u64; 4];
    type Field = P;
    type Order = N;
    const A: A = A::Zero;
    const B: [u64; 4] = [7, 0, 0, 0];
    const GENERATOR: [[u64; 4]; 2] = [
        [0x59f2815b16f81798, 0x029bfcdb2dce28d9, 0x55a06295ce870b07, 0x79be667ef9dcbbac],
        [0x9c47d08ffb10d4b8, 0xfd17b448a6855419, 0x5da4fbfc0e1108a8, 0x483ada7726a3c465],
    ];
    // The tests in `endomorphism.rs` derive these numbers.
    const ENDOMORPHISM: Option<Endomorphism<[u64; 4]>> = Some(Endomorphism {
        beta: [0xc1396c28719501ee, 0x9cf0497512f58995, 0x6e64479eac3434e9, 0x7ae96a2b657c0710],
        basis: [
            [[0xe86c90e49284eb15, 0x3086d221a7d46bcd, 0], [0x90ab8056f5401b3d, 0x1bbc8129fef177d7, u64::MAX]],
            [[0x57c1108d9d44cfd8, 0x14ca50f7a8e2f3f6, 1], [0xe86c90e49284eb15, 0x3086d221a7d46bcd, 0]],
        ],
        quotients: [
            [0xe893209a45dbb031, 0x3daa8a1471e8ca7f, 0xe86c90e49284eb15, 0x3086d221a7d46bcd],
            [0x1571b4ae8ac47f71, 0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828],
        ],
    });

    #[inline(always)]
    fn comb() -> &'static [Entry<[u64; 4]>] {
        static COMB: [Entry<[u64; 4]>; comb::windows(4, BITS) * ENTRIES] = comb::read(include_bytes!("secp256k1.bin"));
        &COMB
    }
}
