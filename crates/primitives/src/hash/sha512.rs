//! SHA-512 and SHA-384 (FIPS 180-4 §6.4, §6.5).

use super::merkle_damgard::{Algorithm, Core, hash};
use super::sha512_mux::{self, Arm};
use crate::rounds::SHA512_INITIAL;
use candor_cpu::Cpu;
use digest::block_api::Block;
use digest::common::hazmat::{AddSerializedStateSize, DeserializeStateError, SerializableState, SerializedState};
use digest::typenum::{U8, U48, U64, U128};

hash! {
    /// SHA-512 (FIPS 180-4 §6.4): 64 bytes. State and buffer are wiped on drop.
    ///
    /// ```
    /// use candor_primitives::hash::{Digest, Sha512};
    /// assert_eq!(Sha512::digest(b"abc")[..4], [0xdd, 0xaf, 0x35, 0xa1]);
    /// ```
    Sha512, Full, "`avx2` (x86-64) or `portable`", "2.16.840.1.101.3.4.2.3"
}

hash! {
    /// SHA-384 (FIPS 180-4 §6.5): 48 bytes, SHA-512 cut short with initial values of its own. State and buffer are wiped on drop.
    ///
    /// ```
    /// use candor_primitives::hash::{Digest, Sha384};
    /// assert_eq!(Sha384::digest(b"abc")[..4], [0xcb, 0x00, 0x75, 0x3f]);
    /// ```
    Sha384, Cut, "`avx2` (x86-64) or `portable`", "2.16.840.1.101.3.4.2.2"
}

/// SHA-512 as an instance of the construction.
#[doc(hidden)] // public because the core's type names it
pub struct Full;

/// The core of SHA-384.
#[doc(hidden)] // public because the core's type names it
pub struct Cut;

macro_rules! instance {
    ($algorithm:ident, $name:literal, $output:ty, $initial:expr) => {
        impl Algorithm for $algorithm {
            type State = [u64; 8];
            type BlockSize = U128;
            type OutputSize = $output;
            type Arm = Arm;

            const NAME: &'static str = $name;
            const INITIAL: [u64; 8] = $initial;

            #[inline]
            fn choose(cpu: Cpu) -> Arm {
                Arm::choose(cpu)
            }

            #[inline]
            fn arm_name(arm: Arm) -> &'static str {
                arm.name()
            }

            #[inline]
            fn compress(arm: Arm, state: &mut [u64; 8], blocks: &[Block<Core<Self>>]) {
                sha512_mux::compress(arm, state, Block::<Core<Self>>::cast_slice_to_core(blocks));
            }

            #[inline]
            fn write(state: &[u64; 8], out: &mut [u8]) {
                for (bytes, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(state) {
                    *bytes = word.to_be_bytes();
                }
            }
        }
    };
}

instance!(Full, "Sha512", U64, SHA512_INITIAL);
instance!(Cut, "Sha384", U48, INITIAL_384);

/// H(0) of SHA-384: the first 64 bits of the fractional parts of the square roots of the ninth to the sixteenth prime (FIPS 180-4 §5.3.4).
#[rustfmt::skip]
const INITIAL_384: [u64; 8] = [
    0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
    0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4,
];
