//! The kernels on 256-bit registers.

use crate::kernels::{self, Set, sparse, support};
use candor_cpu::HaveAvx2;

pub(crate) use super::reed_muller::reed_muller_decode;
pub(crate) use super::support::scatter;

/// Makes the entry points: a safe function that takes the token, and within it the kernel with the token's features.
macro_rules! entry {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, $kernel:path;)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub(crate) fn $name(_: HaveAvx2, $($argument: $type),*) $(-> $result)? {
                #[target_feature(enable = "avx2,bmi1,bmi2")]
                fn with_features($($argument: $type),*) $(-> $result)? {
                    $kernel($($argument),*)
                }
                // SAFETY: the token proves the features.
                unsafe { with_features($($argument),*) }
            }
        )+
    };
}

entry! {
    /// See [`kernels::reed_solomon_encode`].
    reed_solomon_encode(set: Set, message: &[u8], codeword: &mut [u8]), kernels::reed_solomon_encode;
    /// See [`kernels::reed_solomon_decode`].
    reed_solomon_decode(set: Set, word: &mut [u8]), kernels::reed_solomon_decode;
    /// See [`support::distinct`].
    distinct(positions: &mut [u32]), support::distinct;
    /// See [`support::contains`].
    contains(positions: &[u32], position: u32) -> u8, support::contains;
    /// See [`sparse::product`].
    sparse_product(n: usize, twice: &[u64], positions: &[u32], here: &mut [u64], there: &mut [u64], sum: &mut [u64]), sparse::product_of_many;
}
