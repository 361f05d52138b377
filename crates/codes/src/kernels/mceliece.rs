//! Classic McEliece's arithmetic.

pub(crate) mod field;
pub(crate) mod pivots;
pub(crate) mod planes;
pub(crate) mod polynomials;
pub(crate) mod rows;
pub(crate) mod sort;
