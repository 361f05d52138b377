//! SHA-256's compression function (FIPS 180-4 §6.2.2) in safe Rust.
//!
//! Constant time: additions, rotations and logic on words; the only indices are loop counters.

/// Runs the compression function over `blocks`, one after another. A function of its own in the binary too, so that
/// `cargo xtask ct` can see that it ran.
#[inline(never)]
pub(super) fn compress(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    for block in blocks {
        let mut schedule = [0u32; 16];
        let (words, _) = block.as_chunks::<4>();
        for (w, bytes) in schedule.iter_mut().zip(words) {
            *w = u32::from_be_bytes(*bytes);
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

/// Sixteen steps on the working variables a to h. With `EXTEND`, each takes the schedule sixteen words further just before it
/// uses the word: the oldest of the sixteen makes room for the newest, in place.
///
/// Instead of moving each variable to the next place after a step, the next step takes them one place further on: eight steps
/// bring them home. Written out, since LLVM leaves a loop a loop, which costs most of the speed.
#[inline(always)]
fn steps<const EXTEND: bool>(v: &mut [u32; 8], w: &mut [u32; 16], k: &[u32; 16]) {
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
fn word<const EXTEND: bool, const T: usize>(w: &mut [u32; 16], k: &[u32; 16]) -> u32 {
    if EXTEND {
        let [w15, w7, w2] = [w[(T + 1) % 16], w[(T + 9) % 16], w[(T + 14) % 16]];
        let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        w[T] = w[T].wrapping_add(sigma0).wrapping_add(w7).wrapping_add(sigma1);
    }
    k[T].wrapping_add(w[T])
}

/// One step: the new e goes to d's place and the new a to h's.
#[inline(always)]
fn step(a: u32, b: u32, c: u32, d: &mut u32, e: u32, f: u32, g: u32, h: &mut u32, k_plus_w: u32) {
    let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
    let choice = g ^ (e & (f ^ g));
    let t1 = h.wrapping_add(sum1).wrapping_add(choice).wrapping_add(k_plus_w);
    let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
    let majority = (a & b) | (c & (a | b));
    *d = d.wrapping_add(t1);
    *h = t1.wrapping_add(sum0).wrapping_add(majority);
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4 §4.2.2).
#[rustfmt::skip]
pub(crate) const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];
