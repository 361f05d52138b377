//! SHA-256 (FIPS 180-4 §6.2).

use super::merkle_damgard::{Algorithm, Core, hash};
use super::sha256_mux::{self, Arm};
use candor_cpu::Cpu;
use digest::block_api::Block;
use digest::common::hazmat::{AddSerializedStateSize, DeserializeStateError, SerializableState, SerializedState};
use digest::typenum::{U8, U32, U64};

hash! {
    /// SHA-256 (FIPS 180-4 §6.2): 32 bytes from up to 2⁶¹ − 1.
    ///
    /// It implements `digest` 0.11's traits (`Digest`, `Update`, `FixedOutput`, `Reset`, …), and its state and buffer are wiped on
    /// drop. Which CPU instructions run is decided once, when the value is made.
    ///
    /// ```
    /// use candor_cpu::Cpu;
    /// use candor_primitives::hash::{Digest, Sha256};
    /// let mut portable = Sha256::with_cpu(Cpu::portable());
    /// portable.update(b"abc");
    /// assert_eq!(portable.arm(), "portable");
    /// assert_eq!(portable.finalize(), Sha256::digest(b"abc"));
    /// ```
    Sha256, Sha2, "`sha` (x86-64), `arm-sha2` (AArch64) or `portable`", "2.16.840.1.101.3.4.2.1"
}

/// SHA-256 as an instance of the construction.
#[doc(hidden)] // public because the core's type names it
pub struct Sha2;

impl Algorithm for Sha2 {
    type State = [u32; 8];
    type BlockSize = U64;
    type OutputSize = U32;
    type Arm = Arm;

    const NAME: &'static str = "Sha256";
    const INITIAL: [u32; 8] = INITIAL;

    #[inline]
    fn choose(cpu: Cpu) -> Arm {
        Arm::choose(cpu)
    }

    #[inline]
    fn arm_name(arm: Arm) -> &'static str {
        arm.name()
    }

    #[inline]
    fn compress(arm: Arm, state: &mut [u32; 8], blocks: &[Block<Core<Self>>]) {
        sha256_mux::compress(arm, state, Block::<Core<Self>>::cast_slice_to_core(blocks));
    }

    #[inline]
    fn write(state: &[u32; 8], out: &mut [u8]) {
        write_be32(state, out);
    }
}

/// The first 32 bits of the fractional parts of the square roots of the first eight primes (FIPS 180-4 §5.3.3).
pub(super) const INITIAL: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// Words of 32 bits as bytes, big-endian.
#[inline]
pub(super) fn write_be32(state: &[u32; 8], out: &mut [u8]) {
    for (bytes, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
}
