//! The linear parts of the schemes: sums of word arrays. One safe body each, which every arm compiles with its own vectors.

use core::slice::{from_raw_parts, from_raw_parts_mut};

/// The bodies below, as one arm compiled them.
#[derive(Clone, Copy)]
pub(super) struct Table {
    /// `out[..n] = x[..n] ^ y[..n]`.
    pub(super) add: unsafe fn(out: *mut u64, x: *const u64, y: *const u64, n: usize),
    /// `out[..n] ^= x[..n]`.
    pub(super) add_into: unsafe fn(out: *mut u64, x: *const u64, n: usize),
    /// `out` holds lo (2h) and hi (2r), `middle` the product of the sums (2h); r ≤ h.
    pub(super) karatsuba2_join: unsafe fn(out: *mut u64, middle: *const u64, h: usize, r: usize),
    /// `out` holds the products of the parts (2k, 2k, 2r), `cross` those of the sums (2k each); r ≤ k.
    pub(super) karatsuba3_join: unsafe fn(out: *mut u64, cross: *const u64, k: usize, r: usize),
}

/// # Safety
/// `out`, `x` and `y` point to n words; `out` overlaps neither.
#[inline(always)]
pub(super) unsafe fn add(out: *mut u64, x: *const u64, y: *const u64, n: usize) {
    // SAFETY: the caller's promise.
    let (out, x, y) = unsafe { (from_raw_parts_mut(out, n), from_raw_parts(x, n), from_raw_parts(y, n)) };
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = x ^ y;
    }
}

/// # Safety
/// `out` and `x` point to n words and do not overlap.
#[inline(always)]
pub(super) unsafe fn add_into(out: *mut u64, x: *const u64, n: usize) {
    // SAFETY: the caller's promise.
    let (out, x) = unsafe { (from_raw_parts_mut(out, n), from_raw_parts(x, n)) };
    for (out, x) in out.iter_mut().zip(x) {
        *out ^= x;
    }
}

/// With lo = l₀ + l₁·X^h, hi = h₀ + h₁·X^h and mid = m₀ + m₁·X^h the middle of the product is `l₁ ^ h₀ ^ l₀ ^ m₀` and
/// `l₁ ^ h₀ ^ h₁ ^ m₁`: the shared `l₁ ^ h₀` is computed once, and no word is written twice (refined Karatsuba,
/// docs/schemes.md).
///
/// # Safety
/// `out` points to 2h + 2r words, `mid` to 2h, r ≤ h, and they do not overlap.
#[inline(always)]
pub(super) unsafe fn karatsuba2_join(out: *mut u64, mid: *const u64, h: usize, r: usize) {
    // SAFETY: the caller's promise.
    let (out, mid) = unsafe { (from_raw_parts_mut(out, 2 * h + 2 * r), from_raw_parts(mid, 2 * h)) };
    let (lo, hi) = out.split_at_mut(2 * h);
    let (l0, l1) = lo.split_at_mut(h);
    let (m0, m1) = mid.split_at(h);
    // hi has 2r words: h₀ is its first min(h, 2r), h₁ what remains.
    let first = h.min(2 * r);
    let (h0, h1) = hi.split_at_mut(first);
    let both = h1.len();
    middle(&mut l1[..both], &mut h0[..both], &l0[..both], h1, &m0[..both], &m1[..both]);
    for i in both..first {
        let shared = l1[i] ^ h0[i];
        l1[i] = shared ^ l0[i] ^ m0[i];
        h0[i] = shared ^ m1[i];
    }
    for i in first..h {
        // Above hi: the middle's upper part is l₁ ^ m₁ there, which is zero by degree, so only the lower one is written.
        l1[i] ^= l0[i] ^ m0[i];
    }
}

#[inline(always)]
fn middle(l1: &mut [u64], h0: &mut [u64], l0: &[u64], h1: &[u64], m0: &[u64], m1: &[u64]) {
    let n = l1.len();
    let (h0, l0, h1, m0, m1) = (&mut h0[..n], &l0[..n], &h1[..n], &m0[..n], &m1[..n]);
    for i in 0..n {
        let shared = l1[i] ^ h0[i];
        l1[i] = shared ^ l0[i] ^ m0[i];
        h0[i] = shared ^ h1[i] ^ m1[i];
    }
}

/// With the parts' products A + B·X^k, C + D·X^k, E + F·X^k and those of the sums G + H·X^k (parts 0, 1), I + J·X^k (0, 2),
/// K + L·X^k (1, 2), the six blocks of the product are A; B+(G+A+C); C+(H+B+D)+(I+A+E); D+(J+B+F)+(K+C+E); E+(L+D+F); F.
///
/// # Safety
/// `out` points to 4k + 2r words, `cross` to 6k, r ≤ k, and they do not overlap.
#[inline(always)]
pub(super) unsafe fn karatsuba3_join(out: *mut u64, cross: *const u64, k: usize, r: usize) {
    // SAFETY: the caller's promise.
    let (out, cross) = unsafe { (from_raw_parts_mut(out, 4 * k + 2 * r), from_raw_parts(cross, 6 * k)) };
    let (low, top) = out.split_at_mut(4 * k);
    let (out0, rest) = low.split_at_mut(k);
    let (out1, rest) = rest.split_at_mut(k);
    let (out2, out3) = rest.split_at_mut(k);
    let (out4, out5) = top.split_at_mut(k.min(2 * r));
    let (g, rest) = cross.split_at(k);
    let (h, rest) = rest.split_at(k);
    let (i_, rest) = rest.split_at(k);
    let (j, rest) = rest.split_at(k);
    let (k_, l) = rest.split_at(k);
    // With constant zeros for E and F the same lines serve where these have ended; what would be written above them is zero.
    let mut lines = |i: usize, e: Option<&mut u64>, f: u64| {
        let (a, b, c, d) = (out0[i], out1[i], out2[i], out3[i]);
        let value = e.as_deref().map_or(0, |e| *e);
        let (ac, bd) = (a ^ c, b ^ d);
        out1[i] = b ^ ac ^ g[i];
        out2[i] = ac ^ value ^ bd ^ h[i] ^ i_[i];
        out3[i] = bd ^ f ^ j[i] ^ c ^ value ^ k_[i];
        if let Some(e) = e {
            *e = value ^ d ^ f ^ l[i];
        }
    };
    let (both, first) = (out5.len(), out4.len());
    for i in 0..both {
        lines(i, Some(&mut out4[i]), out5[i]);
    }
    for (i, e) in out4.iter_mut().enumerate().skip(both) {
        lines(i, Some(e), 0);
    }
    for i in first..k {
        lines(i, None, 0);
    }
}

/// A [`Table`] of the bodies above, compiled with the features given.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! table {
    ($features:literal) => {
        $crate::low::memory::table!($features, memory::add, memory::karatsuba2_join)
    };
    ($features:literal, $add:path, $karatsuba2_join:path) => {{
        use $crate::low::memory;
        /// # Safety
        /// See `memory::add`.
        #[target_feature(enable = $features)]
        unsafe fn plain_add(out: *mut u64, x: *const u64, y: *const u64, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { $add(out, x, y, n) }
        }
        /// # Safety
        /// See `memory::add_into`.
        #[target_feature(enable = $features)]
        unsafe fn add_into(out: *mut u64, x: *const u64, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::add_into(out, x, n) }
        }
        /// # Safety
        /// See `memory::karatsuba2_join`.
        #[target_feature(enable = $features)]
        unsafe fn join2(out: *mut u64, mid: *const u64, h: usize, r: usize) {
            // SAFETY: the caller's promise.
            unsafe { $karatsuba2_join(out, mid, h, r) }
        }
        /// # Safety
        /// See `memory::karatsuba3_join`.
        #[target_feature(enable = $features)]
        unsafe fn karatsuba3_join(out: *mut u64, cross: *const u64, k: usize, r: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::karatsuba3_join(out, cross, k, r) }
        }
        memory::Table { add: plain_add, add_into, karatsuba2_join: join2, karatsuba3_join }
    }};
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use table;

/// The bodies as the target's base instruction set has them.
pub(super) const PLAIN: Table = Table { add, add_into, karatsuba2_join, karatsuba3_join };
