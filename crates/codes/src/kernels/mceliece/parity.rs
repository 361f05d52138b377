//! A matrix of bits times a vector.

use super::vector::{Row, Vector};

/// Pieces of a vector, of 32 bytes each: those of the longest row, 816 bytes, and one more.
pub(crate) const PIECES: usize = 26;
/// Its words.
pub(crate) const LENGTH: usize = 4 * PIECES;

/// The vector in pieces of 32 bytes, as `products` wants them for rows of `row_bytes`. The last piece belongs to the last 32 bytes of a row; what
/// it has in common with the piece before is zero in it. `pieces` holds zeros before.
#[inline(always)]
pub(crate) fn pieces(vector: &[u64; LENGTH], row_bytes: usize, pieces: &mut [Row; PIECES]) {
    let whole = row_bytes / 32;
    let (first, rest) = vector.split_at(4 * whole);
    for (piece, words) in pieces.iter_mut().zip(first.as_chunks().0) {
        piece.0 = *words;
    }
    // What is left of the vector, moved up to the end of 256 bits; if there is nothing, all is moved out.
    let shift = 8 * (32 - row_bytes % 32);
    let (words, bits) = (shift / 64, shift % 64);
    for (i, word) in pieces[whole].iter_mut().enumerate().skip(words) {
        let below = if i > words { rest[i - words - 1] } else { 0 };
        *word = rest[i - words] << bits | below >> 1 >> (63 - bits);
    }
}

/// For each of up to 64 rows of `row_bytes` (at least 32) bytes the parity of what it has in common with the vector, a bit each. Bits
/// beyond the rows mean nothing.
#[inline(always)]
pub(crate) fn products<V: Vector>(proof: V::Proof, rows: &[u8], row_bytes: usize, pieces: &[Row; PIECES]) -> u64 {
    let mut words = [0; 64];
    for (words, four) in words.as_chunks_mut::<4>().0.iter_mut().zip(rows.chunks(4 * row_bytes)) {
        // Rows that are not there are the first once more, and their sums are not used.
        let row =
            |of: usize| four[if of * row_bytes < four.len() { of * row_bytes } else { 0 }..].split_at(row_bytes).0;
        let [a, b, c, d] = V::transpose(sums(proof, [row(0), row(1), row(2), row(3)], pieces));
        let mut sum = Row::ZERO;
        a.xor(b).xor(c.xor(d)).store(&mut sum);
        *words = sum.0;
    }
    parities(&mut words)
}

/// The parity of word i at bit i.
#[inline(always)]
fn parities(words: &mut [u64; 64]) -> u64 {
    merge::<32>(words, 0x0000_0000_ffff_ffff);
    merge::<16>(words, 0x0000_ffff_0000_ffff);
    merge::<8>(words, 0x00ff_00ff_00ff_00ff);
    merge::<4>(words, 0x0f0f_0f0f_0f0f_0f0f);
    merge::<2>(words, 0x3333_3333_3333_3333);
    merge::<1>(words, 0x5555_5555_5555_5555);
    words[0]
}

/// Merges words i and i + D, for all i below D: bits in `low` are those of the first, added to those D places up, the others those of the second,
/// added to those D places down.
#[inline(always)]
fn merge<const D: usize>(words: &mut [u64; 64], low: u64) {
    let (first, second) = words.split_at_mut(D);
    for (a, b) in first.iter_mut().zip(second) {
        *a = (*a ^ *a >> D) & low | (*b ^ *b << D) & !low;
    }
}

/// What four rows have in common with the vector, each added up in a vector of its own.
#[inline(always)]
fn sums<V: Vector>(proof: V::Proof, rows: [&[u8]; 4], pieces: &[Row; PIECES]) -> [V; 4] {
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<32>().0);
    let mut sums = [V::zero(proof); 4];
    for ((((piece, a), b), c), d) in pieces.iter().zip(a).zip(b).zip(c).zip(d) {
        let piece = V::load(proof, piece);
        sums[0] = sums[0].xor(V::load_bytes(proof, a).and(piece));
        sums[1] = sums[1].xor(V::load_bytes(proof, b).and(piece));
        sums[2] = sums[2].xor(V::load_bytes(proof, c).and(piece));
        sums[3] = sums[3].xor(V::load_bytes(proof, d).and(piece));
    }
    let piece = V::load(proof, &pieces[a.len()]);
    for (sum, row) in sums.iter_mut().zip(rows) {
        if let Some(last) = row.last_chunk::<32>() {
            *sum = sum.xor(V::load_bytes(proof, last).and(piece));
        }
    }
    sums
}
