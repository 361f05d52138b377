//! One file per measured task: the trait that a library implements, and the subjects that are generic over it.

pub(crate) mod circuit;
pub(crate) mod gf2;
pub(crate) mod gf2m;
pub(crate) mod hash;
pub(crate) mod kdf;
pub(crate) mod ksf;
pub(crate) mod mac;
pub(crate) mod ml_kem;
pub(crate) mod ntor;
pub(crate) mod opaque;
pub(crate) mod oprf;
pub(crate) mod relay_cells;
pub(crate) mod x25519;
