//! x86-64.

pub(crate) mod argon2_avx2;
pub(crate) mod argon2_avx512;
