//! Montgomery's products modulo numbers of 1,024 to 4,096 bits.

pub(crate) mod adx;
pub(crate) mod ifma;
pub(crate) mod ifma_pair;
