//! Products of polynomials held in vector registers, written once for all vector widths.
//!
//! A lane is 128 bits: two words of one polynomial. A vector of type [`Lanes`] has one lane (SSE, NEON), two (AVX2) or four (AVX-512),
//! and each lane belongs to a polynomial of its own: the functions here compute as many independent products as there are lanes,
//! and no word ever crosses from lane to lane.

/// A vector of 128-bit lanes. A value proves that its instructions exist: values come only from an arm's loads,
/// which want the arm's token.
pub(crate) trait Lanes: Copy {
    /// Sum.
    fn xor(self, other: Self) -> Self;
    /// Sum of three; one instruction where there is one.
    #[inline(always)]
    fn xor3(self, second: Self, third: Self) -> Self {
        self.xor(second).xor(third)
    }
    /// Product of the low words.
    fn clmul_low(self, other: Self) -> Self;
    /// Product of the high words.
    fn clmul_high(self, other: Self) -> Self;
    /// The low word of each lane is the sum of both; the high word is anything.
    fn fold(self) -> Self;
    /// `low + high·x^128` with `middle·x^64` added.
    fn add_middle(low: Self, high: Self, middle: Self) -> [Self; 2];
}

/// 1×1 lanes (2×2 words): Karatsuba, 3 instructions.
#[inline(always)]
pub(crate) fn mul1<V: Lanes>(a: V, b: V) -> [V; 2] {
    let lo = a.clmul_low(b);
    let hi = a.clmul_high(b);
    let mid = a.fold().clmul_low(b.fold()).xor3(lo, hi);
    V::add_middle(lo, hi, mid)
}

/// 2×2 lanes: Karatsuba, 3 lane products.
#[inline(always)]
pub(crate) fn mul2<V: Lanes>(a: [V; 2], b: [V; 2]) -> [V; 4] {
    let lo = mul1(a[0], b[0]);
    let hi = mul1(a[1], b[1]);
    let mid = mul1(a[0].xor(a[1]), b[0].xor(b[1]));
    let shared = lo[1].xor(hi[0]);
    [lo[0], shared.xor3(lo[0], mid[0]), shared.xor3(hi[1], mid[1]), hi[1]]
}

/// 3×3 lanes: Karatsuba 3-way, 6 lane products.
#[inline(always)]
pub(crate) fn mul3<V: Lanes>(a: [V; 3], b: [V; 3]) -> [V; 6] {
    let p = [mul1(a[0], b[0]), mul1(a[1], b[1]), mul1(a[2], b[2])];
    let c01 = mul1(a[0].xor(a[1]), b[0].xor(b[1]));
    let c02 = mul1(a[0].xor(a[2]), b[0].xor(b[2]));
    let c12 = mul1(a[1].xor(a[2]), b[1].xor(b[2]));
    // The blocks A; B+A+C+G; A+C+E+B+D+H+I; B+D+F+C+E+J+K; E+D+F+L; F, as in `memory::karatsuba3_join`.
    let (ab_c, d_ef) = (p[0][0].xor3(p[0][1], p[1][0]), p[1][1].xor3(p[2][0], p[2][1]));
    [
        p[0][0],
        ab_c.xor(c01[0]),
        ab_c.xor3(p[1][1], p[2][0]).xor3(c01[1], c02[0]),
        d_ef.xor3(p[0][1], p[1][0]).xor3(c02[1], c12[0]),
        d_ef.xor(c12[1]),
        p[2][1],
    ]
}

/// The product of h + r lanes (h ≥ r) from functions for h and for r.
macro_rules! karatsuba {
    ($(#[$doc:meta])* $name:ident, $n:literal, $h:literal, $mul_h:ident, $r:literal, $mul_r:ident) => {
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<V: Lanes>(a: [V; $n], b: [V; $n]) -> [V; 2 * $n] {
            // Plain loops of constant length: closures would not be inlined across target features.
            let (mut low, mut high, mut sum) = ([[a[0]; $h]; 2], [[a[0]; $r]; 2], [[a[0]; $h]; 2]);
            for (k, x) in [a, b].into_iter().enumerate() {
                for i in 0..$h {
                    low[k][i] = x[i];
                    sum[k][i] = if i < $r { x[i].xor(x[$h + i]) } else { x[i] };
                }
                for i in 0..$r {
                    high[k][i] = x[$h + i];
                }
            }
            let middle: [V; 2 * $h] = $mul_h(sum[0], sum[1]);
            let low: [V; 2 * $h] = $mul_h(low[0], low[1]);
            let high: [V; 2 * $r] = $mul_r(high[0], high[1]);
            let mut out = [a[0]; 2 * $n];
            for i in 0..2 * $r {
                out[2 * $h + i] = high[i];
            }
            for i in 0..$h {
                out[i] = low[i];
                let shared = if i < 2 * $r { low[$h + i].xor(high[i]) } else { low[$h + i] };
                out[$h + i] = shared.xor3(low[i], middle[i]);
                if i < 2 * $r {
                    let upper = shared.xor(middle[$h + i]);
                    out[2 * $h + i] = if $h + i < 2 * $r { upper.xor(high[$h + i]) } else { upper };
                }
            }
            out
        }
    };
}

karatsuba!(/// 4×4 lanes, 9 lane products.
    mul4, 4, 2, mul2, 2, mul2);
karatsuba!(/// 5×5 lanes, 15 lane products.
    mul5, 5, 3, mul3, 2, mul2);
karatsuba!(/// 6×6 lanes, 18 lane products.
    mul6, 6, 3, mul3, 3, mul3);
karatsuba!(/// 7×7 lanes, 24 lane products.
    mul7, 7, 4, mul4, 3, mul3);
karatsuba!(/// 8×8 lanes, 27 lane products.
    mul8, 8, 4, mul4, 4, mul4);
