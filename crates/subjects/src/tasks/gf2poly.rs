//! `gf2poly/{12/64,13/96,13/119,13/128}`: products of polynomials over Classic McEliece's fields, by all methods.

use crate::ours;
use candor_lab::Task;

/// The field's m and the polynomials' number of coefficients t, as 348864, 460896, 6960119, and 6688128 and 8192128 have them.
const SETS: [(usize, usize); 4] = [(12, 64), (13, 96), (13, 119), (13, 128)];

/// All tasks of polynomials over small fields.
pub(super) fn tasks() -> Vec<Task> {
    let task = |(m, t)| {
        let what = format!("polynomials of {t} coefficients over GF(2^{m}): {}", ours::gf2poly::TIMED);
        let mut task = Task::new(format!("gf2poly/{m}/{t}"), what);
        task.entries.extend(ours::gf2poly::entries(m, t));
        task
    };
    SETS.into_iter().map(task).collect()
}
