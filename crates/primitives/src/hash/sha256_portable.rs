//! SHA-256's compression function (FIPS 180-4 §6.2.2) in safe Rust.

use crate::rounds::SHA256_K;

super::sha2_portable::sha2! {
    u32, 64, SHA256_K, big0(2, 13, 22), big1(6, 11, 25), small0(7, 18, 3), small1(17, 19, 10)
}
