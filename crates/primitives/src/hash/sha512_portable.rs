//! SHA-512's compression function (FIPS 180-4 §6.4.2) in safe Rust.

use crate::rounds::SHA512_K;

super::sha2_portable::sha2! {
    u64, 128, SHA512_K, big0(28, 34, 39), big1(14, 18, 41), small0(1, 8, 7), small1(19, 61, 6)
}
