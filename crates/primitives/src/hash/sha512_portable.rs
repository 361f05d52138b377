//! SHA-512's compression function (FIPS 180-4 §6.4.2) in safe Rust.
//!
//! Constant time: additions, rotations and logic on words; the only indices are loop counters.

/// Runs the compression function over `blocks`, one after another. A function of its own in the binary too, so that
/// `cargo xtask ct` can see that it ran.
#[inline(never)]
pub(super) fn compress(state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    for block in blocks {
        let mut schedule = [0u64; 16];
        for (w, bytes) in schedule.iter_mut().zip(block.as_chunks::<8>().0) {
            *w = u64::from_be_bytes(*bytes);
        }
        let mut v = *state;
        for (sixteen, k) in K.as_chunks::<16>().0.iter().enumerate() {
            if sixteen == 0 {
                steps::<false>(&mut v, &mut schedule, k);
            } else {
                steps::<true>(&mut v, &mut schedule, k);
            }
        }
        for (word, working) in state.iter_mut().zip(v) {
            *word = word.wrapping_add(working);
        }
    }
}

/// Sixteen steps, as in SHA-256's file: with `EXTEND`, each extends the schedule by a word, in place, just before it uses it.
#[inline(always)]
fn steps<const EXTEND: bool>(v: &mut [u64; 8], w: &mut [u64; 16], k: &[u64; 16]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *v;
    macro_rules! eight {
        ($t:expr) => {
            step(a, b, c, &mut d, e, f, g, &mut h, word::<EXTEND, { $t }>(w, k));
            step(h, a, b, &mut c, d, e, f, &mut g, word::<EXTEND, { $t + 1 }>(w, k));
            step(g, h, a, &mut b, c, d, e, &mut f, word::<EXTEND, { $t + 2 }>(w, k));
            step(f, g, h, &mut a, b, c, d, &mut e, word::<EXTEND, { $t + 3 }>(w, k));
            step(e, f, g, &mut h, a, b, c, &mut d, word::<EXTEND, { $t + 4 }>(w, k));
            step(d, e, f, &mut g, h, a, b, &mut c, word::<EXTEND, { $t + 5 }>(w, k));
            step(c, d, e, &mut f, g, h, a, &mut b, word::<EXTEND, { $t + 6 }>(w, k));
            step(b, c, d, &mut e, f, g, h, &mut a, word::<EXTEND, { $t + 7 }>(w, k));
        };
    }
    eight!(0);
    eight!(8);
    *v = [a, b, c, d, e, f, g, h];
}

/// The sum of a step's constant and its schedule word, `T` counted within the sixteen.
#[inline(always)]
fn word<const EXTEND: bool, const T: usize>(w: &mut [u64; 16], k: &[u64; 16]) -> u64 {
    if EXTEND {
        let [w15, w7, w2] = [w[(T + 1) % 16], w[(T + 9) % 16], w[(T + 14) % 16]];
        let sigma0 = w15.rotate_right(1) ^ w15.rotate_right(8) ^ (w15 >> 7);
        let sigma1 = w2.rotate_right(19) ^ w2.rotate_right(61) ^ (w2 >> 6);
        w[T] = w[T].wrapping_add(sigma0).wrapping_add(w7).wrapping_add(sigma1);
    }
    k[T].wrapping_add(w[T])
}

/// One step: the new e goes to d's place and the new a to h's.
#[inline(always)]
fn step(a: u64, b: u64, c: u64, d: &mut u64, e: u64, f: u64, g: u64, h: &mut u64, k_plus_w: u64) {
    let sum1 = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
    let choice = g ^ (e & (f ^ g));
    let t1 = h.wrapping_add(sum1).wrapping_add(choice).wrapping_add(k_plus_w);
    let sum0 = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
    let majority = (a & b) | (c & (a | b));
    *d = d.wrapping_add(t1);
    *h = t1.wrapping_add(sum0).wrapping_add(majority);
}

/// The first 64 bits of the fractional parts of the cube roots of the first 80 primes (FIPS 180-4 §4.2.3).
#[rustfmt::skip]
pub(crate) const K: [u64; 80] = [
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
];
