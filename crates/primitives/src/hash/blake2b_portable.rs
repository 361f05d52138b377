//! BLAKE2b's compression function F (RFC 7693 §3.2) in safe Rust.
//!
//! Constant time: additions, rotations and logic on words; the indices are constants.

use crate::rounds::{BLAKE2B_SIGMA, SHA512_INITIAL};

/// Runs F over `blocks`. `counter` is the number of bytes before the first of them; each block adds 128 to it, but the last, if
/// `last` holds its length, adds that and is marked as final. A function of its own in the binary too, so that `cargo xtask
/// ct` can see that it ran.
#[inline(never)]
pub(super) fn compress(state: &mut [u64; 8], blocks: &[[u8; 128]], mut counter: u128, last: Option<usize>) {
    for (i, block) in blocks.iter().enumerate() {
        let last = last.filter(|_| i + 1 == blocks.len());
        counter = counter.wrapping_add(last.unwrap_or(128) as u128);
        let mut m = [0u64; 16];
        for (word, bytes) in m.iter_mut().zip(block.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [h0, h1, h2, h3, h4, h5, h6, h7] = *state;
        let [i0, i1, i2, i3, i4, i5, i6, i7] = SHA512_INITIAL;
        let ends = if last.is_some() { u64::MAX } else { 0 };
        let [low, high] = [counter as u64, (counter >> 64) as u64];
        let mut v = [h0, h1, h2, h3, h4, h5, h6, h7, i0, i1, i2, i3, i4 ^ low, i5 ^ high, i6 ^ ends, i7];
        round::<0>(&mut v, &m);
        round::<1>(&mut v, &m);
        round::<2>(&mut v, &m);
        round::<3>(&mut v, &m);
        round::<4>(&mut v, &m);
        round::<5>(&mut v, &m);
        round::<6>(&mut v, &m);
        round::<7>(&mut v, &m);
        round::<8>(&mut v, &m);
        round::<9>(&mut v, &m);
        round::<0>(&mut v, &m);
        round::<1>(&mut v, &m);
        for (i, word) in state.iter_mut().enumerate() {
            *word ^= v[i] ^ v[i + 8];
        }
    }
}

/// Round `R` of ten: four times G on the columns, four times on the diagonals. The number is part of the type, so that the schedule
/// is known where the code is made and no index is computed.
#[inline(always)]
fn round<const R: usize>(v: &mut [u64; 16], m: &[u64; 16]) {
    let (columns, diagonals) = BLAKE2B_SIGMA[R].split_at(8);
    mix(v, m, columns, [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]);
    mix(v, m, diagonals, [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]]);
}

/// G (§3.1) on four places that have no word in common: each line of it on all four, then the next. G after G is slower, since the
/// processor then sees the other chains too late to fill the gaps of the first.
#[inline(always)]
fn mix(v: &mut [u64; 16], m: &[u64; 16], schedule: &[usize], places: [[usize; 4]; 4]) {
    for (i, [a, b, _, _]) in places.into_iter().enumerate() {
        v[a] = v[a].wrapping_add(m[schedule[2 * i]]).wrapping_add(v[b]);
    }
    for [a, _, _, d] in places {
        v[d] = (v[d] ^ v[a]).rotate_right(32);
    }
    for [_, _, c, d] in places {
        v[c] = v[c].wrapping_add(v[d]);
    }
    for [_, b, c, _] in places {
        v[b] = (v[b] ^ v[c]).rotate_right(24);
    }
    for (i, [a, b, _, _]) in places.into_iter().enumerate() {
        v[a] = v[a].wrapping_add(m[schedule[2 * i + 1]]).wrapping_add(v[b]);
    }
    for [a, _, _, d] in places {
        v[d] = (v[d] ^ v[a]).rotate_right(16);
    }
    for [_, _, c, d] in places {
        v[c] = v[c].wrapping_add(v[d]);
    }
    for [_, b, c, _] in places {
        v[b] = (v[b] ^ v[c]).rotate_right(63);
    }
}
