//! The permutation KECCAK-p[1600, 24] (FIPS 202 §3.3) in safe Rust.
//!
//! Lane (x, y) of the standard is word x + 5y. Constant time: logic and rotations by constants; the only index is the round.

/// Absorbs `blocks`: xors each into the state's first words and permutes. A function of its own in the binary too, so that
/// `cargo xtask ct` can see that it ran.
#[inline(never)]
pub(super) fn absorb<const RATE: usize>(state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    for block in blocks {
        for (lane, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane ^= u64::from_le_bytes(*bytes);
        }
        permute(state);
    }
}

/// The permutation.
#[inline(never)]
pub(super) fn permute(state: &mut [u64; 25]) {
    let mut a = *state;
    for constant in ROUND_CONSTANTS {
        round(&mut a, constant);
    }
    *state = a;
}

/// One round: θ, ρ and π, χ, ι (§3.2).
#[inline(always)]
pub(crate) fn round(a: &mut [u64; 25], constant: u64) {
    let column = |x: usize| a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    let c = [column(0), column(1), column(2), column(3), column(4)];
    let d = [
        c[4] ^ c[1].rotate_left(1),
        c[0] ^ c[2].rotate_left(1),
        c[1] ^ c[3].rotate_left(1),
        c[2] ^ c[4].rotate_left(1),
        c[3] ^ c[0].rotate_left(1),
    ];
    // Row Y after ρ and π: its lane x comes from lane (x + 3Y, x) of before.
    macro_rules! row {
        ($([$from:expr, $rho:expr]),+) => {{
            let b = [$((a[$from] ^ d[$from % 5]).rotate_left($rho)),+];
            [
                b[0] ^ (!b[1] & b[2]),
                b[1] ^ (!b[2] & b[3]),
                b[2] ^ (!b[3] & b[4]),
                b[3] ^ (!b[4] & b[0]),
                b[4] ^ (!b[0] & b[1]),
            ]
        }};
    }
    let rows = [
        row!([0, 0], [6, 44], [12, 43], [18, 21], [24, 14]),
        row!([3, 28], [9, 20], [10, 3], [16, 45], [22, 61]),
        row!([1, 1], [7, 6], [13, 25], [19, 8], [20, 18]),
        row!([4, 27], [5, 36], [11, 10], [17, 15], [23, 56]),
        row!([2, 62], [8, 55], [14, 39], [15, 41], [21, 2]),
    ];
    for (lanes, row) in a.as_chunks_mut::<5>().0.iter_mut().zip(rows) {
        *lanes = row;
    }
    a[0] ^= constant;
}

/// RC of ι, a round each (§3.2.5).
#[rustfmt::skip]
pub(crate) const ROUND_CONSTANTS: [u64; 24] = [
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
];
