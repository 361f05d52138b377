//! SHA-256 (FIPS 180-4 §6.2).

use super::sha256_mux::{self, Arm};
use candor_cpu::Cpu;
use core::fmt;
use digest::block_api::{
    AlgorithmName, Block, BlockSizeUser, Buffer, BufferKindUser, CoreProxy, Eager, FixedOutputCore, OutputSizeUser,
    Reset, UpdateCore,
};
use digest::typenum::{U32, U64};
use digest::{HashMarker, Output};
use zeroize::{Zeroize, ZeroizeOnDrop};

digest::buffer_fixed!(
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
    pub struct Sha256(Sha256Core);
    impl: BaseFixedTraits AlgorithmName Default Clone HashMarker Reset FixedOutputReset;
);

impl Sha256 {
    /// A fresh hash on the best arm of [`Cpu::default`].
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A fresh hash on the best arm that `cpu` allows.
    #[inline]
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self::compose(Sha256Core::with_cpu(cpu), Buffer::<Sha256Core>::default())
    }

    /// The arm that this value runs: `sha` (x86-64), `arm-sha2` (AArch64) or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.core.arm.name()
    }
}

impl ZeroizeOnDrop for Sha256 {}

/// The chaining value, the count of blocks, and the arm.
#[doc(hidden)] // public because `digest`'s CoreProxy shows it
#[derive(Clone)]
pub struct Sha256Core {
    state: [u32; 8],
    blocks: u64,
    arm: Arm,
}

/// The first 32 bits of the fractional parts of the square roots of the first eight primes (FIPS 180-4 §5.3.3).
const INITIAL: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

impl Sha256Core {
    #[inline]
    fn with_cpu(cpu: Cpu) -> Self {
        Self { state: INITIAL, blocks: 0, arm: Arm::choose(cpu) }
    }
}

impl Default for Sha256Core {
    #[inline]
    fn default() -> Self {
        Self::with_cpu(Cpu::default())
    }
}

impl Drop for Sha256Core {
    #[inline]
    fn drop(&mut self) {
        self.state.zeroize();
        self.blocks.zeroize();
    }
}

impl ZeroizeOnDrop for Sha256Core {}

impl HashMarker for Sha256Core {}

impl BlockSizeUser for Sha256Core {
    type BlockSize = U64;
}

impl BufferKindUser for Sha256Core {
    type BufferKind = Eager;
}

impl OutputSizeUser for Sha256Core {
    type OutputSize = U32;
}

impl UpdateCore for Sha256Core {
    #[inline]
    fn update_blocks(&mut self, blocks: &[Block<Self>]) {
        self.blocks += blocks.len() as u64;
        sha256_mux::compress(self.arm, &mut self.state, Block::<Self>::cast_slice_to_core(blocks));
    }
}

impl FixedOutputCore for Sha256Core {
    /// Pads (FIPS 180-4 §5.1.1) and gives the chaining value as bytes.
    #[inline]
    fn finalize_fixed_core(&mut self, buffer: &mut Buffer<Self>, out: &mut Output<Self>) {
        let bits = 8 * (64 * self.blocks + buffer.get_pos() as u64);
        let Self { state, arm, .. } = self;
        buffer.len64_padding_be(bits, |block| sha256_mux::compress(*arm, state, &[block.0]));
        let (words, _) = out.as_chunks_mut::<4>();
        for (word, value) in words.iter_mut().zip(&self.state) {
            *word = value.to_be_bytes();
        }
    }
}

impl Reset for Sha256Core {
    /// Starts afresh on the same arm.
    #[inline]
    fn reset(&mut self) {
        self.state = INITIAL;
        self.blocks = 0;
    }
}

impl AlgorithmName for Sha256Core {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256")
    }
}
