//! Two products at a time, in an order of instructions that keeps the multiplier busy: compilers find others, which take a quarter more time.
//!
//! The steps are those of `ifma.rs`. A number of 20 limbs has two vectors and a half: the last one has four lanes, which some CPUs multiply in half the time.

use super::ifma::{Job, MASK, loaded, spread, stored};
use candor_cpu::HaveAvx512Ifma;
use core::arch::asm;
use core::arch::x86_64::*;
use core::slice;

/// Vectors of the longest number.
const MOST: usize = 5;

/// A step of one product, whose limbs of b are at `$b` and whose m is at `$m`. `$next` has the next limb of b in zmm28, and `$reduced` adds the multiple of m. For
/// each vector there are its width, where it is in m, and the registers of a, the sum, the upper halves, and the sum in the vector above.
macro_rules! step {
    ($b:literal, $next:expr, $reduced:ident, $m:literal, $lowest:literal, $inverse:literal, $word:literal, $(($w:literal $at:literal $a:literal $sum:literal $upper:literal $above:literal))+) => {
        concat!(
            "vpbroadcastq zmm27, [", $b, " + 8 * rax]\n", $next,
            $(
                "vpxord xmm", $upper, ", xmm", $upper, ", xmm", $upper, "\n",
                "vpmadd52huq ", $w, $upper, ", ", $w, $a, ", ", $w, "27\n",
                "vpmadd52luq ", $w, $upper, ", ", $w, $a, ", ", $w, "28\n",
            )+
            $reduced!($m, $lowest, $inverse, $word, $(($w $at $sum $upper))+),
            // What the lowest limb carries.
            "vpsrlq xmm29 {{k1}} {{z}}, xmm", $lowest, ", 52\n",
            "vpaddq zmm21, zmm21, zmm29\n",
            $(
                "valignq ", $w, $sum, ", ", $w, $above, ", ", $w, $sum, ", 1\n",
                "vpaddq ", $w, $sum, ", ", $w, $sum, ", ", $w, $upper, "\n",
            )+
        )
    };
}

/// The multiple of m, whose factor comes from vectors. For short numbers, which have to wait for it.
macro_rules! reduced_by_vectors {
    ($m:literal, $lowest:literal, $inverse:literal, $word:literal, $(($w:literal $at:literal $sum:literal $upper:literal))+) => {
        concat!(
            "vpxord xmm26, xmm26, xmm26\n vpmadd52luq xmm26, xmm", $lowest, ", xmm", $inverse, "\n vpbroadcastq zmm26, xmm26\n",
            $("vpmadd52luq ", $w, $sum, ", ", $w, "26, [", $m, " + ", $at, "]\n",)+
            $("vpmadd52huq ", $w, $upper, ", ", $w, "26, [", $m, " + ", $at, "]\n",)+
        )
    };
}

/// The same, with a factor from general registers. For long numbers: that takes longer, and leaves the vectors' multiplier alone.
macro_rules! reduced_by_words {
    ($m:literal, $lowest:literal, $inverse:literal, $word:literal, $(($w:literal $at:literal $sum:literal $upper:literal))+) => {
        concat!(
            "vmovq r8, xmm", $lowest, "\n imul r8, ", $word, "\n vpbroadcastq zmm26, r8\n",
            $(
                "vpmadd52huq ", $w, $upper, ", ", $w, "26, [", $m, " + ", $at, "]\n",
                "vpmadd52luq ", $w, $sum, ", ", $w, "26, [", $m, " + ", $at, "]\n",
            )+
        )
    };
}

/// Has limbs below 2^52 + 2^9 pass their carries on, as `ifma.rs` has it, without a detour by general registers. Bit 52 stays where it is: products don't see
/// it. Each vector has its number, a register for its mask, and the number of its first limb; `$joined` makes one mask of all, in k1.
macro_rules! pass_on {
    ($limbs:ident, $joined:literal, $(($v:tt $k:literal $at:literal))+) => {
        // SAFETY: it computes on registers.
        unsafe {
            asm!(
                $(concat!("vpcmpeqq k", $k, ", {", $v, "}, {mask}"),)+
                $joined,
                "kmovq k6, k1",
                $(concat!("vpcmpuq k", $k, ", {", $v, "}, {mask}, 6"),)+
                $joined,
                "kaddq k1, k1, k1",
                "kaddq k1, k1, k6",
                "kxorq k1, k1, k6",
                $(concat!("kshiftrq k2, k1, ", $at, "\n vpsubq {", $v, "} {{k2}}, {", $v, "}, {less}"),)+
                $(inout(zmm_reg) $limbs[$v],)+
                mask = in(zmm_reg) _mm512_set1_epi64(MASK.cast_signed()),
                less = in(zmm_reg) _mm512_set1_epi64(-1),
                out("k1") _, out("k2") _, out("k3") _, out("k4") _, out("k5") _, out("k6") _,
                options(pure, nomem, nostack),
            );
        }
    };
}

/// A function for numbers of some vectors. Each vector has its number, its width, where it is in memory, a register of upper halves, and for each product
/// those of a, the sum, and the sum in the vector above.
macro_rules! function {
    ($name:ident, $vectors:literal, $limbs:literal, $reduced:ident, $joined:literal, $(($v:tt $k:literal $bit:literal $w:literal $at:literal $upper:literal $a0:literal $sum0:literal $above0:literal $a1:literal $sum1:literal $above1:literal))+) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
        fn $name(squares: usize, jobs: &mut [Job<'_>; 2]) {
            let [one, other] = jobs;
            assert!([one.m, one.a, one.b, &*one.to, other.m, other.a, other.b, &*other.to].iter().all(|number| number.len() == 8 * $vectors));
            let m = [Aligned::<$vectors>(loaded(one.m)), Aligned(loaded(other.m))];
            let [inverse, other_inverse] = [one.inverse, other.inverse].map(|inverse| _mm512_set1_epi64(inverse.cast_signed()));
            let mut a: [_; $vectors] = loaded(one.a);
            let mut other_a: [_; $vectors] = loaded(other.a);
            let mut power = [Aligned(a), Aligned(other_a)];
            for round in 0..=squares {
                // The first limb of a square comes from its register: sooner than by memory.
                let (b, [first, other_first]) = if round < squares {
                    power[0].0 = a;
                    power[1].0 = other_a;
                    let first = |a: __m512i| _mm512_broadcastq_epi64(_mm512_castsi512_si128(a));
                    ([power[0].limbs(), power[1].limbs()], [first(a[0]), first(other_a[0])])
                } else {
                    let first = |b: &[u64]| _mm512_set1_epi64(b[0].cast_signed());
                    ([one.b, other.b], [first(one.b), first(other.b)])
                };
                let mut sum = lower(&a, first);
                let mut other_sum = lower(&other_a, other_first);
                // SAFETY: it reads the limbs of b up to the last one used, and the vectors of m. It writes nothing.
                unsafe {
                    asm!(
                        "2:",
                        step!("rdi", "vpbroadcastq zmm28, [rdi + 8 * rax + 8]\n", $reduced, "r10", "11", "30", "r12", $(($w $at $a0 $sum0 $upper $above0))+),
                        step!("rsi", "vpbroadcastq zmm28, [rsi + 8 * rax + 8]\n", $reduced, "r11", "16", "31", "r13", $(($w $at $a1 $sum1 $upper $above1))+),
                        "inc eax",
                        "cmp eax, {last}",
                        "jne 2b",
                        // No limb follows the last one.
                        step!("rdi", "vpxord xmm28, xmm28, xmm28\n", $reduced, "r10", "11", "30", "r12", $(($w $at $a0 $sum0 $upper $above0))+),
                        step!("rsi", "vpxord xmm28, xmm28, xmm28\n", $reduced, "r11", "16", "31", "r13", $(($w $at $a1 $sum1 $upper $above1))+),
                        last = const $limbs - 1,
                        inout("rax") 0_u64 => _, out("r8") _,
                        in("rdi") b[0].as_ptr(), in("rsi") b[1].as_ptr(),
                        in("r10") &raw const m[0], in("r11") &raw const m[1],
                        in("r12") one.inverse, in("r13") other.inverse,
                        in("k1") 1_u8,
                        in("zmm0") _mm512_setzero_si512(),
                        in("zmm1") part(&a, 0), in("zmm2") part(&a, 1), in("zmm3") part(&a, 2), in("zmm4") part(&a, 3), in("zmm5") part(&a, 4),
                        in("zmm6") part(&other_a, 0), in("zmm7") part(&other_a, 1), in("zmm8") part(&other_a, 2), in("zmm9") part(&other_a, 3), in("zmm10") part(&other_a, 4),
                        inout("zmm11") sum[0], inout("zmm12") sum[1], inout("zmm13") sum[2], inout("zmm14") sum[3], inout("zmm15") sum[4],
                        inout("zmm16") other_sum[0], inout("zmm17") other_sum[1], inout("zmm18") other_sum[2], inout("zmm19") other_sum[3], inout("zmm20") other_sum[4],
                        out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _, out("zmm25") _,
                        out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _,
                        in("zmm30") inverse, in("zmm31") other_inverse,
                        options(readonly, nostack),
                    );
                }
                a = spread(sum.first_chunk().expect("no number has more vectors"));
                other_a = spread(other_sum.first_chunk().expect("no number has more vectors"));
                pass_on!(a, $joined, $(($v $k $bit))+);
                pass_on!(other_a, $joined, $(($v $k $bit))+);
            }
            let mask = _mm512_set1_epi64(MASK.cast_signed());
            stored(&a.map(|vector| _mm512_and_si512(vector, mask)), one.to);
            stored(&other_a.map(|vector| _mm512_and_si512(vector, mask)), other.to);
        }
    };
}

function!(of_20_limbs, 3, 20, reduced_by_vectors, "kunpckbw k1, k2, k1\n kunpckwd k1, k3, k1",
    (0 "1" "0" "zmm" "0" "21" "1" "11" "12" "6" "16" "17")
    (1 "2" "8" "zmm" "64" "22" "2" "12" "13" "7" "17" "18")
    (2 "3" "16" "ymm" "128" "23" "3" "13" "0" "8" "18" "0")
);
function!(of_30_limbs, 4, 30, reduced_by_words, "kunpckbw k1, k2, k1\n kunpckbw k3, k4, k3\n kunpckwd k1, k3, k1",
    (0 "1" "0" "zmm" "0" "21" "1" "11" "12" "6" "16" "17")
    (1 "2" "8" "zmm" "64" "22" "2" "12" "13" "7" "17" "18")
    (2 "3" "16" "zmm" "128" "23" "3" "13" "14" "8" "18" "19")
    (3 "4" "24" "zmm" "192" "24" "4" "14" "0" "9" "19" "0")
);
function!(of_40_limbs, 5, 40, reduced_by_words, "kunpckbw k1, k2, k1\n kunpckbw k3, k4, k3\n kunpckwd k1, k3, k1\n kunpckdq k1, k5, k1",
    (0 "1" "0" "zmm" "0" "21" "1" "11" "12" "6" "16" "17")
    (1 "2" "8" "zmm" "64" "22" "2" "12" "13" "7" "17" "18")
    (2 "3" "16" "zmm" "128" "23" "3" "13" "14" "8" "18" "19")
    (3 "4" "24" "zmm" "192" "24" "4" "14" "15" "9" "19" "20")
    (4 "5" "32" "zmm" "256" "25" "5" "15" "0" "10" "20" "0")
);

/// Both products of b and of a after some squares: of a^(2^squares), each over R, for moduli of 24, 32 or 40 limbs with padding.
#[inline]
pub(crate) fn products(_: HaveAvx512Ifma, squares: usize, mut jobs: [Job<'_>; 2]) {
    // SAFETY: the token proves the features.
    unsafe {
        match jobs[0].m.len() {
            24 => of_20_limbs(squares, &mut jobs),
            32 => of_30_limbs(squares, &mut jobs),
            40 => of_40_limbs(squares, &mut jobs),
            _ => unreachable!("two numbers at once have 16, 24 or 32 words"),
        }
    }
}

/// Vectors that lie within a line of the cache each.
#[repr(align(64))]
struct Aligned<const V: usize>([__m512i; V]);

impl<const V: usize> Aligned<V> {
    fn limbs(&self) -> &[u64] {
        // SAFETY: a vector is eight words.
        unsafe { slice::from_raw_parts((&raw const self.0).cast(), 8 * V) }
    }
}

/// A vector of a number, or zeros.
#[target_feature(enable = "avx512f")]
#[inline]
fn part<const V: usize>(vectors: &[__m512i; V], v: usize) -> __m512i {
    if v < V { vectors[v] } else { _mm512_setzero_si512() }
}

/// The lower halves of a times a limb, in all lanes, and zeros.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn lower<const V: usize>(a: &[__m512i; V], limb: __m512i) -> [__m512i; MOST] {
    let zero = _mm512_setzero_si512();
    let mut lower = [zero; MOST];
    for (to, a) in lower.iter_mut().zip(a) {
        *to = _mm512_madd52lo_epu64(zero, *a, limb);
    }
    lower
}
