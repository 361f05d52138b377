//! VPCLMULQDQ on 256-bit registers: Zen 3, Alder Lake and later. Two lane products an instruction, the same rate of instructions.
//!
//! Work that comes in pairs fills the two lanes: both halves of a factor (`lanes::mul3` and `mul4` on vectors that hold lane i of the lower
//! and lane i of the upper half), or two of Karatsuba's sums. The sums of products run on single lanes, which costs nothing: on the
//! CPUs known to us carry-less instructions are the bottleneck, and logic runs beside them.

use crate::lanes::{self, Lanes};
use crate::low::kernel::{Kernel, long_leaves};
use crate::low::memory::{self, Vector};
use crate::low::x86_64::clmul::{self, Xmm, leaf};
use crate::low::x86_64::halves::{join_halves, neighbours};
use candor_cpu::HaveVpclmul;
use core::arch::x86_64::*;

/// Two lanes. Made only by functions with the features below, so that holding one is proof of them.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Ymm(pub(in crate::low::x86_64) __m256i);

impl Lanes for Ymm {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: holding `self` proves AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    fn clmul_low(self, other: Self) -> Self {
        // SAFETY: holding `self` proves VPCLMULQDQ.
        Self(unsafe { _mm256_clmulepi64_epi128::<0x00>(self.0, other.0) })
    }
    #[inline(always)]
    fn clmul_high(self, other: Self) -> Self {
        // SAFETY: holding `self` proves VPCLMULQDQ.
        Self(unsafe { _mm256_clmulepi64_epi128::<0x11>(self.0, other.0) })
    }
    #[inline(always)]
    fn fold(self) -> Self {
        // SAFETY: holding `self` proves AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_shuffle_epi32::<0x4e>(self.0)) })
    }
    #[inline(always)]
    fn add_middle(low: Self, high: Self, middle: Self) -> [Self; 2] {
        // SAFETY: holding `low` proves AVX2.
        let (up, down) = unsafe { (_mm256_slli_si256::<8>(middle.0), _mm256_srli_si256::<8>(middle.0)) };
        [low.xor(Self(up)), high.xor(Self(down))]
    }
}

impl Vector for Ymm {
    const WORDS: usize = 4;
    const MASKED: bool = false; // AVX2 has masked moves, but they are slow on Zen
    #[inline(always)]
    unsafe fn load(at: *const u64, _: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_loadu_si256(at.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u64, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_si256(at.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_set1_epi64x(word.cast_signed()) })
    }
    #[inline(always)]
    fn word(self) -> u64 {
        // SAFETY: holding `self` proves AVX2.
        unsafe { _mm_cvtsi128_si64(_mm256_castsi256_si128(self.0)).cast_unsigned() }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.xor(other)
    }
    #[inline(always)]
    fn running(self) -> Self {
        // SAFETY: holding `self` proves AVX2. Within the lanes first; then the lower lane's sum into both words of the upper one.
        unsafe {
            let x = self.xor(Self(_mm256_slli_si256::<8>(self.0)));
            let lower = _mm256_permute4x64_epi64::<0b01_01_01_01>(x.0);
            x.xor(Self(_mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), lower)))
        }
    }
    #[inline(always)]
    fn last(self) -> Self {
        // SAFETY: holding `self` proves AVX2.
        Self(unsafe { _mm256_permute4x64_epi64::<0xff>(self.0) })
    }
}

impl Ymm {
    #[inline(always)]
    pub(super) fn low(self) -> Xmm {
        // SAFETY: holding `self` proves AVX2.
        Xmm(unsafe { _mm256_castsi256_si128(self.0) })
    }

    #[inline(always)]
    fn high(self) -> Xmm {
        // SAFETY: holding `self` proves AVX2.
        Xmm(unsafe { _mm256_extracti128_si256::<1>(self.0) })
    }

    /// Both lanes, the lower first.
    #[inline(always)]
    pub(super) fn split(self) -> [Xmm; 2] {
        [self.low(), self.high()]
    }

    /// Lanes of `x` (0, 1) and `y` (2, 3), as the two low nibbles of `LANES` say.
    #[inline(always)]
    pub(super) fn pick<const LANES: i32>(x: Self, y: Self) -> Self {
        // SAFETY: holding `x` proves AVX2.
        Self(unsafe { _mm256_permute2x128_si256::<LANES>(x.0, y.0) })
    }
}

/// # Safety
/// AVX2 and VPCLMULQDQ exist.
#[inline(always)]
pub(super) unsafe fn pair(low: Xmm, high: Xmm) -> Ymm {
    // SAFETY: the caller's promise.
    Ymm(unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low.0), high.0) })
}

/// Lanes i and i + 1 of `n` words.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist, and `words` points to `n` words, of which at least one is in lane i + 1.
#[inline(always)]
pub(super) unsafe fn load(words: *const u64, n: usize, i: usize) -> Ymm {
    // SAFETY: both lanes are there, or `clmul::load` cuts the last.
    unsafe {
        if 2 * i + 4 <= n {
            Ymm(_mm256_loadu_si256(words.add(2 * i).cast()))
        } else {
            pair(clmul::load(words, n, i), clmul::load(words, n, i + 1))
        }
    }
}

/// # Safety
/// `words` points to `n` words, which end in the last of the lanes given.
#[inline(always)]
pub(super) unsafe fn store<const LANES: usize>(words: *mut u64, n: usize, lanes: [Xmm; LANES]) {
    // SAFETY: lane i begins below word n; two whole lanes go together, so that a later load of both finds one store.
    unsafe {
        let mut i = 0;
        while 2 * i < n && i < LANES {
            if 2 * i + 4 <= n && i + 1 < LANES {
                _mm256_storeu_si256(words.add(2 * i).cast(), pair(lanes[i], lanes[i + 1]).0);
                i += 2;
            } else {
                clmul::store(words, n, i, lanes[i]);
                i += 1;
            }
        }
    }
}

/// 3×3 words: six word products in four instructions.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist; `a` and `b` point to 3 words.
#[inline(always)]
pub(super) unsafe fn mul3(a: *const u64, b: *const u64) -> [Xmm; 3] {
    // SAFETY: the caller's promise.
    unsafe {
        // [a₀ a₁ | a₂ a₀+a₁] and [a₀+a₂ a₁+a₂].
        let spread = |x: *const u64| {
            let (x01, x2) = (_mm_loadu_si128(x.cast()), _mm_loadl_epi64(x.add(2).cast()));
            let sum = _mm_xor_si128(x01, _mm_unpackhi_epi64(x01, x01));
            let high = _mm_unpacklo_epi64(x2, sum);
            (pair(Xmm(x01), Xmm(high)), Xmm(_mm_xor_si128(x01, _mm_unpacklo_epi64(x2, x2))))
        };
        let ((a, a_cross), (b, b_cross)) = (spread(a), spread(b));
        let ([p0, p2], [p1, p01]) = (a.clmul_low(b).split(), a.clmul_high(b).split());
        let (p02, p12) = (a_cross.clmul_low(b_cross), a_cross.clmul_high(b_cross));
        let (p0_p1, p1_p2) = (p0.xor(p1), p1.xor(p2));
        let (c1, c3) = (p01.xor(p0_p1), p12.xor(p1_p2));
        let c2 = p02.xor3(p0_p1, p2);
        let across = Xmm(_mm_alignr_epi8::<8>(c3.0, c1.0));
        let low = p0.xor(Xmm(_mm_slli_si128::<8>(c1.0)));
        let high = p2.xor(Xmm(_mm_srli_si128::<8>(c3.0)));
        [low, c2.xor(across), high]
    }
}

/// A product of lanes in four instructions instead of Karatsuba's three: no sums come before the multiplication, so the answer is there sooner.
#[inline(always)]
fn mul1_at_once(x: Ymm, y: Ymm) -> [Ymm; 2] {
    // SAFETY: holding `x` proves VPCLMULQDQ.
    let (low_high, high_low) =
        unsafe { (_mm256_clmulepi64_epi128::<0x10>(x.0, y.0), _mm256_clmulepi64_epi128::<0x01>(x.0, y.0)) };
    Ymm::add_middle(x.clmul_low(y), x.clmul_high(y), Ymm(low_high).xor(Ymm(high_low)))
}

/// 4×4 words: both lanes of one factor times each lane of the other, which a load repeats for nothing. Karatsuba over
/// the lanes would take fewer products, but would have to add the lanes first.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist; `a` and `b` point to 4 words, `out` to 8.
#[inline(always)]
unsafe fn mul4<const AT_ONCE: bool>(out: *mut u64, a: *const u64, b: *const u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let repeated = |lane: *const u64| Ymm(_mm256_broadcastsi128_si256(_mm_loadu_si128(lane.cast())));
        let (x, y0, y1) = (load(a, 4, 0), repeated(b), repeated(b.add(2)));
        let [low, high] = if AT_ONCE { mul1_at_once(x, y0) } else { lanes::mul1(x, y0) };
        let ([l00, l10], [h00, h10]) = (low.split(), high.split());
        let [low, high] = if AT_ONCE { mul1_at_once(x, y1) } else { lanes::mul1(x, y1) };
        let ([l01, l11], [h01, h11]) = (low.split(), high.split());
        store(out, 8, [l00, l10.xor3(l01, h00), h10.xor3(h01, l11), h11]);
    }
}

/// The product of the lower lanes, whose words' sums stand in the low words of the upper lanes: two instructions.
#[inline(always)]
fn single(a: Ymm, b: Ymm) -> [Xmm; 2] {
    let ([low, middle], high) = (a.clmul_low(b).split(), a.clmul_high(b).low());
    Xmm::add_middle(low, high, middle.xor3(low, high))
}

/// 3×3 lanes: eighteen word products in nine instructions.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist.
#[inline(always)]
pub(super) unsafe fn mul6(a: [Xmm; 3], b: [Xmm; 3]) -> [Xmm; 6] {
    // SAFETY: the caller's promise.
    let spread = |x: [Xmm; 3]| unsafe {
        let low = pair(x[0], x[1]);
        [low, pair(x[2], x[0].xor(x[1])), low.xor(pair(x[2], x[2]))]
    };
    let (a, b) = (spread(a), spread(b));
    let [low, high] = lanes::mul1(a[0], b[0]);
    let ([l0, l1], [h0, h1]) = (low.split(), high.split());
    let [low, high] = lanes::mul1(a[1], b[1]);
    let ([l2, l01], [h2, h01]) = (low.split(), high.split());
    let [low, high] = lanes::mul1(a[2], b[2]);
    let ([l02, l12], [h02, h12]) = (low.split(), high.split());
    let (h0_l1, h1_l2) = (h0.xor(l1), h1.xor(l2));
    let (below, above) = (l0.xor(h0_l1), h2.xor(h1_l2));
    [l0, below.xor(l01), below.xor3(h1_l2, h01).xor(l02), above.xor3(h0_l1, h02).xor(l12), above.xor(h12), h2]
}

/// 4×4 lanes: 27 word products in fourteen instructions.
#[inline(always)]
pub(crate) fn mul8(a: [Ymm; 2], b: [Ymm; 2]) -> [Xmm; 8] {
    // Neighbours' sums of both halves, and the sum of all with its words' sum beside it.
    let spread = |x: [Ymm; 2]| {
        let sums = neighbours(x);
        let all = sums.xor(Ymm::pick::<0x01>(sums, sums));
        // SAFETY: holding `all` proves AVX2.
        (sums, Ymm(unsafe { _mm256_blend_epi32::<0xf0>(all.0, all.fold().0) }))
    };
    let ((sums_a, all_a), (sums_b, all_b)) = (spread(a), spread(b));
    let lower = lanes::mul1(a[0], b[0]);
    let upper = lanes::mul1(a[1], b[1]);
    let both = lanes::mul1(a[0].xor(a[1]), b[0].xor(b[1]));
    let [sums_low, sums_high] = lanes::mul1(sums_a, sums_b);
    let of_both = single(all_a, all_b);
    join_halves([lower, upper, both], [sums_low, sums_high], of_both)
}

/// 9×9 words as 8 + 1: the ninth words times the other factor's eight, nine instructions more than [`mul8`].
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist; `a` and `b` point to 9 words, `out` to 18.
#[inline(always)]
unsafe fn mul9(out: *mut u64, a: *const u64, b: *const u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let (x, y) = ([load(a, 9, 0), load(a, 9, 2)], [load(b, 9, 0), load(b, 9, 2)]);
        let (a8, b8) = (_mm256_set1_epi64x((*a.add(8)).cast_signed()), _mm256_set1_epi64x((*b.add(8)).cast_signed()));
        let product = mul8(x, y);
        let (e, o) = (rows::<0x00>(x, b8, y, a8), rows::<0x01>(x, b8, y, a8));
        let top = Xmm(_mm_clmulepi64_si128::<0x00>(_mm256_castsi256_si128(a8), _mm256_castsi256_si128(b8)));
        let across = |high: Xmm, low: Xmm| Xmm(_mm_alignr_epi8::<8>(high.0, low.0));
        let lanes = [
            product[0],
            product[1],
            product[2],
            product[3],
            product[4].xor3(e[0], Xmm(_mm_slli_si128::<8>(o[0].0))),
            product[5].xor3(e[1], across(o[1], o[0])),
            product[6].xor3(e[2], across(o[2], o[1])),
            product[7].xor3(e[3], across(o[3], o[2])),
            top.xor(Xmm(_mm_srli_si128::<8>(o[3].0))),
        ];
        store(out, 18, lanes);
    }
}

/// The sums of one word of `x` in each lane (the low or the high one) times `b`, and of `y` times `a`.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist.
#[inline(always)]
unsafe fn rows<const WORD: i32>(x: [Ymm; 2], b: __m256i, y: [Ymm; 2], a: __m256i) -> [Xmm; 4] {
    // SAFETY: the caller's promise.
    let [low, high] = unsafe {
        [
            Ymm(_mm256_clmulepi64_epi128::<WORD>(x[0].0, b)).xor(Ymm(_mm256_clmulepi64_epi128::<WORD>(y[0].0, a))),
            Ymm(_mm256_clmulepi64_epi128::<WORD>(x[1].0, b)).xor(Ymm(_mm256_clmulepi64_epi128::<WORD>(y[1].0, a))),
        ]
    };
    [low.low(), low.high(), high.low(), high.high()]
}

/// Karatsuba's last step over lanes: the products of both halves in the two lanes of `halves`, that of the sums in `middle`.
macro_rules! join {
    ($halves:expr, $middle:expr, $h:literal) => {{
        let (halves, middle) = ($halves, $middle);
        let mut out = [middle[0]; 4 * $h];
        for i in 0..$h {
            let ([l0, h0], [l1, h1]) = (halves[i].split(), halves[$h + i].split());
            let shared = l1.xor(h0);
            out[i] = l0;
            out[$h + i] = shared.xor3(l0, middle[i]);
            out[2 * $h + i] = shared.xor3(h1, middle[$h + i]);
            out[3 * $h + i] = h1;
        }
        out
    }};
}

/// Five lanes and part of the sixth, or five and zero.
///
/// # Safety
/// AVX2 exists; `words` points to `n` words, 10 to 12.
#[inline(always)]
pub(super) unsafe fn lanes6(words: *const u64, n: usize) -> [Xmm; 6] {
    // SAFETY: the caller's promise.
    unsafe {
        let last = if n > 10 { clmul::load(words, n, 5) } else { Xmm(_mm_setzero_si128()) };
        [
            clmul::load(words, n, 0),
            clmul::load(words, n, 1),
            clmul::load(words, n, 2),
            clmul::load(words, n, 3),
            clmul::load(words, n, 4),
            last,
        ]
    }
}

/// 6×6 lanes: 54 word products in 27 instructions.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist.
#[inline(always)]
pub(super) unsafe fn mul12(a: [Xmm; 6], b: [Xmm; 6]) -> [Xmm; 12] {
    // SAFETY: the caller's promise.
    unsafe {
        let halves = |x: [Xmm; 6]| [pair(x[0], x[3]), pair(x[1], x[4]), pair(x[2], x[5])];
        let sums = |x: [Xmm; 6]| [x[0].xor(x[3]), x[1].xor(x[4]), x[2].xor(x[5])];
        let middle = mul6(sums(a), sums(b));
        join!(lanes::mul3(halves(a), halves(b)), middle, 3)
    }
}

/// Seven lanes and part of the eighth, or six, part of the seventh, and zero.
///
/// # Safety
/// AVX2 exists; `words` points to `n` words, 13 to 16.
#[inline(always)]
unsafe fn vectors4(words: *const u64, n: usize) -> [Ymm; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let last = if n > 14 { load(words, n, 6) } else { pair(clmul::load(words, n, 6), Xmm(_mm_setzero_si128())) };
        [load(words, n, 0), load(words, n, 2), load(words, n, 4), last]
    }
}

/// 8×8 lanes: 81 word products in 41 instructions.
#[inline(always)]
fn mul16(a: [Ymm; 4], b: [Ymm; 4]) -> [Xmm; 16] {
    let halves = |x: [Ymm; 4]| {
        [
            Ymm::pick::<0x20>(x[0], x[2]),
            Ymm::pick::<0x31>(x[0], x[2]),
            Ymm::pick::<0x20>(x[1], x[3]),
            Ymm::pick::<0x31>(x[1], x[3]),
        ]
    };
    let middle = mul8([a[0].xor(a[2]), a[1].xor(a[3])], [b[0].xor(b[2]), b[1].xor(b[3])]);
    join!(lanes::mul4(halves(a), halves(b)), middle, 4)
}

/// n×n words, 17 to 24, by Karatsuba over [`mul12`], sums straight from the factors.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist; `a` and `b` point to n words, `out` to 2n.
#[inline(always)]
unsafe fn mul24(out: *mut u64, a: *const u64, b: *const u64, n: usize) {
    let r = n - 12;
    // SAFETY: the caller's promise; what is beyond n words is neither read nor written.
    unsafe {
        let (a0, a1, b0, b1) = (lanes6(a, 12), upper6(a.add(12), r), lanes6(b, 12), upper6(b.add(12), r));
        let sums = |x: [Xmm; 6], y: [Xmm; 6]| {
            [x[0].xor(y[0]), x[1].xor(y[1]), x[2].xor(y[2]), x[3].xor(y[3]), x[4].xor(y[4]), x[5].xor(y[5])]
        };
        store(out, 24, mul12(a0, b0));
        store_lanes(out.add(24), r, mul12(a1, b1));
        let mut middle = [0u64; 24];
        store(middle.as_mut_ptr(), 24, mul12(sums(a0, a1), sums(b0, b1)));
        memory::karatsuba2_join::<Ymm>(out, middle.as_ptr(), 12, r);
    }
}

/// n×n words, 25 to 32, by Karatsuba over [`mul16`], sums straight from the factors.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist; `a` and `b` point to n words, `out` to 2n.
#[inline(always)]
unsafe fn mul32(out: *mut u64, a: *const u64, b: *const u64, n: usize) {
    let r = n - 16;
    // SAFETY: the caller's promise; what is beyond n words is neither read nor written.
    unsafe {
        let (a0, a1, b0, b1) = (vectors4(a, 16), upper4(a.add(16), r), vectors4(b, 16), upper4(b.add(16), r));
        let sums = |x: [Ymm; 4], y: [Ymm; 4]| [x[0].xor(y[0]), x[1].xor(y[1]), x[2].xor(y[2]), x[3].xor(y[3])];
        store(out, 32, mul16(a0, b0));
        store_lanes(out.add(32), r, mul16(a1, b1));
        let mut middle = [0u64; 32];
        store(middle.as_mut_ptr(), 32, mul16(sums(a0, a1), sums(b0, b1)));
        memory::karatsuba2_join::<Ymm>(out, middle.as_ptr(), 16, r);
    }
}

/// [`lanes6`] for any length.
///
/// # Safety
/// AVX2 exists; `words` points to `n` words.
#[inline(always)]
unsafe fn upper6(words: *const u64, n: usize) -> [Xmm; 6] {
    // SAFETY: the caller's promise; at least a word is in a lane that is loaded.
    let lane = |i| unsafe { if 2 * i < n { clmul::load(words, n, i) } else { Xmm(_mm_setzero_si128()) } };
    [lane(0), lane(1), lane(2), lane(3), lane(4), lane(5)]
}

/// [`vectors4`] for any length.
///
/// # Safety
/// AVX2 exists; `words` points to `n` words.
#[inline(always)]
unsafe fn upper4(words: *const u64, n: usize) -> [Ymm; 4] {
    // SAFETY: the caller's promise; at least a word is in a lane that is loaded.
    let vector = |i: usize| unsafe {
        match n.saturating_sub(4 * i) {
            0 => Ymm(_mm256_setzero_si256()),
            1 | 2 => pair(clmul::load(words, n, 2 * i), Xmm(_mm_setzero_si128())),
            _ => load(words, n, 2 * i),
        }
    };
    [vector(0), vector(1), vector(2), vector(3)]
}

/// Writes the first `n` lanes.
///
/// # Safety
/// `out` points to 2n words, and n ≤ LANES.
#[inline(always)]
unsafe fn store_lanes<const LANES: usize>(out: *mut u64, n: usize, lanes: [Xmm; LANES]) {
    for (i, lane) in lanes.into_iter().enumerate() {
        if i < n {
            // SAFETY: the caller's promise.
            unsafe { Vector::store(lane, out.add(2 * i), 2) }
        }
    }
}

/// A leaf and its batch from any expression, compiled with the features given.
macro_rules! leaf256 {
    ($features:literal, $leaf:ident, $batch:ident, $n:literal, |$out:ident, $a:ident, $b:ident| $product:expr) => {
        /// # Safety
        /// The features exist; `a` and `b` point to n words each, `out` to 2n, for the n in the name.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn $leaf($out: *mut u64, $a: *const u64, $b: *const u64) {
            // SAFETY: the caller's promise.
            unsafe { $product }
        }
        $crate::low::kernel::batch!($features, $batch, $leaf, $n);
    };
}
pub(super) use leaf256;

leaf!("avx2,vpclmulqdq,pclmulqdq", leaf1, batch1, 1, clmul::mul1_word);
leaf!("avx2,vpclmulqdq,pclmulqdq", leaf2, batch2, 2, clmul::mul1);
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf3, batch3, 3, |out, a, b| store(out, 6, mul3(a, b)));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf4_of_many, batch4, 4, |out, a, b| mul4::<false>(out, a, b));
/// A product by itself is wanted soon; of many, the fewest instructions count.
///
/// # Safety
/// The features exist; `a` and `b` point to 4 words each, `out` to 8.
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq")]
unsafe fn leaf4(out: *mut u64, a: *const u64, b: *const u64) {
    // SAFETY: the caller's promise.
    unsafe { mul4::<true>(out, a, b) }
}
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf5, batch5, 5, |out, a, b| store(out, 10, mul6(lanes3(a, 5), lanes3(b, 5))));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf6, batch6, 6, |out, a, b| store(out, 12, mul6(lanes3(a, 6), lanes3(b, 6))));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf7, batch7, 7, |out, a, b| {
    store(out, 14, mul8([load(a, 7, 0), load(a, 7, 2)], [load(b, 7, 0), load(b, 7, 2)]))
});
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf8, batch8, 8, |out, a, b| {
    store(out, 16, mul8([load(a, 8, 0), load(a, 8, 2)], [load(b, 8, 0), load(b, 8, 2)]))
});
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf9, batch9, 9, |out, a, b| mul9(out, a, b));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf10, batch10, 10, |out, a, b| store(
    out,
    20,
    mul12(lanes6(a, 10), lanes6(b, 10))
));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf11, batch11, 11, |out, a, b| store(
    out,
    22,
    mul12(lanes6(a, 11), lanes6(b, 11))
));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf12, batch12, 12, |out, a, b| store(
    out,
    24,
    mul12(lanes6(a, 12), lanes6(b, 12))
));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf13, batch13, 13, |out, a, b| store(
    out,
    26,
    mul16(vectors4(a, 13), vectors4(b, 13))
));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf14, batch14, 14, |out, a, b| store(
    out,
    28,
    mul16(vectors4(a, 14), vectors4(b, 14))
));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf15, batch15, 15, |out, a, b| store(
    out,
    30,
    mul16(vectors4(a, 15), vectors4(b, 15))
));
leaf256!("avx2,vpclmulqdq,pclmulqdq", leaf16, batch16, 16, |out, a, b| store(
    out,
    32,
    mul16(vectors4(a, 16), vectors4(b, 16))
));

long_leaves!("avx2,vpclmulqdq,pclmulqdq");

/// # Safety
/// `words` points to `n` words, 5 or 6.
#[inline(always)]
pub(super) unsafe fn lanes3(words: *const u64, n: usize) -> [Xmm; 3] {
    // SAFETY: the caller's promise: at least part of the third lane is there.
    unsafe { [clmul::load(words, n, 0), clmul::load(words, n, 1), clmul::load(words, n, 2)] }
}

// SAFETY: the functions keep to the contract, and `kernel` hands the value out only against the token of their features.
static KERNEL: Kernel = unsafe {
    Kernel::new(
        "vpclmul",
        &LEAVES,
        &BATCHES,
        clmul::row,
        clmul::square,
        memory::table!(
            #[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq")]
            Ymm
        ),
    )
};

/// The arm, against proof of its instructions.
#[inline]
pub(crate) fn kernel(_: HaveVpclmul) -> &'static Kernel {
    &KERNEL
}
