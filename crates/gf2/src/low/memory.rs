//! The linear parts of the schemes: sums of word arrays. Each is written once, over any [`Vector`], and every arm compiles it with its
//! widest one. What a leaf loads as one vector should have been written by one store; otherwise the CPU waits until its stores have drained.

/// A register of words that are loaded, added and stored together.
pub(super) trait Vector: Copy {
    /// How many words.
    const WORDS: usize;
    /// Whether fewer than `WORDS` can be loaded and stored.
    const MASKED: bool;

    /// The `n` words at `at`, then zeros.
    ///
    /// # Safety
    /// The vector's instructions exist, n words are at `at`, and n is `WORDS` or, if `MASKED`, less.
    unsafe fn load(at: *const u64, n: usize) -> Self;

    /// Writes the first `n` words.
    ///
    /// # Safety
    /// As for [`Vector::load`].
    unsafe fn store(self, at: *mut u64, n: usize);

    /// The same word everywhere.
    ///
    /// # Safety
    /// The vector's instructions exist.
    unsafe fn splat(word: u64) -> Self;

    /// The first word.
    fn word(self) -> u64;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// Word i becomes the sum of words 0 to i.
    fn running(self) -> Self;

    /// The last word everywhere.
    fn last(self) -> Self;
}

impl Vector for u64 {
    const WORDS: usize = 1;
    const MASKED: bool = false;
    #[inline(always)]
    unsafe fn load(at: *const u64, _: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { *at }
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u64, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { *at = self }
    }
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        word
    }
    #[inline(always)]
    fn word(self) -> u64 {
        self
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn running(self) -> Self {
        self
    }
    #[inline(always)]
    fn last(self) -> Self {
        self
    }
}

/// An operation on words i to i + n - 1 of some arrays.
trait Step {
    /// # Safety
    /// Words i to i + n - 1 of the arrays are there; V and n are as [`Vector::load`] requires.
    unsafe fn step<V: Vector>(&self, i: usize, n: usize);
}

/// Steps through the words `from` to `to` - 1: whole vectors first, then the rest.
///
/// # Safety
/// V's instructions exist, and the words are there.
#[inline(always)]
unsafe fn walk<V: Vector>(step: &impl Step, from: usize, to: usize) {
    let mut i = from;
    // SAFETY: the caller's promise; no step goes beyond `to`.
    unsafe {
        while i + V::WORDS <= to {
            step.step::<V>(i, V::WORDS);
            i += V::WORDS;
        }
        if V::MASKED && i < to {
            return step.step::<V>(i, to - i);
        }
        while i < to {
            step.step::<u64>(i, 1);
            i += 1;
        }
    }
}

/// `out = x + y`.
struct Add {
    out: *mut u64,
    x: *const u64,
    y: *const u64,
}

impl Step for Add {
    #[inline(always)]
    unsafe fn step<V: Vector>(&self, i: usize, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { V::load(self.x.add(i), n).plus(V::load(self.y.add(i), n)).store(self.out.add(i), n) }
    }
}

/// `out[..n] = x[..n] + y[..n]`. `x` may be `out`.
///
/// # Safety
/// V's instructions exist; the three point to n words; `out` is one of the others, or overlaps neither.
#[inline(always)]
pub(super) unsafe fn add<V: Vector>(out: *mut u64, x: *const u64, y: *const u64, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { walk::<V>(&Add { out, x, y }, 0, n) }
}

/// `out = x + y + z`.
struct Add3 {
    two: Add,
    z: *const u64,
}

impl Step for Add3 {
    #[inline(always)]
    unsafe fn step<V: Vector>(&self, i: usize, n: usize) {
        let Add { out, x, y } = self.two;
        // SAFETY: the caller's promise.
        unsafe {
            let sum = V::load(x.add(i), n).plus(V::load(y.add(i), n));
            sum.plus(V::load(self.z.add(i), n)).store(out.add(i), n);
        }
    }
}

/// `out[..n] = x[..n] + y[..n] + z[..n]`. `x` may be `out`.
///
/// # Safety
/// V's instructions exist; the four point to n words; `out` is `x` or overlaps none.
#[inline(always)]
pub(super) unsafe fn add3<V: Vector>(out: *mut u64, x: *const u64, y: *const u64, z: *const u64, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { walk::<V>(&Add3 { two: Add { out, x, y }, z }, 0, n) }
}

/// Word i of lo = l₀ + l₁·X^h, hi = h₀ + h₁·X^h and mid = m₀ + m₁·X^h. The middle of the product is `l₁ + h₀ + l₀ + m₀` and
/// `l₁ + h₀ + h₁ + m₁`: the shared `l₁ + h₀` is computed once, and no word is written twice (refined Karatsuba, docs/schemes.md).
/// `HALVES` halves of hi reach this word. Beyond the end of a half, the words that would be written are zero because of the degree.
struct Join2<const HALVES: u8> {
    lo: *mut u64,
    mid: *const u64,
    h: usize,
}

impl<const HALVES: u8> Step for Join2<HALVES> {
    #[inline(always)]
    unsafe fn step<V: Vector>(&self, i: usize, n: usize) {
        // SAFETY: the caller's promise: hi follows lo.
        unsafe {
            let (l0, h) = (self.lo.add(i), self.h);
            let (l1, h0, h1) = (l0.add(h), l0.wrapping_add(2 * h), l0.wrapping_add(3 * h));
            let m0 = V::load(l0, n).plus(V::load(self.mid.add(i), n));
            if HALVES == 0 {
                return V::load(l1, n).plus(m0).store(l1, n);
            }
            let shared = V::load(l1, n).plus(V::load(h0, n));
            let mut upper = V::load(self.mid.add(h + i), n);
            if HALVES == 2 {
                upper = upper.plus(V::load(h1, n));
            }
            shared.plus(m0).store(l1, n);
            shared.plus(upper).store(h0, n);
        }
    }
}

/// `out` holds lo (2h words) and hi (2r), `mid` the product of the sums (2h); afterwards `out` holds the product.
///
/// # Safety
/// V's instructions exist; r ≤ h; the words are there, and `mid` does not overlap `out`.
#[inline(always)]
pub(super) unsafe fn karatsuba2_join<V: Vector>(out: *mut u64, mid: *const u64, h: usize, r: usize) {
    let (both, first) = ((2 * r).saturating_sub(h), h.min(2 * r));
    // SAFETY: the caller's promise.
    unsafe {
        walk::<V>(&Join2::<2> { lo: out, mid, h }, 0, both);
        walk::<V>(&Join2::<1> { lo: out, mid, h }, both, first);
        walk::<V>(&Join2::<0> { lo: out, mid, h }, first, h);
    }
}

/// Word i of the parts' products A + B·X^k, C + D·X^k, E + F·X^k and those of the sums G + H·X^k (parts 0, 1), I + J·X^k (0, 2),
/// K + L·X^k (1, 2). The six blocks of the product are A; B+(G+A+C); C+(H+B+D)+(I+A+E); D+(J+B+F)+(K+C+E); E+(L+D+F); F. Of E and F,
/// `HALVES` reach this word.
struct Join3<const HALVES: u8> {
    out: *mut u64,
    cross: *const u64,
    k: usize,
}

impl<const HALVES: u8> Step for Join3<HALVES> {
    #[inline(always)]
    unsafe fn step<V: Vector>(&self, i: usize, n: usize) {
        // SAFETY: the caller's promise; E and F are read only as far as they reach.
        unsafe {
            let out = |block: usize| self.out.wrapping_add(block * self.k + i);
            let of = |block| V::load(out(block), n);
            let cross = |block: usize| V::load(self.cross.add(block * self.k + i), n);
            let (a, b, c, d) = (of(0), of(1), of(2), of(3));
            let (ac, bd) = (a.plus(c), b.plus(d));
            let mut second = ac.plus(bd).plus(cross(1).plus(cross(2)));
            let mut third = bd.plus(c).plus(cross(3).plus(cross(4)));
            if HALVES > 0 {
                let e = of(4);
                let mut fourth = e.plus(d).plus(cross(5));
                (second, third) = (second.plus(e), third.plus(e));
                if HALVES > 1 {
                    let f = of(5);
                    (third, fourth) = (third.plus(f), fourth.plus(f));
                }
                fourth.store(out(4), n);
            }
            b.plus(ac).plus(cross(0)).store(out(1), n);
            second.store(out(2), n);
            third.store(out(3), n);
        }
    }
}

/// `out` holds the products of the parts (2k, 2k, 2r words), `cross` those of the sums (2k each); afterwards `out` holds the product.
///
/// # Safety
/// V's instructions exist; r ≤ k; the words are there, and `cross` does not overlap `out`.
#[inline(always)]
pub(super) unsafe fn karatsuba3_join<V: Vector>(out: *mut u64, cross: *const u64, k: usize, r: usize) {
    let (both, first) = ((2 * r).saturating_sub(k), k.min(2 * r));
    // SAFETY: the caller's promise.
    unsafe {
        walk::<V>(&Join3::<2> { out, cross, k }, 0, both);
        walk::<V>(&Join3::<1> { out, cross, k }, both, first);
        walk::<V>(&Join3::<0> { out, cross, k }, first, k);
    }
}

/// Word i of u₀ + u₁·X + u₂·X², where all three reach.
struct AtX {
    out: *mut u64,
    u0: *const u64,
    u1: *const u64,
    u2: *const u64,
}

impl Step for AtX {
    #[inline(always)]
    unsafe fn step<V: Vector>(&self, i: usize, n: usize) {
        // SAFETY: the caller's promise; i is at least 2.
        unsafe {
            let sum = V::load(self.u0.add(i), n).plus(V::load(self.u1.add(i - 1), n));
            sum.plus(V::load(self.u2.add(i - 2), n)).store(self.out.add(i), n);
        }
    }
}

/// `out = u₀ + u₁·X + u₂·X²` for u = u₀ + u₁·X^k + u₂·X^2k of n words.
///
/// # Safety
/// V's instructions exist; n words are at `u`, max(k + 1, n - 2k + 2) at `out`; k < n - k ≤ 2k; they do not overlap.
#[inline(always)]
pub(super) unsafe fn toom3_at_x<V: Vector>(out: *mut u64, u: *const u64, n: usize, k: usize) {
    let top = n - 2 * k;
    let words = (k + 1).max(top + 2);
    // SAFETY: the caller's promise: each index is below its part's length.
    unsafe {
        let (u0, u1, u2) = (u, u.add(k), u.add(2 * k));
        let all = 2..k.min(top + 2).max(2);
        walk::<V>(&AtX { out, u0, u1, u2 }, all.start, all.end);
        for i in (0..all.start.min(words)).chain(all.end..words) {
            let mut word = if i < k { *u0.add(i) } else { 0 };
            word ^= if (1..=k).contains(&i) { *u1.add(i - 1) } else { 0 };
            word ^= if (2..top + 2).contains(&i) { *u2.add(i - 2) } else { 0 };
            *out.add(i) = word;
        }
    }
}

/// Toom-Cook's interpolation (docs/schemes.md): from c₀, c₄ and the values at 1, X and X + 1 to c₁, c₂ and c₃. There are `words` of each, but `top` of c₄.
///
/// No closures and no iterators here: how the compiler puts those together depends on what else it compiles, and then two programs have other
/// registers in the same kernel.
struct Interpolation {
    c0: *const u64,
    c4: *const u64,
    at_1: *mut u64,
    at_x: *mut u64,
    at_x1: *const u64,
    c2: *mut u64,
    words: usize,
    top: usize,
}

impl Interpolation {
    /// Word i of c₄·X^back, or zero.
    ///
    /// # Safety
    /// The words of c₄ are there.
    #[inline(always)]
    unsafe fn c4(&self, i: usize, back: usize) -> u64 {
        // SAFETY: the caller's promise; the index is below `top`.
        if i >= back && i - back < self.top { unsafe { *self.c4.add(i - back) } } else { 0 }
    }

    /// The words `from` to `to` - 1, one by one, wherever c₄ and the others end. It takes the running sums up to the word before, and returns them
    /// for the next.
    ///
    /// # Safety
    /// The words are there.
    #[inline(always)]
    unsafe fn one_by_one(&self, from: usize, to: usize, [mut t, mut c3]: [u64; 2]) -> [u64; 2] {
        let mut i = from;
        // SAFETY: the caller's promise; the values at X and X + 1 have a word more.
        unsafe {
            while i < to {
                let last = i + 1 == self.words;
                let (next_1, next_c0) = if last { (0, 0) } else { (*self.at_1.add(i + 1), *self.c0.add(i + 1)) };
                let (next_x, next_x1) = (*self.at_x.add(i + 1), *self.at_x1.add(i + 1));
                let ends = *self.c0.add(i) ^ self.c4(i, 0);
                t ^= *self.at_x1.add(i) ^ ends ^ self.c4(i, 4);
                c3 ^= next_1 ^ next_x ^ next_x1 ^ next_c0;
                let s = t ^ next_x ^ next_c0 ^ self.c4(i, 3);
                *self.at_1.add(i) ^= ends ^ s;
                *self.c2.add(i) = s ^ c3;
                *self.at_x.add(i) = c3;
                i += 1;
            }
        }
        [t, c3]
    }

    /// A step from word i. The running sums stand in every word of a vector. `C4` says whether c₄ reaches this word and the four before it.
    ///
    /// # Safety
    /// As [`Step::step`], and word i + n is there too.
    #[inline(always)]
    unsafe fn step<V: Vector, const C4: bool>(&self, i: usize, n: usize, [t_before, c3_before]: [V; 2]) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let (c0, at_1, at_x1) =
                (V::load(self.c0.add(i), n), V::load(self.at_1.add(i), n), V::load(self.at_x1.add(i), n));
            // X·(c₁ + c₂X + c₃X²), a word on, where it is D.
            let x_c0 = V::load(self.at_x.add(i + 1), n).plus(V::load(self.c0.add(i + 1), n));
            let r = x_c0.plus(V::load(self.at_1.add(i + 1), n)).plus(V::load(self.at_x1.add(i + 1), n));
            let (mut d, mut ends, mut ends_x1) = (x_c0, c0, c0);
            if C4 {
                ends = ends.plus(V::load(self.c4.add(i), n));
                ends_x1 = ends.plus(V::load(self.c4.add(i - 4), n));
                d = d.plus(V::load(self.c4.add(i - 3), n));
            }
            let (t, c3) = (at_x1.plus(ends_x1).running(), r.running());
            let after = [t_before.plus(t.last()), c3_before.plus(c3.last())];
            let (t, c3) = (t.plus(t_before), c3.plus(c3_before));
            let s = t.plus(d);
            at_1.plus(ends).plus(s).store(self.at_1.add(i), n);
            s.plus(c3).store(self.c2.add(i), n);
            c3.store(self.at_x.add(i), n);
            after
        }
    }

    /// All words `from` to `to` - 1.
    ///
    /// # Safety
    /// V's instructions exist; the words are there, and word `to` too.
    #[inline(always)]
    unsafe fn walk<V: Vector, const C4: bool>(&self, from: usize, to: usize, before: [u64; 2]) -> [u64; 2] {
        let mut i = from;
        // SAFETY: the caller's promise; no step goes beyond `to`.
        unsafe {
            let mut sums = [V::splat(before[0]), V::splat(before[1])];
            while i + V::WORDS <= to {
                sums = self.step::<V, C4>(i, V::WORDS, sums);
                i += V::WORDS;
            }
            let mut sums = [sums[0].word(), sums[1].word()];
            while i < to {
                sums = self.step::<u64, C4>(i, 1, sums);
                i += 1;
            }
            sums
        }
    }
}

/// The end of Toom-Cook with parts of k, k and r words: `out` holds c₀ (2k) and, from word 4k, c₄ (2r); the values of the product at 1, X and
/// X + 1 have 2k words and two of at least 2k + 2. Afterwards `at_1` holds c₁, `at_x` c₃ (2k words each), and c₂ stands in `out` from word 2k.
///
/// # Safety
/// V's instructions exist; 1 ≤ r ≤ k, the words are there, and no two of the four overlap.
#[inline(always)]
pub(super) unsafe fn toom3_interpolate<V: Vector>(
    out: *mut u64,
    [at_1, at_x, at_x1]: [*mut u64; 3],
    k: usize,
    r: usize,
) {
    // SAFETY: the caller's promise. The vectors stop before the last word, whose successor is not there.
    unsafe {
        let (c0, c2, c4) = (out.cast_const(), out.add(2 * k), out.add(4 * k).cast_const());
        let values = Interpolation { c0, c4, at_1, at_x, at_x1, c2, words: 2 * k, top: 2 * r };
        let last = values.words - 1;
        let first = last.min(4);
        let reached = values.top.clamp(first, last);
        let beyond = last.min(reached + 4);
        let sums = values.one_by_one(0, first, [0; 2]);
        let sums = values.walk::<V, true>(first, reached, sums);
        let sums = values.one_by_one(reached, beyond, sums);
        let sums = values.walk::<V, false>(beyond, last, sums);
        values.one_by_one(last, values.words, sums);
    }
}

/// The functions above, compiled for one arm.
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub(super) add: unsafe fn(out: *mut u64, x: *const u64, y: *const u64, n: usize),
    pub(super) add3: unsafe fn(out: *mut u64, x: *const u64, y: *const u64, z: *const u64, n: usize),
    pub(super) karatsuba2_join: unsafe fn(out: *mut u64, mid: *const u64, h: usize, r: usize),
    pub(super) karatsuba3_join: unsafe fn(out: *mut u64, cross: *const u64, k: usize, r: usize),
    pub(super) toom3_at_x: unsafe fn(out: *mut u64, u: *const u64, n: usize, k: usize),
    pub(super) toom3_interpolate: unsafe fn(out: *mut u64, values: [*mut u64; 3], k: usize, r: usize),
}

/// A [`Table`] of those functions over the given vector, compiled with the given features.
macro_rules! table {
    ($(#[$features:meta])? $vector:ty) => {{
        use $crate::low::memory;
        /// # Safety
        /// The features exist; the rest as `memory::add`.
        $(#[$features])?
        unsafe fn add(out: *mut u64, x: *const u64, y: *const u64, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::add::<$vector>(out, x, y, n) }
        }
        /// # Safety
        /// The features exist; the rest as `memory::add3`.
        $(#[$features])?
        unsafe fn add3(out: *mut u64, x: *const u64, y: *const u64, z: *const u64, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::add3::<$vector>(out, x, y, z, n) }
        }
        /// # Safety
        /// The features exist; the rest as `memory::karatsuba2_join`.
        $(#[$features])?
        unsafe fn karatsuba2_join(out: *mut u64, mid: *const u64, h: usize, r: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::karatsuba2_join::<$vector>(out, mid, h, r) }
        }
        /// # Safety
        /// The features exist; the rest as `memory::karatsuba3_join`.
        $(#[$features])?
        unsafe fn karatsuba3_join(out: *mut u64, cross: *const u64, k: usize, r: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::karatsuba3_join::<$vector>(out, cross, k, r) }
        }
        /// # Safety
        /// The features exist; the rest as `memory::toom3_at_x`.
        $(#[$features])?
        unsafe fn toom3_at_x(out: *mut u64, u: *const u64, n: usize, k: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::toom3_at_x::<$vector>(out, u, n, k) }
        }
        /// # Safety
        /// The features exist; the rest as `memory::toom3_interpolate`.
        $(#[$features])?
        unsafe fn toom3_interpolate(out: *mut u64, values: [*mut u64; 3], k: usize, r: usize) {
            // SAFETY: the caller's promise.
            unsafe { memory::toom3_interpolate::<$vector>(out, values, k, r) }
        }
        memory::Table { add, add3, karatsuba2_join, karatsuba3_join, toom3_at_x, toom3_interpolate }
    }};
}
pub(super) use table;
