//! ChaCha20 (RFC 8439 §2.3) in vectors, in two ways. [`Words`] of many blocks: a vector holds the same word of each, so a batch of them fills
//! all lanes. Rows of few blocks: a vector holds a row of four words of each, and the diagonals come from turning the rows.

use super::blocks::{Beside, store};
use super::registers::{ProvesAvx2, ProvesAvx512, Xmm, Ymm, Zmm};
use core::arch::asm;
use core::arch::x86_64::*;

/// A vector of words of 32 bits, for rows.
pub(super) trait Vector: Copy {
    /// The tokens that prove the instructions.
    type Proof: ProvesAvx2;
    /// Words.
    const WORDS: usize;
    fn add(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// What rotations need to be at hand.
    type Orders: Copy;
    fn orders(proof: Self::Proof) -> Self::Orders;
    /// Each word rotated to the left.
    fn rotate<const N: i32, const REST: i32>(self, orders: Self::Orders) -> Self;
    /// Four words, `row`, in each 16 bytes.
    fn row(proof: Self::Proof, row: &[u32; 4]) -> Self;
    /// 0, 1 and so on in the first word of each 16 bytes, zeros elsewhere.
    fn row_numbers(proof: Self::Proof) -> Self;
    /// The four words of each 16 bytes moved down, the lower ones to the top, as the immediate says.
    fn turn<const ORDER: i32>(self) -> Self;
    /// Writes 16 bytes of each block: `at` is 0 to 3.
    fn store_row(self, at: usize, blocks: &mut [[u8; 64]]);
}

/// A vector that holds the same word of as many blocks as it has words: a batch.
pub(super) trait Words: Vector {
    fn splat(proof: Self::Proof, word: u32) -> Self;
    /// 0, 1, 2 and so on.
    fn numbers(proof: Self::Proof) -> Self;
    /// Keeps what comes before in the program before what comes after, where the compiler's own order is slow: it would put four quarter rounds
    /// one after another, and each is a chain.
    #[inline(always)]
    fn settled(pair: [Self; 2]) -> [Self; 2] {
        pair
    }
    /// Adds vectors of words, as many as a block has, to a batch of blocks of data.
    fn apply(stream: &[Self; 16], data: &mut [[u8; 64]]);
}

/// The input of the block function, in words.
pub(super) type State = [u32; 16];

/// A batch of key stream from `state`'s counter on, a vector for each word; counts on. Does the steps 0 to 9 of `beside` meanwhile, and four
/// parts before each.
#[inline(always)]
pub(super) fn words<V: Words, B: Beside>(proof: V::Proof, state: &mut State, beside: &mut B) -> [V; 16] {
    let orders = V::orders(proof);
    let mut x = [V::splat(proof, 0); 16];
    for (x, word) in x.iter_mut().zip(&*state) {
        *x = V::splat(proof, *word);
    }
    let counters = x[12].add(V::numbers(proof));
    x[12] = counters;
    for n in 0..10 {
        pair(&mut x, [0, 4, 8, 12], [1, 5, 9, 13], orders);
        beside.part(n, 0);
        pair(&mut x, [2, 6, 10, 14], [3, 7, 11, 15], orders);
        beside.part(n, 1);
        pair(&mut x, [0, 5, 10, 15], [1, 6, 11, 12], orders);
        beside.part(n, 2);
        pair(&mut x, [2, 7, 8, 13], [3, 4, 9, 14], orders);
        beside.part(n, 3);
        beside.step(n);
    }
    for (n, (x, word)) in x.iter_mut().zip(&*state).enumerate() {
        *x = x.add(if n == 12 { counters } else { V::splat(proof, *word) });
    }
    state[12] = state[12].wrapping_add(V::WORDS as u32);
    x
}

/// Two quarter rounds, side by side.
#[inline(always)]
fn pair<V: Words>(x: &mut [V; 16], [a, b, c, d]: [usize; 4], [e, f, g, h]: [usize; 4], orders: V::Orders) {
    macro_rules! add_rotate {
        ($a:ident $b:ident $d:ident, $e:ident $f:ident $h:ident, $n:literal $rest:literal) => {
            x[$a] = x[$a].add(x[$b]);
            x[$e] = x[$e].add(x[$f]);
            [x[$a], x[$e]] = V::settled([x[$a], x[$e]]);
            x[$d] = x[$d].xor(x[$a]);
            x[$h] = x[$h].xor(x[$e]);
            [x[$d], x[$h]] = V::settled([x[$d], x[$h]]);
            x[$d] = x[$d].rotate::<$n, $rest>(orders);
            x[$h] = x[$h].rotate::<$n, $rest>(orders);
            [x[$d], x[$h]] = V::settled([x[$d], x[$h]]);
        };
    }
    add_rotate!(a b d, e f h, 16 16);
    add_rotate!(c d b, g h f, 12 20);
    add_rotate!(a b d, e f h, 8 24);
    add_rotate!(c d b, g h f, 7 25);
}

/// `GROUPS` times as many blocks as a vector has rows, side by side.
#[derive(Clone, Copy)]
pub(super) struct Rows<V: Vector, const GROUPS: usize> {
    start: [[V; 4]; GROUPS],
    now: [[V; 4]; GROUPS],
    orders: V::Orders,
}

impl<V: Vector, const GROUPS: usize> Rows<V, GROUPS> {
    /// Blocks of key stream.
    pub(super) const BLOCKS: usize = GROUPS * V::WORDS / 4;

    #[inline(always)]
    pub(super) fn new(proof: V::Proof, state: &State) -> Self {
        let (rows, _) = state.as_chunks::<4>();
        let mut counters = V::row(proof, &rows[3]).add(V::row_numbers(proof));
        let step = V::row(proof, &[V::WORDS as u32 / 4, 0, 0, 0]);
        let group = [V::row(proof, &rows[0]), V::row(proof, &rows[1]), V::row(proof, &rows[2]), counters];
        let mut start = [group; GROUPS];
        for group in &mut start {
            group[3] = counters;
            counters = counters.add(step);
        }
        Self { start, now: start, orders: V::orders(proof) }
    }

    #[inline(always)]
    fn half<const DOWN: i32, const UP: i32>(&mut self) {
        let orders = self.orders;
        for [a, b, c, d] in &mut self.now {
            *a = a.add(*b);
            *d = d.xor(*a).rotate::<16, 16>(orders);
            *c = c.add(*d);
            *b = b.xor(*c).rotate::<12, 20>(orders);
            *a = a.add(*b);
            *d = d.xor(*a).rotate::<8, 24>(orders);
            *c = c.add(*d);
            *b = b.xor(*c).rotate::<7, 25>(orders);
            *b = b.turn::<DOWN>();
            *c = c.turn::<0x4e>();
            *d = d.turn::<UP>();
        }
    }

    /// All rounds.
    #[inline(always)]
    pub(super) fn run(&mut self) {
        for n in 0..10 {
            self.step(n);
        }
    }

    /// The key stream, after all rounds.
    #[inline(always)]
    pub(super) fn store(&self, out: &mut [[u8; 64]]) {
        let groups = self.now.iter().zip(&self.start);
        for ((now, start), out) in groups.zip(out.chunks_exact_mut(V::WORDS / 4)) {
            for at in 0..4 {
                now[at].add(start[at]).store_row(at, out);
            }
        }
    }
}

/// A double round.
impl<V: Vector, const GROUPS: usize> Beside for Rows<V, GROUPS> {
    #[inline(always)]
    fn step(&mut self, _: usize) {
        self.half::<0x39, 0x93>();
        self.half::<0x93, 0x39>();
    }
}

macro_rules! vector {
    ($vector:ident by $proof:ident, $words:literal, $add:ident, $xor:ident, $shuffle32:ident, $load:ident;
     row_numbers $row_numbers:expr, orders $orders:ty = $made:ident, rotate<$n:ident, $rest:ident>($a:ident, $by:ident) $rotate:expr,
     row($row:ident) $broadcast:expr, store_row($value:ident, $at:ident, $out:ident) $store:block) => {
        impl<P: $proof> Vector for $vector<P> {
            type Proof = P;
            type Orders = $orders;
            const WORDS: usize = $words;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: the tokens prove the instructions; so does a vector, which is made from them; likewise below.
                self.with(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: as for `add`.
                self.with(unsafe { $xor(self.0, other.0) })
            }

            #[inline(always)]
            fn orders(_: P) -> $orders {
                // SAFETY: as for `add`.
                unsafe { $made() }
            }

            #[inline(always)]
            fn rotate<const $n: i32, const $rest: i32>(self, $by: $orders) -> Self {
                let $a = self.0;
                // SAFETY: as for `add`.
                self.with(unsafe { $rotate })
            }

            #[inline(always)]
            fn row(proof: P, $row: &[u32; 4]) -> Self {
                // SAFETY: the row has the 16 bytes that are read.
                Self::new(proof, unsafe { $broadcast })
            }

            #[inline(always)]
            fn row_numbers(proof: P) -> Self {
                const NUMBERS: [u32; $words] = $row_numbers;
                // SAFETY: the array has as many words as are read.
                Self::new(proof, unsafe { $load(NUMBERS.as_ptr().cast()) })
            }

            #[inline(always)]
            fn turn<const ORDER: i32>(self) -> Self {
                // SAFETY: as for `add`.
                self.with(unsafe { $shuffle32::<ORDER>(self.0) })
            }

            #[inline(always)]
            fn store_row(self, $at: usize, $out: &mut [[u8; 64]]) {
                let $value = self.0;
                $store
            }
        }
    };
}

macro_rules! words {
    ($vector:ident by $proof:ident, $words:literal, $splat:ident, $load:ident, numbers $numbers:expr, apply $apply:ident $(, settled $settled:ident)?) => {
        impl<P: $proof> Words for $vector<P> {
            #[inline(always)]
            fn splat(proof: P, word: u32) -> Self {
                // SAFETY: as for `add`.
                Self::new(proof, unsafe { $splat(word.cast_signed()) })
            }

            #[inline(always)]
            fn numbers(proof: P) -> Self {
                const NUMBERS: [u32; $words] = $numbers;
                // SAFETY: as for `row_numbers`.
                Self::new(proof, unsafe { $load(NUMBERS.as_ptr().cast()) })
            }

            $(#[inline(always)]
            fn settled([a, b]: [Self; 2]) -> [Self; 2] {
                // SAFETY: as for `add`.
                let [c, d] = unsafe { $settled([a.0, b.0]) };
                [a.with(c), b.with(d)]
            })?

            #[inline(always)]
            fn apply(stream: &[Self; 16], data: &mut [[u8; 64]]) {
                // SAFETY: as for `add`.
                unsafe { $apply(stream, data.first_chunk_mut().expect("a whole batch")) }
            }
        }
    };
}

/// Row `at` of a block.
#[inline(always)]
fn row(block: &mut [u8; 64], at: usize) -> &mut [u8; 16] {
    &mut block.as_chunks_mut().0[at]
}

vector! {
    Xmm by ProvesAvx2, 4, _mm_add_epi32, _mm_xor_si128, _mm_shuffle_epi32, _mm_loadu_si128;
    row_numbers [0; 4],
    orders [__m128i; 2] = known_orders,
    rotate<N, REST>(a, orders) match N {
        16 => _mm_shuffle_epi8(a, orders[0]),
        8 => _mm_shuffle_epi8(a, orders[1]),
        _ => _mm_or_si128(_mm_slli_epi32::<N>(a), _mm_srli_epi32::<REST>(a)),
    },
    row(row) _mm_loadu_si128(row.as_ptr().cast()),
    store_row(value, at, out) { store(value, row(&mut out[0], at)) }
}

vector! {
    Ymm by ProvesAvx2, 8, _mm256_add_epi32, _mm256_xor_si256, _mm256_shuffle_epi32, _mm256_loadu_si256;
    row_numbers [0, 0, 0, 0, 1, 0, 0, 0],
    orders [__m256i; 2] = settled_orders,
    rotate<N, REST>(a, orders) match N {
        16 => _mm256_shuffle_epi8(a, orders[0]),
        8 => _mm256_shuffle_epi8(a, orders[1]),
        _ => _mm256_or_si256(_mm256_slli_epi32::<N>(a), _mm256_srli_epi32::<REST>(a)),
    },
    row(row) _mm256_broadcastsi128_si256(_mm_loadu_si128(row.as_ptr().cast())),
    store_row(rows, at, out) {
        // SAFETY: as for `splat`.
        let [low, high] = unsafe { [_mm256_castsi256_si128(rows), _mm256_extracti128_si256::<1>(rows)] };
        store(low, row(&mut out[0], at));
        store(high, row(&mut out[1], at));
    }
}

words! {
    Ymm by ProvesAvx2, 8, _mm256_set1_epi32, _mm256_loadu_si256,
    numbers [0, 1, 2, 3, 4, 5, 6, 7], apply apply_eight, settled settled_pair
}

vector! {
    Zmm by ProvesAvx512, 16, _mm512_add_epi32, _mm512_xor_si512, _mm512_shuffle_epi32, _mm512_loadu_si512;
    row_numbers [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0],
    orders () = no_orders, rotate<N, REST>(a, _orders) _mm512_rol_epi32::<N>(a),
    row(row) _mm512_broadcast_i32x4(_mm_loadu_si128(row.as_ptr().cast())),
    store_row(rows, at, out) {
        // SAFETY: as for `splat`.
        unsafe {
            store(_mm512_castsi512_si128(rows), row(&mut out[0], at));
            store(_mm512_extracti32x4_epi32::<1>(rows), row(&mut out[1], at));
            store(_mm512_extracti32x4_epi32::<2>(rows), row(&mut out[2], at));
            store(_mm512_extracti32x4_epi32::<3>(rows), row(&mut out[3], at));
        }
    }
}

words! {
    Zmm by ProvesAvx512, 16, _mm512_set1_epi32, _mm512_loadu_si512,
    numbers [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], apply apply_sixteen
}

/// Byte orders that rotate each word by 16 and by 8 bits to the left.
// SAFETY: any 16 bytes are a vector.
const BY_16: __m128i = unsafe { core::mem::transmute([2u8, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13]) };
// SAFETY: as above.
const BY_8: __m128i = unsafe { core::mem::transmute([3u8, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14]) };

/// See [`Vector::orders`].
#[target_feature(enable = "sse2")]
#[inline]
fn known_orders() -> [__m128i; 2] {
    [BY_16, BY_8]
}

/// See [`Vector::orders`]. The compiler does not get to know them: it would replace one by two shuffles of words, and move the other before an
/// addition, where it needs two.
#[target_feature(enable = "avx2")]
#[inline]
fn settled_orders() -> [__m256i; 2] {
    settled_pair([_mm256_broadcastsi128_si256(BY_16), _mm256_broadcastsi128_si256(BY_8)])
}

/// See [`Vector::orders`].
#[target_feature(enable = "avx512f")]
#[inline]
fn no_orders() {}

/// See [`Words::settled`].
#[target_feature(enable = "avx2")]
#[inline]
fn settled_pair([mut a, mut b]: [__m256i; 2]) -> [__m256i; 2] {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} {1} */", inout(ymm_reg) a, inout(ymm_reg) b, options(pure, nomem, nostack, preserves_flags)) }
    [a, b]
}

/// Turns four words of each block over, within 16 bytes: the result n holds, in its 16 bytes number l, those words of block 4l + n.
macro_rules! turn_over {
    ($stream:ident, $i:literal, $low32:ident, $high32:ident, $low64:ident, $high64:ident) => {{
        let [a, b, c, d] = [$stream[$i].0, $stream[$i + 1].0, $stream[$i + 2].0, $stream[$i + 3].0];
        let [ab, cd] = [$low32(a, b), $low32(c, d)];
        let [ef, gh] = [$high32(a, b), $high32(c, d)];
        [$low64(ab, cd), $high64(ab, cd), $low64(ef, gh), $high64(ef, gh)]
    }};
}

/// Eight blocks with AVX2.
#[target_feature(enable = "avx2")]
#[inline]
fn apply_eight<P: Copy>(stream: &[Ymm<P>; 16], data: &mut [[u8; 64]; 8]) {
    macro_rules! rows {
        ($i:literal) => {
            turn_over!(
                stream,
                $i,
                _mm256_unpacklo_epi32,
                _mm256_unpackhi_epi32,
                _mm256_unpacklo_epi64,
                _mm256_unpackhi_epi64
            )
        };
    }
    macro_rules! halves {
        ($half:literal, $a:ident, $b:ident) => {
            for n in 0..4 {
                let low = _mm256_permute2x128_si256::<0x20>($a[n], $b[n]);
                let high = _mm256_permute2x128_si256::<0x31>($a[n], $b[n]);
                for (block, stream) in [(n, low), (4 + n, high)] {
                    let at = data[block].as_chunks_mut::<32>().0[$half].as_mut_ptr().cast();
                    // SAFETY: the 32 bytes are read and written.
                    unsafe { _mm256_storeu_si256(at, _mm256_xor_si256(_mm256_loadu_si256(at), stream)) };
                }
            }
        };
    }
    let [a, b] = [rows!(0), rows!(4)];
    halves!(0, a, b);
    let [c, d] = [rows!(8), rows!(12)];
    halves!(1, c, d);
}

/// Sixteen blocks with AVX-512.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn apply_sixteen<P: Copy>(stream: &[Zmm<P>; 16], data: &mut [[u8; 64]; 16]) {
    macro_rules! rows {
        ($i:literal) => {
            turn_over!(
                stream,
                $i,
                _mm512_unpacklo_epi32,
                _mm512_unpackhi_epi32,
                _mm512_unpacklo_epi64,
                _mm512_unpackhi_epi64
            )
        };
    }
    let [a, b, c, d] = [rows!(0), rows!(4), rows!(8), rows!(12)];
    for n in 0..4 {
        let [low_ab, high_ab] = [_mm512_shuffle_i32x4::<0x44>(a[n], b[n]), _mm512_shuffle_i32x4::<0xee>(a[n], b[n])];
        let [low_cd, high_cd] = [_mm512_shuffle_i32x4::<0x44>(c[n], d[n]), _mm512_shuffle_i32x4::<0xee>(c[n], d[n])];
        let blocks = [
            _mm512_shuffle_i32x4::<0x88>(low_ab, low_cd),
            _mm512_shuffle_i32x4::<0xdd>(low_ab, low_cd),
            _mm512_shuffle_i32x4::<0x88>(high_ab, high_cd),
            _mm512_shuffle_i32x4::<0xdd>(high_ab, high_cd),
        ];
        for (l, stream) in blocks.into_iter().enumerate() {
            let at = data[4 * l + n].as_mut_ptr().cast();
            // SAFETY: the 64 bytes of the block are read and written.
            unsafe { _mm512_storeu_si512(at, _mm512_xor_si512(_mm512_loadu_si512(at), stream)) };
        }
    }
}
