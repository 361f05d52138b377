//! Tables in registers: an index chooses one of 64 numbers in two of them, and bits of the index choose among such pairs. All pairs are read, whatever
//! the index.

use core::arch::x86_64::*;

/// Numbers in a register.
const LANES: usize = 32;
/// Numbers among which an instruction chooses, as bits of an index.
const PAIR: usize = 6;
/// Pairs whose answers are chosen by masks, as bits.
const TREE: usize = 3;

type Numbers = [u16; LANES];

/// For each x of each block of 2^`w` numbers, number `index[x]` of the table's block.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) fn look_up(w: usize, index: &[u16], table: &[u16], found: &mut [u16]) {
    if w < PAIR {
        return within_registers(w, index, table, found);
    }
    let blocks = index.chunks_exact(1 << w).zip(table.chunks_exact(1 << w)).zip(found.chunks_exact_mut(1 << w));
    for ((index, table), found) in blocks {
        let table = table.as_chunks::<LANES>().0;
        let pairs = index.as_chunks::<LANES>().0.as_chunks::<2>().0.iter();
        for (index, found) in pairs.zip(found.as_chunks_mut::<LANES>().0.as_chunks_mut::<2>().0) {
            let two = Two::of([load(&index[0]), load(&index[1])]);
            let [first, second] = match w {
                6 => two.pair(table),
                7 => two.two_pairs(table),
                8 => two.four_pairs(table),
                _ => two.all(table),
            };
            store(first, &mut found[0]);
            store(second, &mut found[1]);
        }
    }
}

/// Blocks of which a register holds one or more.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn within_registers(w: usize, index: &[u16], table: &[u16], found: &mut [u16]) {
    let mut first = [0; LANES];
    for (lane, first) in first.iter_mut().enumerate() {
        *first = (lane >> w << w) as u16;
    }
    let first = load(&first);
    let ((index, last_index), (table, last_table)) = (index.as_chunks(), table.as_chunks());
    let (found, last) = found.as_chunks_mut();
    for ((index, table), found) in index.iter().zip(table).zip(found) {
        store(_mm512_permutexvar_epi16(_mm512_or_si512(load(index), first), load(table)), found);
    }
    if !last.is_empty() {
        // Tables of 16 numbers; only tests have them.
        let (mut index, mut table, mut found) = ([0; LANES], [0; LANES], [0; LANES]);
        index[..last.len()].copy_from_slice(last_index);
        table[..last.len()].copy_from_slice(last_table);
        store(_mm512_permutexvar_epi16(_mm512_or_si512(load(&index), first), load(&table)), &mut found);
        last.copy_from_slice(&found[..last.len()]);
    }
}

/// Two registers of indices, and which have the bits that choose among pairs.
#[derive(Clone, Copy)]
struct Two {
    index: [__m512i; 2],
    /// For bits 6, 7 and 8.
    masks: [[__mmask32; 2]; TREE],
}

impl Two {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    fn of(index: [__m512i; 2]) -> Self {
        let mut masks = [[0; 2]; TREE];
        for (bit, masks) in masks.iter_mut().enumerate() {
            let bit = _mm512_set1_epi16(1 << (PAIR + bit));
            *masks = [_mm512_test_epi16_mask(index[0], bit), _mm512_test_epi16_mask(index[1], bit)];
        }
        Self { index, masks }
    }

    /// Of 64 numbers.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    fn pair(self, table: &[Numbers]) -> [__m512i; 2] {
        let (low, high) = (load(&table[0]), load(&table[1]));
        [_mm512_permutex2var_epi16(low, self.index[0], high), _mm512_permutex2var_epi16(low, self.index[1], high)]
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    fn two_pairs(self, table: &[Numbers]) -> [__m512i; 2] {
        self.choose(0, self.pair(&table[..2]), self.pair(&table[2..4]))
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    fn four_pairs(self, table: &[Numbers]) -> [__m512i; 2] {
        self.choose(1, self.two_pairs(&table[..4]), self.two_pairs(&table[4..8]))
    }

    /// Of any number of times 512.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    fn all(self, table: &[Numbers]) -> [__m512i; 2] {
        let mut found = [_mm512_setzero_si512(); 2];
        let part = [
            _mm512_srli_epi16::<{ (PAIR + TREE) as u32 }>(self.index[0]),
            _mm512_srli_epi16::<{ (PAIR + TREE) as u32 }>(self.index[1]),
        ];
        for (number, table) in table.as_chunks::<16>().0.iter().enumerate() {
            let here = self.choose(2, self.four_pairs(&table[..8]), self.four_pairs(&table[8..]));
            let number = _mm512_set1_epi16(number as i16);
            for i in 0..2 {
                found[i] = _mm512_mask_mov_epi16(found[i], _mm512_cmpeq_epi16_mask(part[i], number), here[i]);
            }
        }
        found
    }

    /// Where the index has a bit the second, elsewhere the first.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    fn choose(self, bit: usize, first: [__m512i; 2], second: [__m512i; 2]) -> [__m512i; 2] {
        [
            _mm512_mask_mov_epi16(first[0], self.masks[bit][0], second[0]),
            _mm512_mask_mov_epi16(first[1], self.masks[bit][1], second[1]),
        ]
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn load(numbers: &Numbers) -> __m512i {
    // SAFETY: 32 numbers are 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn store(vector: __m512i, numbers: &mut Numbers) {
    // SAFETY: there is room for 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), vector) };
}
