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
        let here = four.len() / row_bytes;
        // Rows that are not there are the first once more.
        let row = |of: usize| &four[if of < here { of * row_bytes } else { 0 }..][..row_bytes];
        let [a, b, c, d] = V::transpose(sums(proof, [row(0), row(1), row(2), row(3)], pieces));
        let mut sum = a.xor(b).xor(c.xor(d));
        sum = sum.xor(sum.down_lanes::<32>());
        sum = sum.xor(sum.down_lanes::<16>());
        sum = sum.xor(sum.down_lanes::<8>());
        sum = sum.xor(sum.down_lanes::<4>());
        sum = sum.xor(sum.down_lanes::<2>());
        sum = sum.xor(sum.down_lanes::<1>());
        let mut bits: Row = [0; 4];
        sum.store(&mut bits);
        let four = bits[0] & 1 | (bits[1] & 1) << 1 | (bits[2] & 1) << 2 | (bits[3] & 1) << 3;
        all |= (four & ((1 << here) - 1)) << (4 * i);
    }
    all
}

/// What four rows have in common with the vector, each added up in a vector of its own.
#[inline(always)]
fn sums<V: Vector>(proof: V::Proof, rows: [&[u8]; 4], pieces: &[[u8; 32]; MOST_PIECES]) -> [V; 4] {
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<32>().0);
    let mut sums = [V::zero(proof); 4];
    for ((((piece, a), b), c), d) in pieces.iter().zip(a).zip(b).zip(c).zip(d) {
        let piece = V::load_bytes(proof, piece);
        sums[0] = sums[0].xor(V::load_bytes(proof, a).and(piece));
        sums[1] = sums[1].xor(V::load_bytes(proof, b).and(piece));
        sums[2] = sums[2].xor(V::load_bytes(proof, c).and(piece));
        sums[3] = sums[3].xor(V::load_bytes(proof, d).and(piece));
    }
    let piece = V::load_bytes(proof, &pieces[a.len()]);
    for (sum, row) in sums.iter_mut().zip(rows) {
        if let Some(last) = row.last_chunk::<32>() {
            *sum = sum.xor(V::load_bytes(proof, last).and(piece));
        }
    }
    sums
}
