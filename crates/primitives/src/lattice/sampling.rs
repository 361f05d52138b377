//! Polynomials from pseudorandom bytes (FIPS 203 §4.2.2).

use super::{Poly, Q};

/// Goes on with SampleNTT (algorithm 7): takes the 21 words of a block of SHAKE128, of which each twelve bits are a coefficient if they are below
/// q. `filled` says how many there are already; the result, how many there are now.
///
/// What it does depends on the bytes, which come from the public seed ρ.
#[inline(never)]
pub(crate) fn uniform(block: &[u64; 25], poly: &mut Poly, mut filled: usize) -> usize {
    for three in block[..21].as_chunks::<3>().0 {
        filled = uniform_24(three, poly, filled);
    }
    filled
}

/// The same for 24 bytes, sixteen candidates.
#[inline(always)]
pub(crate) fn uniform_24(words: &[u64; 3], poly: &mut Poly, mut filled: usize) -> usize {
    let mut bytes = [0; 24];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    for &[a, b, c] in bytes.as_chunks::<3>().0 {
        let low = i16::from(a) | i16::from(b & 15) << 8;
        let high = i16::from(b >> 4) | i16::from(c) << 4;
        for candidate in [low, high] {
            if candidate < Q && filled < 256 {
                poly.0[filled] = candidate;
                filled += 1;
            }
        }
    }
    filled
}

/// SamplePolyCBD (algorithm 8) for η = 2: of each four bits, the first two minus the last two.
pub(crate) fn binomial_2(bytes: &[u8; 128], poly: &mut Poly) {
    for (eight, bytes) in poly.0.as_chunks_mut::<8>().0.iter_mut().zip(bytes.as_chunks::<4>().0) {
        let bits = u32::from_le_bytes(*bytes);
        let pairs = (bits & 0x5555_5555) + (bits >> 1 & 0x5555_5555);
        for (i, value) in eight.iter_mut().enumerate() {
            *value = (pairs >> (4 * i) & 3) as i16 - (pairs >> (4 * i + 2) & 3) as i16;
        }
    }
}

/// The same for η = 3: of each six bits, the first three minus the last three.
#[inline(always)]
pub(crate) fn binomial_3(bytes: &[u8; 192], poly: &mut Poly) {
    for (four, &[a, b, c]) in poly.0.as_chunks_mut::<4>().0.iter_mut().zip(bytes.as_chunks::<3>().0) {
        let bits = u32::from_le_bytes([a, b, c, 0]);
        let triples = (bits & 0x24_9249) + (bits >> 1 & 0x24_9249) + (bits >> 2 & 0x24_9249);
        for (i, value) in four.iter_mut().enumerate() {
            *value = (triples >> (6 * i) & 7) as i16 - (triples >> (6 * i + 3) & 7) as i16;
        }
    }
}
