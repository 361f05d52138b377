//! A matrix of bits times a vector.

use super::vector::{Row, Vector};

/// Most 32-byte pieces of a row: 816 bytes, and one more for what overlaps.
pub(crate) const MOST_PIECES: usize = 26;

/// The vector's bytes in pieces of 32, as `products` wants them. The last piece belongs to the last 32 bytes of a row; what it has in common
/// with the piece before is zero in it.
#[inline(always)]
pub(crate) fn pieces(vector: &[u8]) -> [[u8; 32]; MOST_PIECES] {
    let mut all = [[0; 32]; MOST_PIECES];
    let (whole, rest) = vector.as_chunks::<32>();
    all[..whole.len()].copy_from_slice(whole);
    all[whole.len()][32 - rest.len()..].copy_from_slice(rest);
    all
}

/// For each of up to 64 rows of `row_bytes` (at least 32) bytes the parity of what it has in common with the vector, a bit each.
#[inline(always)]
pub(crate) fn products<V: Vector>(
    proof: V::Proof,
    rows: &[u8],
    row_bytes: usize,
    pieces: &[[u8; 32]; MOST_PIECES],
) -> u64 {
    let mut all = 0;
    for (i, four) in rows.chunks(4 * row_bytes).enumerate() {
        let sums: [V; 4] = core::array::from_fn(|of| {
            let row =
                if of * row_bytes < four.len() { &four[of * row_bytes..][..row_bytes] } else { &four[..row_bytes] };
            row_sum::<V>(proof, row, pieces)
        });
        let [a, b, c, d] = V::transpose(sums);
        let mut sum = a.xor(b).xor(c.xor(d));
        sum = sum.xor(sum.down_lanes::<32>());
        sum = sum.xor(sum.down_lanes::<16>());
        sum = sum.xor(sum.down_lanes::<8>());
        sum = sum.xor(sum.down_lanes::<4>());
        sum = sum.xor(sum.down_lanes::<2>());
        sum = sum.xor(sum.down_lanes::<1>());
        let mut bits: Row = [0; 4];
        sum.store(&mut bits);
        let here = four.len() / row_bytes;
        for (of, bit) in bits.iter().take(here).enumerate() {
            all |= (bit & 1) << (4 * i + of);
        }
    }
    all
}

/// What a row has in common with the vector, added up.
#[inline(always)]
fn row_sum<V: Vector>(proof: V::Proof, row: &[u8], pieces: &[[u8; 32]; MOST_PIECES]) -> V {
    let whole = row.as_chunks::<32>().0;
    let last = row.last_chunk::<32>().expect("a row is longer");
    let mut sum = V::load_bytes(proof, last).and(V::load_bytes(proof, &pieces[whole.len()]));
    for (row, piece) in whole.iter().zip(pieces) {
        sum = sum.xor(V::load_bytes(proof, row).and(V::load_bytes(proof, piece)));
    }
    sum
}
