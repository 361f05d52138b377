//! BLAKE2b (RFC 7693): up to 64 bytes of digest, with or without a key.

use super::blake2b_mux::{self, Arm};
use crate::rounds::SHA512_INITIAL;
use crate::wipe::wipe;
use candor_cpu::Cpu;
use core::fmt;
use core::marker::PhantomData;
use core::slice::from_ref;
use digest::array::ArraySize;
use digest::block_api::{AlgorithmName, BlockSizeUser, OutputSizeUser, Reset};
use digest::common::hazmat::{DeserializeStateError, SerializableState, SerializedState};
use digest::const_oid::{AssociatedOid, ObjectIdentifier};
use digest::typenum::{IsLessOrEqual, NonZero, True, U32, U64, U128, U210};
use digest::{FixedOutput, FixedOutputReset, HashMarker, Output, Update};
#[cfg(feature = "mac")]
use digest::{InvalidLength, MacMarker};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// BLAKE2b with the longest digest, 64 bytes.
///
/// ```
/// use candor_primitives::hash::{Blake2b512, Digest};
/// assert_eq!(Blake2b512::digest(b"abc")[..4], [0xba, 0x80, 0xa5, 0x3f]);
/// ```
pub type Blake2b512 = Blake2b<U64>;

/// BLAKE2b with a digest of 32 bytes: another function than the first half of [`Blake2b512`].
pub type Blake2b256 = Blake2b<U32>;

/// BLAKE2b (RFC 7693) with a digest of `N` bytes, 1 to 64. State and buffer are wiped on drop.
pub struct Blake2b<N: ArraySize> {
    inner: Inner,
    digest: PhantomData<N>,
}

/// BLAKE2b with a key (RFC 7693 §2.9): a MAC by itself, without HMAC. State, buffer and key are wiped on drop.
///
/// ```
/// use candor_primitives::hash::{Update, digest::{FixedOutput, typenum::U32}};
/// use candor_primitives::mac::{Blake2bMac, InvalidLength};
/// # fn main() -> Result<(), InvalidLength> {
/// let mut mac = Blake2bMac::<U32>::new(b"key")?;
/// mac.update(b"message");
/// let tag: [u8; 32] = mac.finalize_fixed().into();
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "mac")]
pub struct Blake2bMac<N: ArraySize> {
    inner: Inner,
    digest: PhantomData<N>,
}

/// Bytes in a block.
const BLOCK: usize = 128;

/// The state without the digest's length. The last block must be known as such, so the buffer stays full until more comes.
#[derive(Clone)]
struct Inner {
    state: [u64; 8],
    /// Bytes that have been compressed.
    compressed: u128,
    buffer: [u8; BLOCK],
    buffered: usize,
    arm: Arm,
}

impl Inner {
    /// The state after the parameter block (§2.5) of a digest of `digest` bytes and a key of `key` bytes.
    #[inline]
    fn new(cpu: Cpu, digest: usize, key: &[u8]) -> Self {
        let arm = Arm::choose(cpu);
        let mut inner = Self { state: SHA512_INITIAL, compressed: 0, buffer: [0; BLOCK], buffered: 0, arm };
        inner.restart(digest, key.len());
        if !key.is_empty() {
            inner.buffer[..key.len()].copy_from_slice(key);
            inner.buffered = BLOCK;
        }
        inner
    }

    #[inline]
    fn restart(&mut self, digest: usize, key: usize) {
        self.state = SHA512_INITIAL;
        self.state[0] ^= 0x0101_0000 ^ (key as u64) << 8 ^ digest as u64;
        self.compressed = 0;
        self.buffered = 0;
    }

    #[inline]
    fn update(&mut self, mut data: &[u8]) {
        let room = BLOCK - self.buffered;
        if data.len() > room {
            if self.buffered != 0 {
                let (head, tail) = data.split_at(room);
                self.buffer[self.buffered..].copy_from_slice(head);
                blake2b_mux::compress(self.arm, &mut self.state, from_ref(&self.buffer), self.compressed, None);
                self.compressed += BLOCK as u128;
                self.buffered = 0;
                data = tail;
            }
            // At least a byte stays behind.
            let (blocks, _) = data[..data.len().saturating_sub(1)].as_chunks::<BLOCK>();
            if !blocks.is_empty() {
                blake2b_mux::compress(self.arm, &mut self.state, blocks, self.compressed, None);
                self.compressed += (blocks.len() * BLOCK) as u128;
                data = &data[blocks.len() * BLOCK..];
            }
        }
        self.buffer[self.buffered..][..data.len()].copy_from_slice(data);
        self.buffered += data.len();
    }

    #[inline]
    fn finalize(&mut self, out: &mut [u8]) {
        self.buffer[self.buffered..].fill(0);
        blake2b_mux::compress(self.arm, &mut self.state, from_ref(&self.buffer), self.compressed, Some(self.buffered));
        for (bytes, word) in out.chunks_mut(8).zip(self.state) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }
}

/// The hash of `parts`, one after another, with a digest of as many bytes as `out` has, 1 to 64: for constructions that choose its length
/// at run time.
#[cfg(feature = "ksf")]
pub(crate) fn hash_into(parts: &[&[u8]], out: &mut [u8]) {
    debug_assert!((1..=64).contains(&out.len()));
    let mut inner = Inner::new(Cpu::default(), out.len(), &[]);
    parts.iter().for_each(|part| inner.update(part));
    inner.finalize(out);
}

impl Drop for Inner {
    #[inline]
    fn drop(&mut self) {
        self.state.zeroize();
        wipe(&mut self.buffer);
        self.compressed.zeroize();
        self.buffered.zeroize();
    }
}

impl<N: ArraySize + IsLessOrEqual<U64, Output = True> + NonZero> Blake2b<N> {
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
        Self { inner: Inner::new(cpu, N::USIZE, &[]), digest: PhantomData }
    }
}

#[cfg(feature = "mac")]
impl<N: ArraySize + IsLessOrEqual<U64, Output = True> + NonZero> Blake2bMac<N> {
    /// A fresh MAC on the best arm of [`Cpu::default`]. The key has 1 to 64 bytes.
    ///
    /// # Errors
    /// A key of another length.
    // ct: blake2b/key
    pub fn new(key: &[u8]) -> Result<Self, InvalidLength> {
        Self::with_cpu(Cpu::default(), key)
    }

    /// A fresh MAC on the best arm that `cpu` allows. The key has 1 to 64 bytes.
    ///
    /// # Errors
    /// A key of another length.
    pub fn with_cpu(cpu: Cpu, key: &[u8]) -> Result<Self, InvalidLength> {
        candor_cpu::secret::takes("blake2b/key", key);
        if key.is_empty() || key.len() > 64 {
            return Err(InvalidLength);
        }
        // The key is moved with the value, and leaves copies.
        crate::stack::clearing::<1024, _>(|| Ok(Self { inner: Inner::new(cpu, N::USIZE, key), digest: PhantomData }))
    }
}

macro_rules! traits {
    ($name:ident) => {
        impl<N: ArraySize> $name<N> {
            /// The arm that this value runs: `portable`, the only one.
            #[must_use]
            pub fn arm(&self) -> &'static str {
                self.inner.arm.name()
            }
        }

        impl<N: ArraySize> Clone for $name<N> {
            fn clone(&self) -> Self {
                // Piece by piece, and the compiler puts the pieces on the stack: a MAC begins with its key in the buffer.
                crate::stack::clearing::<1024, _>(|| Self { inner: self.inner.clone(), digest: PhantomData })
            }
        }

        impl<N: ArraySize> Update for $name<N> {
            #[inline]
            fn update(&mut self, data: &[u8]) {
                self.inner.update(data);
            }
        }

        impl<N: ArraySize> OutputSizeUser for $name<N> {
            type OutputSize = N;
        }

        impl<N: ArraySize> BlockSizeUser for $name<N> {
            type BlockSize = U128;
        }

        impl<N: ArraySize> FixedOutput for $name<N> {
            #[inline]
            fn finalize_into(mut self, out: &mut Output<Self>) {
                self.inner.finalize(out);
            }
        }

        impl<N: ArraySize> fmt::Debug for $name<N> {
            /// The name only: the state depends on the message, which may be secret.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), " { ... }"))
            }
        }

        impl<N: ArraySize> ZeroizeOnDrop for $name<N> {}
    };
}

traits!(Blake2b);
#[cfg(feature = "mac")]
traits!(Blake2bMac);

impl<N: ArraySize + IsLessOrEqual<U64, Output = True> + NonZero> Default for Blake2b<N> {
    #[inline]
    fn default() -> Self {
        Self::with_cpu(Cpu::default())
    }
}

impl<N: ArraySize> HashMarker for Blake2b<N> {}

#[cfg(feature = "mac")]
impl<N: ArraySize> MacMarker for Blake2bMac<N> {}

impl<N: ArraySize> Reset for Blake2b<N> {
    /// Starts afresh on the same arm.
    #[inline]
    fn reset(&mut self) {
        self.inner.restart(N::USIZE, 0);
    }
}

impl<N: ArraySize> FixedOutputReset for Blake2b<N> {
    #[inline]
    fn finalize_into_reset(&mut self, out: &mut Output<Self>) {
        self.inner.finalize(out);
        self.reset();
    }
}

impl AssociatedOid for Blake2b512 {
    /// RFC 7693, Appendix C.
    const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.1722.12.2.1.16");
}

impl AssociatedOid for Blake2b256 {
    /// RFC 7693, Appendix C.
    const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.1722.12.2.1.8");
}

impl<N: ArraySize + IsLessOrEqual<U64, Output = True> + NonZero> SerializableState for Blake2b<N> {
    /// The digest's length (1 byte), the state (64), the count of compressed bytes (16), the buffer (128) and how much of it is used (1).
    type SerializedStateSize = U210;

    fn serialize(&self) -> SerializedState<Self> {
        let mut saved = SerializedState::<Self>::default();
        let (inner, middle) = (&self.inner, &mut saved[1..209]);
        for (bytes, word) in middle.chunks_exact_mut(8).zip(inner.state) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        middle[64..80].copy_from_slice(&inner.compressed.to_le_bytes());
        // What lies behind the used part of the buffer is old: it is not saved.
        middle[80..][..inner.buffered].copy_from_slice(&inner.buffer[..inner.buffered]);
        saved[0] = N::U8;
        saved[209] = inner.buffered as u8;
        saved
    }

    fn deserialize(saved: &SerializedState<Self>) -> Result<Self, DeserializeStateError> {
        let mut hash = Self::default();
        let inner = &mut hash.inner;
        for (word, bytes) in inner.state.iter_mut().zip(saved[1..65].as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        inner.compressed = u128::from_le_bytes(saved[65..81].try_into().map_err(|_| DeserializeStateError)?);
        inner.buffer.copy_from_slice(&saved[81..209]);
        inner.buffered = usize::from(saved[209]);
        let whole = inner.compressed.is_multiple_of(BLOCK as u128);
        if saved[0] == N::U8 && whole && inner.buffered <= BLOCK { Ok(hash) } else { Err(DeserializeStateError) }
    }
}

impl<N: ArraySize> AlgorithmName for Blake2b<N> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blake2b{}", 8 * N::USIZE)
    }
}
