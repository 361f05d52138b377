//! SM3's compression function CF (GB/T 32905 §5.3) in safe Rust.
//!
//! Constant time: additions, rotations and logic on words; the only indices are loop counters.

use crate::rounds::SM3_T;

/// Runs CF over `blocks`, one after another. A function of its own in the binary too, so that `cargo xtask ct` can see that it
/// ran.
#[inline(never)]
pub(crate) fn compress(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    for block in blocks {
        let mut w = [0u32; 16];
        for (word, bytes) in w.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        let mut v = *state;
        for (sixteen, t) in SM3_T.as_chunks::<16>().0.iter().enumerate() {
            if sixteen == 0 {
                steps::<true>(&mut v, &mut w, t);
            } else {
                steps::<false>(&mut v, &mut w, t);
            }
        }
        for (word, working) in state.iter_mut().zip(v) {
            *word ^= working;
        }
    }
}

/// Sixteen steps. Step j uses W[j] and W′[j] = W[j] ⊕ W[j+4]; of the schedule only the next sixteen words are kept, and each step
/// replaces W[j], which nobody needs any more, by W[j+16].
///
/// As in SHA-256's file, the variables stay where they are and the next step takes them one place further on: four steps
/// bring them home. `FIRST` says that these are steps 0 to 15, which have other Boolean functions.
#[inline(always)]
fn steps<const FIRST: bool>(v: &mut [u32; 8], w: &mut [u32; 16], t: &[u32; 16]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *v;
    macro_rules! four {
        ($j:expr) => {
            step::<FIRST>(a, &mut b, c, &mut d, e, &mut f, g, &mut h, words::<{ $j }>(w), t[$j]);
            step::<FIRST>(d, &mut a, b, &mut c, h, &mut e, f, &mut g, words::<{ $j + 1 }>(w), t[$j + 1]);
            step::<FIRST>(c, &mut d, a, &mut b, g, &mut h, e, &mut f, words::<{ $j + 2 }>(w), t[$j + 2]);
            step::<FIRST>(b, &mut c, d, &mut a, f, &mut g, h, &mut e, words::<{ $j + 3 }>(w), t[$j + 3]);
        };
    }
    four!(0);
    four!(4);
    four!(8);
    four!(12);
    *v = [a, b, c, d, e, f, g, h];
}

/// W[j] and W′[j]; then expands the schedule by one word (§5.3.2), j counted within the sixteen.
#[inline(always)]
fn words<const J: usize>(w: &mut [u32; 16]) -> [u32; 2] {
    let now = [w[J], w[J] ^ w[(J + 4) % 16]];
    let x = w[J] ^ w[(J + 7) % 16] ^ w[(J + 13) % 16].rotate_left(15);
    let p1 = x ^ x.rotate_left(15) ^ x.rotate_left(23);
    w[J] = p1 ^ w[(J + 3) % 16].rotate_left(7) ^ w[(J + 10) % 16];
    now
}

/// One step (§5.3.3): the new A goes to D's place, the new E to H's; B and F are rotated where they are.
#[inline(always)]
fn step<const FIRST: bool>(
    a: u32,
    b: &mut u32,
    c: u32,
    d: &mut u32,
    e: u32,
    f: &mut u32,
    g: u32,
    h: &mut u32,
    [w, w_prime]: [u32; 2],
    t: u32,
) {
    let a12 = a.rotate_left(12);
    let ss1 = a12.wrapping_add(e).wrapping_add(t).rotate_left(7);
    let ss2 = ss1 ^ a12;
    let (ff, gg) = if FIRST { (a ^ *b ^ c, e ^ *f ^ g) } else { ((a & *b) | (c & (a | *b)), g ^ (e & (*f ^ g))) };
    let tt1 = ff.wrapping_add(*d).wrapping_add(ss2).wrapping_add(w_prime);
    let tt2 = gg.wrapping_add(*h).wrapping_add(ss1).wrapping_add(w);
    *d = tt1;
    *h = tt2 ^ tt2.rotate_left(9) ^ tt2.rotate_left(17);
    *b = b.rotate_left(9);
    *f = f.rotate_left(19);
}
