//! Kernels for WebAssembly with 128-bit vectors. A module has them as a whole or not at all, so they are chosen when it is compiled
//! (`-C target-feature=+simd128`), and no token is needed.

#[cfg(all(feature = "ksf", target_feature = "simd128"))]
pub(crate) mod argon2_simd128;
