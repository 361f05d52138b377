//! SM3 (GB/T 32905-2016, ISO/IEC 10118-3:2018): China's national hash.

use super::merkle_damgard::{Algorithm, Core, hash};
use super::sha256::write_be32;
use super::sm3_mux::{self, Arm};
use candor_cpu::Cpu;
use digest::block_api::Block;
use digest::common::hazmat::{AddSerializedStateSize, DeserializeStateError, SerializableState, SerializedState};
use digest::typenum::{U8, U32, U64};

hash! {
    /// SM3 (GB/T 32905-2016): 32 bytes from up to 2⁶¹ − 1. State and buffer are wiped on drop.
    ///
    /// ```
    /// use candor_primitives::hash::{Digest, Sm3};
    /// assert_eq!(Sm3::digest(b"abc")[..4], [0x66, 0xc7, 0xf0, 0xf4]);
    /// ```
    Sm3, Gb32905, "`avx2` (x86-64) or `portable`", "1.2.156.10197.1.401"
}

/// SM3 as an instance of the construction.
#[doc(hidden)] // public because the core's type names it
pub struct Gb32905;

impl Algorithm for Gb32905 {
    type State = [u32; 8];
    type BlockSize = U64;
    type OutputSize = U32;
    type Arm = Arm;

    const NAME: &'static str = "Sm3";
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
        sm3_mux::compress(arm, state, Block::<Core<Self>>::cast_slice_to_core(blocks));
    }

    #[inline]
    fn write(state: &[u32; 8], out: &mut [u8]) {
        write_be32(state, out);
    }
}

/// The initial value IV (GB/T 32905 §4.1).
pub(super) const INITIAL: [u32; 8] =
    [0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e];
