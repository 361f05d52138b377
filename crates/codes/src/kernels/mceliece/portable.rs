//! The portable arm.

use super::look_up::{self, Permutation};
use super::polynomials::{Multiples, Product, Vector as Coefficients};
use super::transform::Values;
use super::vector::{Portable, Row};
use super::{benes, columns, locator as bm, parity, pivots, polynomials, rows, sort, transform};

#[inline(never)] // a function of its own, so that the gate finds it by name
pub(crate) fn evaluate<const M: usize, const Q: usize>(coefficients: &[Row; M], values: &mut Values<M, Q>) {
    transform::evaluate::<Portable, M, Q>((), coefficients, values);
}

#[inline(never)]
pub(crate) fn power_sums<const M: usize, const Q: usize>(values: &mut Values<M, Q>) -> [Row; M] {
    transform::power_sums::<Portable, M, Q>((), values)
}

#[inline(never)]
pub(crate) fn invert<const M: usize, const Q: usize>(values: &mut Values<M, Q>) {
    super::invert::<Portable, M, Q>((), values);
}

#[inline(never)]
pub(crate) fn square<const M: usize, const Q: usize>(values: &mut Values<M, Q>) {
    super::square::<Portable, M, Q>((), values);
}

#[inline(never)]
pub(crate) fn locator<const M: usize>(syndromes: &[Row; M], t: usize) -> [Row; M] {
    bm::locator::<Portable, M>((), syndromes, t)
}

#[inline(never)]
pub(crate) fn permute(m: usize, control: &[u64], inverse: bool, bits: &mut [u64]) {
    benes::apply(m, control, inverse, bits);
}

#[inline(never)]
pub(crate) fn products(rows: &[u8], row_bytes: usize, pieces: &[Row; parity::PIECES]) -> u64 {
    parity::products::<Portable>((), rows, row_bytes, pieces)
}

#[inline(never)]
pub(crate) fn sort_blocks(numbers: &mut [u32], _: &mut [u32], block: usize) {
    sort::sort_blocks(numbers, block);
}

#[inline(never)]
pub(crate) fn sort_words(words: &mut [u64], _: &mut [u64]) {
    sort::sort_blocks(words, words.len());
}

#[inline(never)]
pub(crate) fn multiply<const M: usize>(a: &Coefficients, b: &Multiples) -> Product {
    polynomials::product(a, b)
}

#[inline(never)]
pub(crate) fn eliminate<const M: usize>(columns: &mut [Coefficients]) -> u16 {
    polynomials::eliminate::<M>(columns)
}

#[inline(never)]
pub(crate) fn fill_columns<const M: usize>(
    x: &[u16; columns::COLUMNS],
    value: &[u16; columns::COLUMNS],
    t: usize,
    height: usize,
    tile: &mut [u8],
) {
    columns::fill::<Portable, M>((), x, value, t, height, tile);
}

#[inline(never)]
pub(crate) fn apply(strip: &mut [u8], height: usize, panel: rows::Panel<'_>, sources: &mut [u8]) {
    rows::apply(add_rows, strip, height, panel, sources);
}

#[inline(never)]
fn add_rows(tile: &mut [u8], height: usize, choices: &[u8], sources: &[u8]) {
    rows::combine(tile, height, choices, sources);
}

#[inline(never)]
pub(crate) fn write_rows(tile: &[u8], height: usize, matrix: &mut [u8], row_bytes: usize, first: usize) {
    rows::write(tile, height, matrix, row_bytes, first);
}

#[inline(never)]
pub(crate) fn look_up(w: usize, at: Permutation<'_>, table: &[u16], found: &mut [u16], room: &mut [u32]) {
    let (packed, _) = look_up::pack(at, table, room);
    sort::sort_blocks(packed, 1 << w);
    look_up::unpack(packed, found);
}

#[inline(never)]
pub(crate) fn look_up_two(
    w: usize,
    at: Permutation<'_>,
    tables: [&[u16]; 2],
    found: [&mut [u16]; 2],
    room: &mut [u32],
) {
    if look_up::two_fit(w) {
        let (packed, _) = look_up::pack_two(w, at, tables, room);
        sort::sort_blocks(packed, 1 << w);
        look_up::unpack_two(w, packed, found);
    } else {
        for (table, found) in tables.into_iter().zip(found) {
            look_up(w, at, table, found, room);
        }
    }
}

#[inline(never)]
pub(crate) fn find_pivots(rows: &[u64], count: usize, sums: &mut [u8]) {
    pivots::find_among_few(rows, count, sums);
}

#[inline(never)]
pub(crate) fn all_differ(positions: &[u32]) -> u8 {
    super::positions::all_differ(positions)
}
