//! SHA-2's compression function (FIPS 180-4 §6.2.2, §6.4.2) in safe Rust: the same lines for words of 32 and of 64 bits.
//!
//! Constant time: additions, rotations and logic on words; the only indices are loop counters.

/// Defines `compress` for words of one size. It takes the rotation counts of Σ0, Σ1, σ0 and σ1 (§4.1.2, §4.1.3), and
/// the shift counts of the last two.
macro_rules! sha2 {
    (
        $word:ident, $block:literal, $k:ident,
        big0($a0:literal, $a1:literal, $a2:literal), big1($b0:literal, $b1:literal, $b2:literal),
        small0($c0:literal, $c1:literal, $c2:literal), small1($d0:literal, $d1:literal, $d2:literal)
    ) => {
        /// Runs the compression function over `blocks`, one after another. A function of its own in the binary too, so that
        /// `cargo xtask ct` can see that it ran.
        #[inline(never)]
        pub(super) fn compress(state: &mut [$word; 8], blocks: &[[u8; $block]]) {
            for block in blocks {
                let mut schedule = [0; 16];
                for (w, bytes) in schedule.iter_mut().zip(block.as_chunks().0) {
                    *w = $word::from_be_bytes(*bytes);
                }
                let mut v = *state;
                for (sixteen, k) in $k.as_chunks::<16>().0.iter().enumerate() {
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

        /// Sixteen steps on the working variables a to h. With `EXTEND`, each takes the schedule sixteen words further just before
        /// it uses the word: the oldest of the sixteen makes room for the newest, in place.
        ///
        /// Instead of moving each variable to the next place after a step, the next step takes them one place further on: eight
        /// steps bring them home. Written out, since LLVM leaves a loop a loop, which costs most of the speed.
        #[inline(always)]
        fn steps<const EXTEND: bool>(v: &mut [$word; 8], w: &mut [$word; 16], k: &[$word; 16]) {
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
        fn word<const EXTEND: bool, const T: usize>(w: &mut [$word; 16], k: &[$word; 16]) -> $word {
            if EXTEND {
                let [w15, w7, w2] = [w[(T + 1) % 16], w[(T + 9) % 16], w[(T + 14) % 16]];
                let sigma0 = w15.rotate_right($c0) ^ w15.rotate_right($c1) ^ (w15 >> $c2);
                let sigma1 = w2.rotate_right($d0) ^ w2.rotate_right($d1) ^ (w2 >> $d2);
                w[T] = w[T].wrapping_add(sigma0).wrapping_add(w7).wrapping_add(sigma1);
            }
            k[T].wrapping_add(w[T])
        }

        /// One step: the new e goes to d's place and the new a to h's.
        #[inline(always)]
        fn step(
            a: $word,
            b: $word,
            c: $word,
            d: &mut $word,
            e: $word,
            f: $word,
            g: $word,
            h: &mut $word,
            k_plus_w: $word,
        ) {
            let sum1 = e.rotate_right($b0) ^ e.rotate_right($b1) ^ e.rotate_right($b2);
            let choice = g ^ (e & (f ^ g));
            let t1 = h.wrapping_add(sum1).wrapping_add(choice).wrapping_add(k_plus_w);
            let sum0 = a.rotate_right($a0) ^ a.rotate_right($a1) ^ a.rotate_right($a2);
            let majority = (a & b) | (c & (a | b));
            *d = d.wrapping_add(t1);
            *h = t1.wrapping_add(sum0).wrapping_add(majority);
        }
    };
}
pub(super) use sha2;
