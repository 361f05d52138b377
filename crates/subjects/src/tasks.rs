//! One file per measured task: the trait that a library implements, and the subjects that are generic over it.

pub(crate) mod circuit;
pub(crate) mod ml_kem;
pub(crate) mod ntor;
pub(crate) mod relay_cells;
pub(crate) mod sha256;
pub(crate) mod x25519;
