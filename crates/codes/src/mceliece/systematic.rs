//! The public key's matrix in systematic and semi-systematic form (specification, section 2.3).
//!
//! The parity-check matrix H has mt rows and n columns. T is what stands right of the identity when H is reduced. The reduction takes 64 pivots at a time, a
//! *panel*, and goes from left to right: 64 columns are made, all panels so far are applied to them, and they become the next panel.
//! When the left square is done, the other columns pass through all panels, 64 at a time, and go into the public key. Neither H
//! nor a reduced part of it is ever stored.

use super::arm_mux::Arm;
use super::columns::{Columns, TILE};
use super::parameters::{LAST_COLUMNS, LAST_ROWS, Parameters};
use super::permutation::Order;
use crate::kernels::mceliece::pivots;
use crate::kernels::mceliece::rows::{self, PANEL, STRIP};
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::{barrier, secret};
use zeroize::Zeroizing;

/// Where the pivots of the last rows were in a matrix that is systematic: c in a secret key.
const NOT_MOVED: u64 = 0xffffffff;

/// Writes T into `public`, row by row. Says where the pivots of the last μ rows were among ν columns, whose elements it has then moved in `order`. Nothing
/// if the matrix has no such form.
pub(super) fn public_matrix(arm: Arm, parameters: &Parameters, order: &mut Order, public: &mut [u8]) -> Option<u64> {
    let rows = parameters.rows();
    let height = Columns::height(parameters);
    let mut tile = Zeroizing::new(vec![0; TILE * height]);
    let mut panels = Panels { arm, height, rows, all: Vec::new(), sources: Zeroizing::new(Vec::new()) };

    let square = if parameters.semi_systematic { rows - LAST_ROWS } else { rows };
    for first in (0..square).step_by(8 * TILE) {
        Columns::new(arm, parameters, order).fill(first, &mut tile);
        let pivots = (first..square).step_by(PANEL);
        for (first, strip) in pivots.zip(tile.chunks_exact_mut(STRIP * height)) {
            panels.apply(strip);
            panels.extend(strip, first, PANEL.min(square - first))?;
        }
    }
    let mut moved = NOT_MOVED;
    if parameters.semi_systematic {
        let strip = |columns: Columns, panels: &mut Panels, tile: &mut [u8]| {
            columns.fill(square, tile);
            panels.apply(&mut tile[..STRIP * height]);
        };
        strip(Columns::new(arm, parameters, order), &mut panels, &mut tile);
        let window = rows_of(&tile, height, square, LAST_ROWS);
        let positions = Zeroizing::new(last_pivots(&window)?);
        moved = move_columns(&positions, square, order);
        // Made once more, in the new order: the first columns have the pivots now.
        strip(Columns::new(arm, parameters, order), &mut panels, &mut tile);
        panels.extend(&mut tile[..STRIP * height], square, LAST_ROWS)?;
    }
    let columns = Columns::new(arm, parameters, order);
    let row_bytes = parameters.row_bytes();
    for first in (0..row_bytes).step_by(TILE) {
        columns.fill(rows + 8 * first, &mut tile);
        let strips = TILE.min(row_bytes - first).div_ceil(STRIP);
        for strip in tile.chunks_exact_mut(STRIP * height).take(strips) {
            panels.apply(strip);
        }
        secret::declassify(&tile, "mceliece-public-key");
        arm.write_rows(&tile, height, public, row_bytes, first);
    }
    Some(moved)
}

/// The panels so far.
struct Panels {
    arm: Arm,
    height: usize,
    rows: usize,
    all: Vec<Panel>,
    /// Room for the rows that a panel adds up.
    sources: Zeroizing<Vec<u8>>,
}

/// [`rows::Panel`].
struct Panel {
    first: usize,
    count: usize,
    candidates: usize,
    pivots: Zeroizing<Vec<u8>>,
    others: Zeroizing<Vec<u8>>,
}

impl Panels {
    /// Applies all panels to 64 columns of the matrix.
    fn apply(&mut self, strip: &mut [u8]) {
        for Panel { first, count, candidates, pivots, others } in &self.all {
            let (first, count, candidates) = (*first, *count, *candidates);
            let panel = rows::Panel { first, count, candidates, pivots, others };
            self.arm.apply(strip, self.height, panel, &mut self.sources);
        }
    }

    /// Appends the panel that reduces `strip`, to which all panels before it have been applied. Nothing if some row has no pivot.
    fn extend(&mut self, strip: &mut [u8], first: usize, count: usize) -> Option<()> {
        let Self { arm, height, rows, .. } = *self;
        let left = rows - first;
        // Twice as many rows as pivots are enough but for one matrix in 2⁶⁴. That one takes all rows.
        let few = pivots::FEW.min(left);
        let found = |pivots: &[u8]| secret::declassified(pivots[pivots.len() - 1], "mceliece-retry") == 1;
        let mut pivots = Zeroizing::new(vec![0; PANEL * few.div_ceil(8) + 1]);
        arm.find_pivots(&rows_of(strip, height, first, few), count, &mut pivots);
        if !found(&pivots) {
            if few == left {
                return None;
            }
            pivots = Zeroizing::new(vec![0; PANEL * left.div_ceil(8) + 1]);
            arm.find_pivots_among_all(&rows_of(strip, height, first, left), count, &mut pivots);
            if !found(&pivots) {
                return None;
            }
        }
        pivots.pop();
        // Pivot rows beyond the last are zero, so it doesn't matter what coefficients they have.
        let coefficients = &strip[..count.div_ceil(8) * height];
        let candidates = 8 * pivots.len() / PANEL;
        let (pivots, others) = (arm.choices(&pivots, PANEL), arm.choices(coefficients, height));
        // Of hardly any panel there are more candidates than of the first.
        if self.sources.len() < STRIP * candidates {
            self.sources = Zeroizing::new(vec![0; STRIP * candidates]);
        }
        self.all.push(Panel { first, count, candidates, pivots, others });
        Some(())
    }
}

/// Rows `first` to `first + count − 1` of a strip, a word each.
fn rows_of(strip: &[u8], height: usize, first: usize, count: usize) -> Zeroizing<Vec<u64>> {
    let mut words = Zeroizing::new(vec![0; count]);
    for (at, column) in strip.chunks_exact(height).take(STRIP).enumerate() {
        for (word, byte) in words.iter_mut().zip(&column[first..]) {
            *word |= u64::from(*byte) << (8 * at);
        }
    }
    words
}

/// The columns, of ν, in which the last μ rows have their pivots, lowest first (specification, section 2.3, step 4). Nothing if there are fewer
/// than μ.
fn last_pivots(window: &[u64]) -> Option<[u32; LAST_ROWS]> {
    let mut rows: Zeroizing<[u64; LAST_ROWS]> = Zeroizing::new(core::array::from_fn(|i| window[i]));
    let mut positions = [0; LAST_ROWS];
    let mut missing = 0;
    for i in 0..LAST_ROWS {
        let (done, left) = rows.split_at_mut(i + 1);
        let row = &mut done[i];
        let any = left.iter().fold(*row, |any, row| any | row);
        // The lowest bit that is set, and its number.
        let lowest = any & any.wrapping_neg();
        missing |= lowest.wrapping_sub(1) >> 63;
        positions[i] = lowest.wrapping_sub(1).count_ones();
        let bit = |row: u64| 1 ^ ((row & lowest).wrapping_sub(1) >> 63);
        for other in left.iter() {
            *row ^= other & barrier::mask_u64(1 ^ bit(*row));
        }
        for other in left {
            *other ^= *row & barrier::mask_u64(bit(*other));
        }
    }
    // Whether the key is discarded says nothing of the next.
    (secret::declassified(missing as u8, "mceliece-retry") == 0).then_some(positions)
}

/// Whether c can stand in a secret key: 1 or 0.
pub(super) fn is_choice(parameters: &Parameters, c: u64) -> u8 {
    let right = if parameters.semi_systematic { u64::from(c.count_ones() ^ LAST_ROWS as u32) } else { c ^ NOT_MOVED };
    (right.wrapping_sub(1) >> 63) as u8
}

/// The first μ positions that c has, lowest first.
pub(super) fn positions(c: u64) -> [u32; LAST_ROWS] {
    let mut left = c;
    core::array::from_fn(|_| {
        let below = (left & left.wrapping_neg()).wrapping_sub(1);
        left &= left.wrapping_sub(1);
        below.count_ones()
    })
}

/// Moves the columns at these positions after `first` to the front, one after another, each by an exchange. Returns the positions as bits.
pub(super) fn move_columns(positions: &[u32; LAST_ROWS], first: usize, order: &mut Order) -> u64 {
    for (at, position) in positions.iter().enumerate() {
        for other in at + 1..LAST_COLUMNS {
            let here = barrier::mask_u64((u64::from(other as u32 ^ position)).wrapping_sub(1) >> 63) as u16;
            for list in [&mut order.numbers, &mut order.values] {
                let change = (list[first + at] ^ list[first + other]) & here;
                list[first + at] ^= change;
                list[first + other] ^= change;
            }
        }
    }
    // No shift by a secret count: the compiler makes a vector instruction of it, for which nobody has promised constant time.
    let bit =
        |at: u32| positions.iter().fold(0, |here, position| here | (u64::from(at ^ position)).wrapping_sub(1) >> 63);
    (0..u64::BITS).fold(0, |bits, at| bits | bit(at) << at)
}

#[cfg(test)]
mod tests;
