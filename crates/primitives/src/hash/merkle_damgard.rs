//! The Merkle–Damgård construction, as SHA-2 and SM3 have it: a chaining value, a compression function over whole blocks, and a
//! padding of one bit, zeros and the message's length in bits, big-endian, in an eighth of a block.

use candor_cpu::Cpu;
use core::fmt;
use digest::array::ArraySize;
use digest::block_api::{
    AlgorithmName, Block, BlockSizeUser, Buffer, BufferKindUser, Eager, FixedOutputCore, OutputSizeUser, Reset,
    UpdateCore,
};
use digest::block_buffer::BlockSizes;
use digest::{HashMarker, Output};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// What sets one hash of this construction apart from another.
pub trait Algorithm: 'static {
    /// The chaining value.
    type State: Copy + Zeroize;
    /// Bytes in a block, as a type.
    type BlockSize: BlockSizes;
    /// Bytes in a digest, as a type.
    type OutputSize: ArraySize;
    /// Which code runs; holding one is proof that it can.
    type Arm: Copy;

    /// What `AlgorithmName` writes.
    const NAME: &'static str;
    /// The chaining value before the first block.
    const INITIAL: Self::State;

    /// The best arm that `cpu` allows.
    fn choose(cpu: Cpu) -> Self::Arm;
    /// The arm's name.
    fn arm_name(arm: Self::Arm) -> &'static str;
    /// Runs the compression function over `blocks`, one after another.
    fn compress(arm: Self::Arm, state: &mut Self::State, blocks: &[Block<Core<Self>>]);
    /// Writes the chaining value, cut to the digest's length.
    fn write(state: &Self::State, out: &mut [u8]);
}

/// The chaining value, the count of blocks, and the arm.
#[doc(hidden)] // public because `digest`'s CoreProxy shows it
pub struct Core<A: Algorithm + ?Sized> {
    state: A::State,
    blocks: u64,
    arm: A::Arm,
}

impl<A: Algorithm> Core<A> {
    #[inline]
    pub(super) fn with_cpu(cpu: Cpu) -> Self {
        Self { state: A::INITIAL, blocks: 0, arm: A::choose(cpu) }
    }

    pub(super) fn arm(&self) -> &'static str {
        A::arm_name(self.arm)
    }

    /// All that there is to save between two blocks.
    pub(super) fn saved(&self) -> (&A::State, u64) {
        (&self.state, self.blocks)
    }

    /// Continues from the state that [`saved`](Self::saved) returned, on the best arm of [`Cpu::default`].
    pub(super) fn restored(state: A::State, blocks: u64) -> Self {
        Self { state, blocks, ..Self::default() }
    }
}

impl<A: Algorithm> Default for Core<A> {
    #[inline]
    fn default() -> Self {
        Self::with_cpu(Cpu::default())
    }
}

impl<A: Algorithm> Clone for Core<A> {
    #[inline]
    fn clone(&self) -> Self {
        Self { state: self.state, blocks: self.blocks, arm: self.arm }
    }
}

impl<A: Algorithm + ?Sized> Drop for Core<A> {
    #[inline]
    fn drop(&mut self) {
        self.state.zeroize();
        self.blocks.zeroize();
    }
}

impl<A: Algorithm> ZeroizeOnDrop for Core<A> {}

impl<A: Algorithm> HashMarker for Core<A> {}

impl<A: Algorithm + ?Sized> BlockSizeUser for Core<A> {
    type BlockSize = A::BlockSize;
}

impl<A: Algorithm> BufferKindUser for Core<A> {
    type BufferKind = Eager;
}

impl<A: Algorithm> OutputSizeUser for Core<A> {
    type OutputSize = A::OutputSize;
}

impl<A: Algorithm> UpdateCore for Core<A> {
    #[inline]
    fn update_blocks(&mut self, blocks: &[Block<Self>]) {
        self.blocks += blocks.len() as u64;
        A::compress(self.arm, &mut self.state, blocks);
    }
}

impl<A: Algorithm> FixedOutputCore for Core<A> {
    /// Pads (FIPS 180-4 §5.1, GB/T 32905 §5.2) and gives the chaining value as bytes.
    #[inline]
    fn finalize_fixed_core(&mut self, buffer: &mut Buffer<Self>, out: &mut Output<Self>) {
        let block = size_of::<Block<Self>>();
        let bytes = self.blocks as u128 * block as u128 + buffer.get_pos() as u128;
        let Self { state, arm, .. } = self;
        let mut compress = |block: &Block<Self>| A::compress(*arm, state, core::slice::from_ref(block));
        if block == 64 {
            buffer.len64_padding_be(8 * bytes as u64, &mut compress);
        } else {
            buffer.len128_padding_be(8 * bytes, &mut compress);
        }
        A::write(state, out);
    }
}

impl<A: Algorithm> Reset for Core<A> {
    /// Starts afresh on the same arm.
    #[inline]
    fn reset(&mut self) {
        self.state = A::INITIAL;
        self.blocks = 0;
    }
}

impl<A: Algorithm> AlgorithmName for Core<A> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(A::NAME)
    }
}

/// Defines a hash of this construction: the type, `new`, `with_cpu`, `arm`, its object identifier.
macro_rules! hash {
    ($(#[$attr:meta])* $name:ident, $algorithm:ty, $arms:literal, $oid:literal) => {
        digest::buffer_fixed!(
            $(#[$attr])*
            pub struct $name(Core<$algorithm>);
            impl: BaseFixedTraits AlgorithmName Default Clone HashMarker Reset FixedOutputReset SerializableState;
        );

        impl digest::const_oid::AssociatedOid for $name {
            const OID: digest::const_oid::ObjectIdentifier = digest::const_oid::ObjectIdentifier::new_unwrap($oid);
        }

        impl SerializableState for Core<$algorithm> {
            type SerializedStateSize = AddSerializedStateSize<U8, <$algorithm as Algorithm>::State>;

            fn serialize(&self) -> SerializedState<Self> {
                let (state, blocks) = self.saved();
                SerializableState::serialize(&blocks).concat(state.serialize())
            }

            fn deserialize(saved: &SerializedState<Self>) -> Result<Self, DeserializeStateError> {
                let (blocks, state) = saved.split_ref::<U8>();
                Ok(Self::restored(SerializableState::deserialize(state)?, SerializableState::deserialize(blocks)?))
            }
        }

        impl $name {
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
                digest::block_api::CoreProxy::compose(Core::with_cpu(cpu), Default::default())
            }

            #[doc = concat!("The arm that this value runs: ", $arms, ".")]
            #[must_use]
            pub fn arm(&self) -> &'static str {
                self.core.arm()
            }
        }

        impl zeroize::ZeroizeOnDrop for $name {}
    };
}
pub(super) use hash;
