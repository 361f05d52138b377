//! SM2's curve (GB/T 32918.5).

use super::{COMB_ENTRIES, COMB_WINDOWS, Comb, Curve, Entry, Modulus, Prime, Words};

/// The curve sm2p256v1.
#[derive(Clone, Copy)]
pub(crate) struct Sm2Curve;

/// Its field's modulus, 2^256 − 2^224 − 2^96 + 2^64 − 1.
#[derive(Clone, Copy)]
pub(crate) struct P;

/// Its order.
#[derive(Clone, Copy)]
pub(crate) struct N;

impl Prime for P {
    const P: Words = [0xffffffffffffffff, 0xffffffff00000000, 0xffffffffffffffff, 0xfffffffeffffffff];
}

impl Modulus for P {
    const IS_SM2: bool = true;
}

impl Prime for N {
    const P: Words = [0x53bbf40939d54123, 0x7203df6b21c6052b, 0xffffffffffffffff, 0xfffffffeffffffff];
}

impl Modulus for N {}

impl Curve for Sm2Curve {
    type Field = P;
    type Order = N;
    const B: Words = [0xddbcbd414d940e93, 0xf39789f515ab8f92, 0x4d5a9e4bcf6509a7, 0x28e9fa9e9d9f5e34];
    const GENERATOR: [Words; 2] = [
        [0x715a4589334c74c7, 0x8fe30bbff2660be1, 0x5f9904466a39c994, 0x32c4ae2c1f198119],
        [0x02df32e52139f0a0, 0xd0a9877cc62a4740, 0x59bdcee36b692153, 0xbc3736a2f4f6779c],
    ];

    #[inline(always)]
    fn comb() -> &'static Comb {
        &COMB
    }
}

/// `sm2.bin` has each coordinate in 32 bytes, in Montgomery's form, the lowest byte first. It was written by the test `write_the_table` in
/// `multiply.rs`, and `the_tables_hold_the_multiples_of_the_generators` there derives it again.
static COMB: Comb = read(include_bytes!("sm2.bin"));

const fn read(bytes: &[u8; COMB_WINDOWS * COMB_ENTRIES * 64]) -> Comb {
    let mut table = [[Entry([[0; 4]; 2]); COMB_ENTRIES]; COMB_WINDOWS];
    let words = bytes.as_chunks::<8>().0;
    let mut at = 0;
    while at < words.len() {
        table[at / 8 / COMB_ENTRIES][at / 8 % COMB_ENTRIES].0[at / 4 % 2][at % 4] = u64::from_le_bytes(words[at]);
        at += 1;
    }
    table
}
