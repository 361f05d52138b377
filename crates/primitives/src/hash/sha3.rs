//! SHA3-256, SHA3-512, SHAKE128 and SHAKE256 (FIPS 202 §6).

use super::sponge::Sponge;
use candor_cpu::Cpu;
use core::fmt;
use digest::block_api::{AlgorithmName, BlockSizeUser, OutputSizeUser, Reset};
use digest::common::hazmat::{DeserializeStateError, SerializableState, SerializedState};
use digest::const_oid::{AssociatedOid, ObjectIdentifier};
use digest::typenum::{U32, U64, U72, U136, U168, U201};
use digest::{
    ExtendableOutput, ExtendableOutputReset, FixedOutput, FixedOutputReset, HashMarker, Output, Update, XofReader,
};
use zeroize::ZeroizeOnDrop;

/// Shared by all four: constructors, absorbing, resetting.
macro_rules! sponge {
    ($(#[$attr:meta])* $name:ident, $rate:literal, $block:ty, $oid:literal) => {
        $(#[$attr])*
        #[derive(Clone)]
        pub struct $name {
            sponge: Sponge<$rate>,
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
                Self { sponge: Sponge::with_cpu(cpu) }
            }

            /// The arm that this value runs: `avx512`, `avx2` (x86-64) or `portable`.
            #[must_use]
            pub fn arm(&self) -> &'static str {
                self.sponge.arm()
            }
        }

        impl Default for $name {
            #[inline]
            fn default() -> Self {
                Self::with_cpu(Cpu::default())
            }
        }

        impl Update for $name {
            #[inline]
            fn update(&mut self, data: &[u8]) {
                self.sponge.absorb(data);
            }
        }

        impl Reset for $name {
            /// Starts afresh on the same arm.
            #[inline]
            fn reset(&mut self) {
                self.sponge.reset();
            }
        }

        impl BlockSizeUser for $name {
            type BlockSize = $block;
        }

        impl AlgorithmName for $name {
            fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl fmt::Debug for $name {
            /// The name only: the state depends on the message, which may be secret.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), " { ... }"))
            }
        }

        impl AssociatedOid for $name {
            const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap($oid);
        }

        impl SerializableState for $name {
            type SerializedStateSize = U201;

            fn serialize(&self) -> SerializedState<Self> {
                let (state, at) = self.sponge.saved();
                let mut saved = SerializedState::<Self>::default();
                for (bytes, word) in saved.as_chunks_mut::<8>().0.iter_mut().zip(state) {
                    *bytes = word.to_le_bytes();
                }
                saved[200] = at;
                saved
            }

            fn deserialize(saved: &SerializedState<Self>) -> Result<Self, DeserializeStateError> {
                let mut state = [0; 25];
                for (word, bytes) in state.iter_mut().zip(saved.as_chunks::<8>().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                Sponge::restored(state, saved[200]).map(|sponge| Self { sponge }).ok_or(DeserializeStateError)
            }
        }

        impl HashMarker for $name {}

        impl ZeroizeOnDrop for $name {}
    };
}

/// A hash with a digest of fixed length: the domain's bits are 01 (§6.1).
macro_rules! fixed {
    ($(#[$attr:meta])* $name:ident, $rate:literal, $block:ty, $output:ty, $oid:literal) => {
        sponge!($(#[$attr])* $name, $rate, $block, $oid);

        impl OutputSizeUser for $name {
            type OutputSize = $output;
        }

        impl FixedOutput for $name {
            #[inline]
            fn finalize_into(mut self, out: &mut Output<Self>) {
                self.sponge.pad(0b0110);
                self.sponge.squeeze(out);
            }
        }

        impl FixedOutputReset for $name {
            #[inline]
            fn finalize_into_reset(&mut self, out: &mut Output<Self>) {
                self.sponge.pad(0b0110);
                self.sponge.squeeze(out);
                self.sponge.reset();
            }
        }
    };
}

/// A function with as much output as its user wants: the domain's bits are 1111 (§6.2).
macro_rules! extendable {
    ($(#[$attr:meta])* $name:ident, $reader:ident, $rate:literal, $block:ty, $oid:literal) => {
        sponge!($(#[$attr])* $name, $rate, $block, $oid);

        impl ExtendableOutput for $name {
            type Reader = $reader;

            #[inline]
            fn finalize_xof(mut self) -> $reader {
                self.sponge.pad(0b11111);
                $reader { sponge: self.sponge.clone() }
            }
        }

        impl ExtendableOutputReset for $name {
            #[inline]
            fn finalize_xof_reset(&mut self) -> $reader {
                let reader = self.clone().finalize_xof();
                self.sponge.reset();
                reader
            }
        }

        #[doc = concat!("Gives the output of a [`", stringify!($name), "`]. Its state is wiped on drop.")]
        #[derive(Clone)]
        pub struct $reader {
            sponge: Sponge<$rate>,
        }

        impl XofReader for $reader {
            #[inline]
            fn read(&mut self, out: &mut [u8]) {
                self.sponge.squeeze(out);
            }
        }

        impl fmt::Debug for $reader {
            /// The name and nothing of the state.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($reader), " { ... }"))
            }
        }

        impl ZeroizeOnDrop for $reader {}
    };
}

fixed! {
    /// SHA3-256 (FIPS 202 §6.1): 32 bytes. Its state is wiped on drop.
    ///
    /// ```
    /// use candor_primitives::hash::{Digest, Sha3_256};
    /// assert_eq!(Sha3_256::digest(b"abc")[..4], [0x3a, 0x98, 0x5d, 0xa7]);
    /// ```
    Sha3_256, 136, U136, U32, "2.16.840.1.101.3.4.2.8"
}

fixed! {
    /// SHA3-512 (FIPS 202 §6.1): 64 bytes. Its state is wiped on drop.
    ///
    /// ```
    /// use candor_primitives::hash::{Digest, Sha3_512};
    /// assert_eq!(Sha3_512::digest(b"abc")[..4], [0xb7, 0x51, 0x85, 0x0b]);
    /// ```
    Sha3_512, 72, U72, U64, "2.16.840.1.101.3.4.2.10"
}

extendable! {
    /// SHAKE128 (FIPS 202 §6.2): output of any length, strength up to 128 bits. Its state is wiped on drop.
    ///
    /// ```
    /// use candor_primitives::hash::{ExtendableOutput, Shake128, Update, XofReader};
    /// let mut shake = Shake128::new();
    /// shake.update(b"seed");
    /// let mut reader = shake.finalize_xof();
    /// let mut bytes = [0; 1000];
    /// reader.read(&mut bytes);
    /// ```
    Shake128, Shake128Reader, 168, U168, "2.16.840.1.101.3.4.2.11"
}

extendable! {
    /// SHAKE256 (FIPS 202 §6.2): output of any length, strength up to 256 bits. Its state is wiped on drop.
    ///
    /// ```
    /// use candor_primitives::hash::{ExtendableOutput, Shake256, Update, XofReader};
    /// let mut shake = Shake256::new();
    /// shake.update(b"abc");
    /// let mut bytes = [0; 4];
    /// shake.finalize_xof().read(&mut bytes);
    /// assert_eq!(bytes, [0x48, 0x33, 0x66, 0x60]);
    /// ```
    Shake256, Shake256Reader, 136, U136, "2.16.840.1.101.3.4.2.12"
}
