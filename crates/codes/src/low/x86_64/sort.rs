//! Sorting on 256-bit registers: the bitonic network of [`crate::kernels::mceliece::sort`].
//!
//! A block of `L · V` numbers is `V` vectors of `L` lanes. Each lane is first sorted by itself, which takes comparisons of whole vectors alone; since it doesn't matter
//! in which order numbers come, nothing has to be moved for that. Then the lanes are merged, two by two. Every other lane must be in descending order before; its
//! numbers are complemented meanwhile. In the end number i of lane j is moved to place jV + i.

use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

/// Vectors in registers at once.
const EIGHT: usize = 8;

/// Sorts each block of `block` numbers below 2³¹: see [`crate::kernels::mceliece::sort::sort_blocks`].
#[inline]
pub(crate) fn sort_blocks(_: HaveAvx2, numbers: &mut [u32], scratch: &mut [u32], block: usize) {
    // SAFETY: the token proves AVX2.
    unsafe { sort::<Numbers>(numbers, scratch, block) }
}

/// Sorts words below 2⁶³, a power of two of them.
#[inline]
pub(crate) fn sort_words(_: HaveAvx2, words: &mut [u64], scratch: &mut [u64]) {
    let block = words.len();
    // SAFETY: the token proves AVX2.
    unsafe { sort::<Words>(words, scratch, block) }
}

/// A vector of numbers. All functions are for callers compiled with AVX2.
trait Lanes: Copy {
    type Number: Copy + crate::kernels::mceliece::sort::Number;
    /// Lanes.
    const COUNT: usize;

    /// The vector in `memory`, which is [`Self::COUNT`] long.
    unsafe fn load(memory: &[Self::Number]) -> Self;
    unsafe fn store(self, memory: &mut [Self::Number]);
    /// The lesser and the greater number in each lane.
    unsafe fn ordered(self, other: Self) -> (Self, Self);
    /// Complements the lanes whose number has bit `bit`.
    unsafe fn complemented(self, bit: usize) -> Self;
    /// Complements all lanes or none; which is public.
    unsafe fn complemented_if(self, all: bool) -> Self;
    /// Orders each two lanes whose numbers differ in bit `bit` alone.
    unsafe fn ordered_lanes(self, bit: usize) -> Self;
}

#[target_feature(enable = "avx2")]
fn sort<N: Lanes>(numbers: &mut [N::Number], scratch: &mut [N::Number], block: usize) {
    if block < EIGHT * N::COUNT {
        if block < N::COUNT || numbers.len() < EIGHT * N::COUNT {
            return crate::kernels::mceliece::sort::sort_blocks(numbers, block);
        }
        return numbers.chunks_exact_mut(block).for_each(|block| sort_few::<N>(block));
    }
    for (block, scratch) in numbers.chunks_exact_mut(block).zip(scratch.chunks_exact_mut(block)) {
        sort_lanes::<N>(block);
        let lanes = N::COUNT.trailing_zeros() as usize;
        for merged in 0..lanes {
            for vector in block.chunks_exact_mut(N::COUNT) {
                // SAFETY: this function has AVX2; the slice is as long as a vector.
                unsafe {
                    let mut lanes_of = N::load(vector).complemented(merged);
                    if merged + 1 < lanes {
                        lanes_of = lanes_of.complemented(merged + 1);
                    }
                    for bit in (0..=merged).rev() {
                        lanes_of = lanes_of.ordered_lanes(bit);
                    }
                    lanes_of.store(vector);
                }
            }
            merge::<N>(block, true);
        }
        let vectors = block.len() / N::COUNT;
        for (i, vector) in block.chunks_exact(N::COUNT).enumerate() {
            vector.iter().enumerate().for_each(|(lane, number)| scratch[lane * vectors + i] = *number);
        }
        block.copy_from_slice(scratch);
    }
}

/// Sorts the numbers of one, two or four vectors, in the order in which they lie.
#[target_feature(enable = "avx2")]
#[inline]
fn sort_few<N: Lanes>(block: &mut [N::Number]) {
    let lanes = N::COUNT.trailing_zeros() as usize;
    let vectors = block.len() / N::COUNT;
    // SAFETY: this function has AVX2; the slices are as long as a vector.
    unsafe {
        for (at, vector) in block.chunks_exact_mut(N::COUNT).enumerate() {
            let mut x = N::load(vector);
            for run in 1..=lanes {
                // Runs that are to descend are complemented meanwhile: lanes, or every other vector.
                let down = run == lanes && vectors > 1 && at % 2 == 1;
                x = if run < lanes { x.complemented(run) } else { x.complemented_if(down) };
                for bit in (0..run).rev() {
                    x = x.ordered_lanes(bit);
                }
                x = if run < lanes { x.complemented(run) } else { x.complemented_if(down) };
            }
            x.store(vector);
        }
        let mut run = 2;
        while run <= vectors {
            for (at, numbers) in block.chunks_exact_mut(run * N::COUNT).enumerate() {
                let down = run < vectors && at % 2 == 1;
                let mut left = run.trailing_zeros() as usize;
                while left > 0 {
                    steps::<N, 2>(numbers, left, !down);
                    left -= 1;
                }
                for vector in numbers.chunks_exact_mut(N::COUNT) {
                    let mut x = N::load(vector).complemented_if(down);
                    for bit in (0..lanes).rev() {
                        x = x.ordered_lanes(bit);
                    }
                    x.complemented_if(down).store(vector);
                }
            }
            run *= 2;
        }
    }
}

/// Sorts each lane, the odd ones by their complements.
#[target_feature(enable = "avx2")]
#[inline]
fn sort_lanes<N: Lanes>(block: &mut [N::Number]) {
    let vectors = block.len() / N::COUNT;
    for (at, eight) in block.chunks_exact_mut(EIGHT * N::COUNT).enumerate() {
        // SAFETY: this function has AVX2; the slices are as long as a vector.
        unsafe {
            let mut x: [N; EIGHT] =
                core::array::from_fn(|i| N::load(&eight[i * N::COUNT..][..N::COUNT]).complemented(0));
            let up = vectors == EIGHT || at % 2 == 0;
            for run in [2, 4, 8] {
                let mut stride = run / 2;
                while stride > 0 {
                    for i in (0..EIGHT).filter(|i| i & stride == 0) {
                        let up = if run == 8 { up } else { i & run == 0 };
                        (x[i], x[i + stride]) = in_order(x[i], x[i + stride], up);
                    }
                    stride /= 2;
                }
            }
            for (x, memory) in x.into_iter().zip(eight.chunks_exact_mut(N::COUNT)) {
                x.store(memory);
            }
        }
    }
    let mut run = 2 * EIGHT;
    while run <= vectors {
        for (at, numbers) in block.chunks_exact_mut(run * N::COUNT).enumerate() {
            merge::<N>(numbers, run == vectors || at % 2 == 0);
        }
        run *= 2;
    }
}

/// Sorts a bitonic sequence of vectors, ascending or descending; there are at least eight.
#[target_feature(enable = "avx2")]
#[inline]
fn merge<N: Lanes>(numbers: &mut [N::Number], up: bool) {
    let mut left = (numbers.len() / N::COUNT).trailing_zeros() as usize;
    // Three steps in registers at a time, the first one or two alone.
    match left % 3 {
        1 => steps::<N, 2>(numbers, left, up),
        2 => steps::<N, 4>(numbers, left, up),
        _ => {}
    }
    left -= left % 3;
    while left > 0 {
        steps::<N, EIGHT>(numbers, left, up);
        left -= 3;
    }
}

/// The steps of a merge of `2^left` vectors that take `R` vectors: strides of half as many vectors, a quarter, ….
#[target_feature(enable = "avx2")]
#[inline]
fn steps<N: Lanes, const R: usize>(numbers: &mut [N::Number], left: usize, up: bool) {
    let apart = N::COUNT << left >> R.trailing_zeros();
    for part in numbers.chunks_exact_mut(R * apart) {
        for i in (0..apart).step_by(N::COUNT) {
            // SAFETY: this function has AVX2; the slices are as long as a vector.
            unsafe {
                let mut x: [N; R] = core::array::from_fn(|j| N::load(&part[j * apart + i..][..N::COUNT]));
                let mut stride = R / 2;
                while stride > 0 {
                    for j in (0..R).filter(|j| j & stride == 0) {
                        (x[j], x[j + stride]) = in_order(x[j], x[j + stride], up);
                    }
                    stride /= 2;
                }
                for (j, x) in x.into_iter().enumerate() {
                    x.store(&mut part[j * apart + i..][..N::COUNT]);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn in_order<N: Lanes>(a: N, b: N, up: bool) -> (N, N) {
    // SAFETY: as the caller's.
    let (least, most) = unsafe { a.ordered(b) };
    if up { (least, most) } else { (most, least) }
}

/// Eight numbers.
#[derive(Clone, Copy)]
struct Numbers(__m256i);

impl Lanes for Numbers {
    type Number = u32;
    const COUNT: usize = 8;

    #[inline(always)]
    unsafe fn load(memory: &[u32]) -> Self {
        let memory: &[u32; 8] = memory.try_into().expect("eight numbers");
        // SAFETY: there are the 32 bytes that are read, at any alignment; the caller has AVX2.
        Self(unsafe { _mm256_loadu_si256(memory.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, memory: &mut [u32]) {
        let memory: &mut [u32; 8] = memory.try_into().expect("eight numbers");
        // SAFETY: there are the 32 bytes that are written, at any alignment; the caller has AVX2.
        unsafe { _mm256_storeu_si256(memory.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    unsafe fn ordered(self, other: Self) -> (Self, Self) {
        // SAFETY: the caller has AVX2.
        unsafe { (Self(_mm256_min_epi32(self.0, other.0)), Self(_mm256_max_epi32(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn complemented(self, bit: usize) -> Self {
        // SAFETY: the caller has AVX2.
        unsafe {
            let lanes = match bit {
                0 => _mm256_setr_epi32(0, -1, 0, -1, 0, -1, 0, -1),
                1 => _mm256_setr_epi32(0, 0, -1, -1, 0, 0, -1, -1),
                _ => _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1),
            };
            Self(_mm256_xor_si256(self.0, lanes))
        }
    }

    #[inline(always)]
    unsafe fn complemented_if(self, all: bool) -> Self {
        // SAFETY: the caller has AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_set1_epi32(-i32::from(all))) })
    }

    #[inline(always)]
    unsafe fn ordered_lanes(self, bit: usize) -> Self {
        // SAFETY: the caller has AVX2.
        unsafe {
            let other = match bit {
                0 => _mm256_shuffle_epi32::<0b10110001>(self.0),
                1 => _mm256_shuffle_epi32::<0b01001110>(self.0),
                _ => _mm256_permute2x128_si256::<1>(self.0, self.0),
            };
            let (Self(least), Self(most)) = self.ordered(Self(other));
            Self(match bit {
                0 => _mm256_blend_epi32::<0b10101010>(least, most),
                1 => _mm256_blend_epi32::<0b11001100>(least, most),
                _ => _mm256_blend_epi32::<0b11110000>(least, most),
            })
        }
    }
}

/// Four words.
#[derive(Clone, Copy)]
struct Words(__m256i);

impl Lanes for Words {
    type Number = u64;
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn load(memory: &[u64]) -> Self {
        let memory: &[u64; 4] = memory.try_into().expect("four words");
        // SAFETY: there are the 32 bytes that are read, at any alignment; the caller has AVX2.
        Self(unsafe { _mm256_loadu_si256(memory.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, memory: &mut [u64]) {
        let memory: &mut [u64; 4] = memory.try_into().expect("four words");
        // SAFETY: there are the 32 bytes that are written, at any alignment; the caller has AVX2.
        unsafe { _mm256_storeu_si256(memory.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    unsafe fn ordered(self, other: Self) -> (Self, Self) {
        // SAFETY: the caller has AVX2.
        unsafe {
            let greater = _mm256_cmpgt_epi64(self.0, other.0);
            let least = _mm256_blendv_epi8(self.0, other.0, greater);
            let most = _mm256_blendv_epi8(other.0, self.0, greater);
            (Self(least), Self(most))
        }
    }

    #[inline(always)]
    unsafe fn complemented(self, bit: usize) -> Self {
        // SAFETY: the caller has AVX2.
        unsafe {
            let lanes = match bit {
                0 => _mm256_setr_epi64x(0, -1, 0, -1),
                _ => _mm256_setr_epi64x(0, 0, -1, -1),
            };
            Self(_mm256_xor_si256(self.0, lanes))
        }
    }

    #[inline(always)]
    unsafe fn complemented_if(self, all: bool) -> Self {
        // SAFETY: the caller has AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_set1_epi64x(-i64::from(all))) })
    }

    #[inline(always)]
    unsafe fn ordered_lanes(self, bit: usize) -> Self {
        // SAFETY: the caller has AVX2.
        unsafe {
            let other = match bit {
                0 => _mm256_shuffle_epi32::<0b01001110>(self.0),
                _ => _mm256_permute2x128_si256::<1>(self.0, self.0),
            };
            let (Self(least), Self(most)) = self.ordered(Self(other));
            Self(match bit {
                0 => _mm256_blend_epi32::<0b11001100>(least, most),
                _ => _mm256_blend_epi32::<0b11110000>(least, most),
            })
        }
    }
}
