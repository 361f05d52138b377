//! Kernels that hash a message a lane: SHA-256, SM3 and Keccak, written once over [`super::vector`].
//!
//! States are transposed: entry i holds word i of all lanes.

use super::vector::{Words32, Words64, Ymm, YmmVl, Zmm};
use crate::rounds::{KECCAK_RC, SHA256_K, SM3_T};
use candor_cpu::{HaveAvx2, HaveAvx512Crypto};
#[cfg(feature = "ml-kem")]
use core::arch::x86_64::*;

/// Makes the entry points: a safe function that takes the token, and within it the kernel with the token's features.
macro_rules! entry {
    ($($(#[$doc:meta])* $name:ident, $token:ty, $features:literal, $kernel:ident, $vector:ty, [[$word:ty; $lanes:literal]; $words:literal]
        $(, $blocks:ty)?;)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub(crate) fn $name(token: $token, state: &mut [[$word; $lanes]; $words] $(, blocks: [&$blocks; $lanes])?) {
                #[target_feature(enable = $features)]
                fn with_features(token: $token, state: &mut [[$word; $lanes]; $words] $(, blocks: [&$blocks; $lanes])?) {
                    $kernel::<$vector, $lanes>(token, state $(, { let blocks: [&$blocks; $lanes] = blocks; blocks })?);
                }
                // SAFETY: the token proves the features.
                unsafe { with_features(token, state $(, { let blocks: [&$blocks; $lanes] = blocks; blocks })?) }
            }
        )+
    };
}

entry! {
    /// SHA-256's compression of blocks in each of 8 lanes, as many as the shortest list has.
    sha256_avx2, HaveAvx2, "avx2", sha256, Ymm, [[u32; 8]; 8], [[u8; 64]];
    /// The same.
    sha256_avx512_8, HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl", sha256, YmmVl, [[u32; 8]; 8], [[u8; 64]];
    /// The same in 16 lanes.
    sha256_avx512, HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl", sha256, Zmm, [[u32; 16]; 8], [[u8; 64]];
    /// SM3's compression of blocks in each of 8 lanes, as many as the shortest list has.
    sm3_avx2, HaveAvx2, "avx2", sm3, Ymm, [[u32; 8]; 8], [[u8; 64]];
    /// The same.
    sm3_avx512_8, HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl", sm3, YmmVl, [[u32; 8]; 8], [[u8; 64]];
    /// The same in 16 lanes.
    sm3_avx512, HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl", sm3, Zmm, [[u32; 16]; 8], [[u8; 64]];
    /// Keccak's permutation in 4 lanes.
    keccak_avx2, HaveAvx2, "avx2", keccak_of_few_registers, Ymm, [[u64; 4]; 25];
    /// The same in 8 lanes.
    keccak_avx512, HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl", keccak, Zmm, [[u64; 8]; 25];
}

#[cfg(feature = "ml-kem")]
entry! {
    /// Keccak's permutation in 4 lanes, on registers of 256 bits.
    keccak_avx512_4, HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl", keccak, YmmVl, [[u64; 4]; 25];
}

/// Makes the functions that take states apart: a state a lane before, and an array a state after, but for the last words, which no block reaches.
#[cfg(feature = "ml-kem")]
macro_rules! apart {
    ($($name:ident, $token:ty, $lanes:literal;)+) => {
        $(
            #[inline]
            pub(crate) fn $name(_: $token, state: &[[u64; $lanes]; 25], into: &mut [[u64; 25]; $lanes]) {
                // SAFETY: the token proves AVX2.
                unsafe { apart(state, into) }
            }
        )+
    };
}

#[cfg(feature = "ml-kem")]
apart! {
    lanes_apart_avx2, HaveAvx2, 4;
    lanes_apart_avx512_4, HaveAvx512Crypto, 4;
    lanes_apart_avx512, HaveAvx512Crypto, 8;
}

#[cfg(feature = "ml-kem")]
#[target_feature(enable = "avx2")]
fn apart<const L: usize>(state: &[[u64; L]; 25], into: &mut [[u64; 25]; L]) {
    for at in (0..24).step_by(4) {
        for (four, apart) in into.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            // SAFETY: each of the rows has these four words; the loads need no alignment.
            let row = |i: usize| unsafe { _mm256_loadu_si256(state[at + i].as_chunks::<4>().0[four].as_ptr().cast()) };
            let (a, b, c, d) = (row(0), row(1), row(2), row(3));
            let [low, high] = [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)];
            let [low_2, high_2] = [_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d)];
            let columns = [
                _mm256_permute2x128_si256::<0x20>(low, low_2),
                _mm256_permute2x128_si256::<0x20>(high, high_2),
                _mm256_permute2x128_si256::<0x31>(low, low_2),
                _mm256_permute2x128_si256::<0x31>(high, high_2),
            ];
            for (words, column) in apart.iter_mut().zip(columns) {
                // SAFETY: four words from `at` on lie within the array; the store needs no alignment.
                unsafe { _mm256_storeu_si256(words[at..at + 4].as_mut_ptr().cast(), column) }
            }
        }
    }
}

/// `$round!(0); … $round!(15);`, since the registers of a schedule must be known where the code is made.
macro_rules! each_of_sixteen {
    ($round:ident) => {
        $round!(0);
        $round!(1);
        $round!(2);
        $round!(3);
        $round!(4);
        $round!(5);
        $round!(6);
        $round!(7);
        $round!(8);
        $round!(9);
        $round!(10);
        $round!(11);
        $round!(12);
        $round!(13);
        $round!(14);
        $round!(15);
    };
}

/// How many blocks the shortest list has.
#[inline(always)]
fn shortest<const L: usize>(blocks: &[&[[u8; 64]]; L]) -> usize {
    let mut shortest = usize::MAX;
    for blocks in blocks {
        shortest = shortest.min(blocks.len());
    }
    shortest
}

/// The sixteen words of block `n` of each list, big-endian, transposed.
#[inline(always)]
fn words<V: Words32, const L: usize>(proof: V::Proof, blocks: &[&[[u8; 64]]; L], n: usize) -> [V; 16] {
    const { assert!(V::LANES == L) }
    let mut block = [&[0; 64]; L];
    for (block, blocks) in block.iter_mut().zip(blocks) {
        *block = &blocks[n];
    }
    let [[w0, w1, w2, w3], [w4, w5, w6, w7]] = [V::of_blocks(proof, &block, 0), V::of_blocks(proof, &block, 1)];
    let [[w8, w9, w10, w11], [w12, w13, w14, w15]] = [V::of_blocks(proof, &block, 2), V::of_blocks(proof, &block, 3)];
    [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
}

/// FIPS 180-4 §6.2.2, a block a lane.
#[inline(always)]
fn sha256<V: Words32, const L: usize>(proof: V::Proof, state: &mut [[u32; L]; 8], blocks: [&[[u8; 64]]; L]) {
    let mut chaining = [V::splat(proof, 0); 8];
    for (word, lanes) in chaining.iter_mut().zip(&*state) {
        *word = V::load(proof, lanes);
    }
    let (first, rest) = SHA256_K.as_chunks::<16>().0.split_at(1);
    for n in 0..shortest(&blocks) {
        let mut w = words::<V, L>(proof, &blocks, n);
        let mut v = chaining;
        sha256_rounds::<V, false>(proof, &mut v, &mut w, &first[0]);
        for k in rest {
            sha256_rounds::<V, true>(proof, &mut v, &mut w, k);
        }
        let ([a0, b0, c0, d0, e0, f0, g0, h0], [a, b, c, d, e, f, g, h]) = (chaining, v);
        chaining = [a0.add(a), b0.add(b), c0.add(c), d0.add(d), e0.add(e), f0.add(f), g0.add(g), h0.add(h)];
    }
    for (lanes, words) in state.iter_mut().zip(chaining) {
        words.store(lanes);
    }
}

/// Sixteen rounds; with `EXTEND`, each takes the schedule sixteen words further before it uses the word.
#[inline(always)]
fn sha256_rounds<V: Words32, const EXTEND: bool>(proof: V::Proof, v: &mut [V; 8], w: &mut [V; 16], k: &[u32; 16]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *v;
    macro_rules! round {
        ($t:literal) => {
            if EXTEND {
                let [w15, w7, w2] = [w[($t + 1) % 16], w[($t + 9) % 16], w[($t + 14) % 16]];
                let sigma0 = w15.rol::<25, 7>().xor3(w15.rol::<14, 18>(), w15.shr::<3>());
                let sigma1 = w2.rol::<15, 17>().xor3(w2.rol::<13, 19>(), w2.shr::<10>());
                w[$t] = w[$t].add(sigma0).add(w7).add(sigma1);
            }
            let sum1 = e.rol::<26, 6>().xor3(e.rol::<21, 11>(), e.rol::<7, 25>());
            let sum0 = a.rol::<30, 2>().xor3(a.rol::<19, 13>(), a.rol::<10, 22>());
            // What later rounds wait for is the new e, and of its terms Σ1(e) is the last to be ready: so it is added last, and the new a
            // is made from the new e. LLVM would add in another order, ten cycles a round instead of six on Zen 5.
            let early = d.add(h).add(w[$t].add(V::splat(proof, k[$t]))).settled();
            let new_e = early.add(e.choice(f, g)).settled().add(sum1);
            let new_a = new_e.add(a.majority(b, c).sub(d)).settled().add(sum0);
            (h, g, f, e, d, c, b, a) = (g, f, e, new_e, c, b, a, new_a);
        };
    }
    each_of_sixteen!(round);
    *v = [a, b, c, d, e, f, g, h];
}

/// GB/T 32905 §5.3, a block a lane.
#[inline(always)]
fn sm3<V: Words32, const L: usize>(proof: V::Proof, state: &mut [[u32; L]; 8], blocks: [&[[u8; 64]]; L]) {
    let mut chaining = [V::splat(proof, 0); 8];
    for (word, lanes) in chaining.iter_mut().zip(&*state) {
        *word = V::load(proof, lanes);
    }
    let (first, rest) = SM3_T.as_chunks::<16>().0.split_at(1);
    for n in 0..shortest(&blocks) {
        let mut w = words::<V, L>(proof, &blocks, n);
        let mut v = chaining;
        sm3_rounds::<V, true>(proof, &mut v, &mut w, &first[0]);
        for t in rest {
            sm3_rounds::<V, false>(proof, &mut v, &mut w, t);
        }
        let ([a0, b0, c0, d0, e0, f0, g0, h0], [a, b, c, d, e, f, g, h]) = (chaining, v);
        chaining = [a0.xor(a), b0.xor(b), c0.xor(c), d0.xor(d), e0.xor(e), f0.xor(f), g0.xor(g), h0.xor(h)];
    }
    for (lanes, words) in state.iter_mut().zip(chaining) {
        words.store(lanes);
    }
}

/// Sixteen rounds, `FIRST` those with other Boolean functions; each takes the schedule sixteen words further after it used the word.
#[inline(always)]
fn sm3_rounds<V: Words32, const FIRST: bool>(proof: V::Proof, v: &mut [V; 8], w: &mut [V; 16], t: &[u32; 16]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *v;
    macro_rules! round {
        ($j:literal) => {
            let a12 = a.rol::<12, 20>();
            let ss1 = a12.add(V::splat(proof, t[$j])).add(e).rol::<7, 25>();
            let (ff, gg) = if FIRST { (a.xor3(b, c), e.xor3(f, g)) } else { (a.majority(b, c), e.choice(f, g)) };
            let tt1 = ff.add(d).add(w[$j].xor(w[($j + 4) % 16])).add(ss1.xor(a12));
            let tt2 = gg.add(h.add(w[$j])).add(ss1);
            (h, g, f, e) = (g, f.rol::<19, 13>(), e, tt2.xor3(tt2.rol::<9, 23>(), tt2.rol::<17, 15>()));
            (d, c, b, a) = (c, b.rol::<9, 23>(), a, tt1);
            let x = w[$j].xor3(w[($j + 7) % 16], w[($j + 13) % 16].rol::<15, 17>());
            let p1 = x.xor3(x.rol::<15, 17>(), x.rol::<23, 9>());
            w[$j] = p1.xor3(w[($j + 3) % 16].rol::<7, 25>(), w[($j + 10) % 16]);
        };
    }
    each_of_sixteen!(round);
    *v = [a, b, c, d, e, f, g, h];
}

/// [`keccak`] where its 25 vectors do not fit into registers.
#[inline(always)]
fn keccak_of_few_registers<V: Words64, const L: usize>(proof: V::Proof, state: &mut [[u64; L]; 25]) {
    aligned_frame();
    keccak::<V, L>(proof, state);
}

/// Aligns the stack frame of the function that this is inlined in, and with it the vectors that LLVM puts aside there.
///
/// LLVM learns that it needs room for vectors only after it has assigned the registers. Then it is too late to align the frame, and they are as aligned
/// as the caller happens to be: by 16 bytes. So they lie across cache lines, and where the stack begins at an unlucky place, one lies across two pages:
/// each of its uses waits, and on a Zen 4 a permutation of four states took a third longer. A local variable that must be aligned tells LLVM in time.
#[inline(always)]
fn aligned_frame() {
    #[repr(align(64))]
    struct Line(#[expect(dead_code)] [u8; 64]);
    core::hint::black_box(&mut core::mem::MaybeUninit::<Line>::uninit());
}

/// KECCAK-p[1600, 24] (FIPS 202 §3.3), a state a lane.
#[inline(always)]
fn keccak<V: Words64, const L: usize>(proof: V::Proof, state: &mut [[u64; L]; 25]) {
    const { assert!(V::LANES == L) }
    let mut a = [V::splat(proof, 0); 25];
    for (word, lanes) in a.iter_mut().zip(&*state) {
        *word = V::load(proof, lanes);
    }
    for (lanes, word) in state.iter_mut().zip(keccak_rounds(proof, a)) {
        word.store(lanes);
    }
}

/// All rounds, two at a time: the second brings the lanes back to where the first found them.
#[inline(always)]
pub(super) fn keccak_rounds<V: Words64>(proof: V::Proof, mut a: [V; 25]) -> [V; 25] {
    for [even, odd] in KECCAK_RC.as_chunks::<2>().0 {
        a = keccak_round(keccak_round(a, V::splat(proof, *even)), V::splat(proof, *odd));
    }
    a
}

/// One round, as in `rounds`.
#[inline(always)]
fn keccak_round<V: Words64>(a: [V; 25], constant: V) -> [V; 25] {
    // No closures and no `map` here: they are functions without the features, and LLVM may leave them calls.
    macro_rules! column {
        ($x:literal) => {
            a[$x].xor3(a[$x + 5], a[$x + 10]).xor3(a[$x + 15], a[$x + 20])
        };
    }
    let c = [column!(0), column!(1), column!(2), column!(3), column!(4)];
    macro_rules! effect {
        ($left:literal, $right:literal) => {
            c[$left].xor(c[$right].rol::<1, 63>())
        };
    }
    let d = [effect!(4, 1), effect!(0, 2), effect!(1, 3), effect!(2, 4), effect!(3, 0)];
    macro_rules! row {
        ($([$from:literal, $rho:literal]),+) => {{
            let b = [$(a[$from].xor(d[$from % 5]).rol::<$rho, { (64 - $rho) % 64 }>()),+];
            [b[0].chi(b[1], b[2]), b[1].chi(b[2], b[3]), b[2].chi(b[3], b[4]), b[3].chi(b[4], b[0]), b[4].chi(b[0], b[1])]
        }};
    }
    let [a00, a10, a20, a30, a40] = row!([0, 0], [6, 44], [12, 43], [18, 21], [24, 14]);
    let [a01, a11, a21, a31, a41] = row!([3, 28], [9, 20], [10, 3], [16, 45], [22, 61]);
    let [a02, a12, a22, a32, a42] = row!([1, 1], [7, 6], [13, 25], [19, 8], [20, 18]);
    let [a03, a13, a23, a33, a43] = row!([4, 27], [5, 36], [11, 10], [17, 15], [23, 56]);
    let [a04, a14, a24, a34, a44] = row!([2, 62], [8, 55], [14, 39], [15, 41], [21, 2]);
    #[rustfmt::skip]
    let after = [
        a00.xor(constant), a10, a20, a30, a40,
        a01, a11, a21, a31, a41,
        a02, a12, a22, a32, a42,
        a03, a13, a23, a33, a43,
        a04, a14, a24, a34, a44,
    ];
    after
}
