//! What the paddings share: the hashes, and the mask generation function (RFC 8017 §B.2.1).

use crate::hash::{Digest, Sha256, Sha384, Sha512};
use alloc::vec::Vec;
use candor_cpu::Cpu;
use digest::Output;

/// A hash that RSA's paddings are used with: SHA-256, SHA-384 or SHA-512.
pub trait RsaHash: Digest + Clone + Sealed + 'static {
    /// What DER has before the digest in a `DigestInfo` (RFC 8017 §9.2, note 1).
    #[doc(hidden)]
    const PREFIX: &'static [u8; 19];
    /// The hash on a CPU.
    #[doc(hidden)]
    fn on(cpu: Cpu) -> Self;
}

/// Keeps the traits to this crate's types: what implements them sees encoded messages before they are signed.
mod sealed {
    pub trait Sealed {}
}
pub(super) use sealed::Sealed;

macro_rules! hashes {
    ($($hash:ident $last:literal $length:literal)+) => {
        $(
            impl Sealed for $hash {}
            impl RsaHash for $hash {
                // SEQUENCE { SEQUENCE { 2.16.840.1.101.3.4.2.$last, NULL }, OCTET STRING }
                const PREFIX: &'static [u8; 19] = &[
                    0x30, 17 + $length, 0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, $last, 5, 0, 4, $length,
                ];

                fn on(cpu: Cpu) -> Self {
                    Self::with_cpu(cpu)
                }
            }
        )+
    };
}

hashes! {
    Sha256 1 32
    Sha384 2 48
    Sha512 3 64
}

/// Bytes of a digest.
pub(super) fn length<H: RsaHash>() -> usize {
    <H as Digest>::output_size()
}

/// The digest of several parts.
pub(super) fn digest<H: RsaHash>(cpu: Cpu, parts: &[&[u8]]) -> Output<H> {
    let mut hash = H::on(cpu);
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize()
}

/// Adds the mask of a seed to bytes.
pub(super) fn mask<H: RsaHash>(cpu: Cpu, seed: &[u8], bytes: &mut [u8]) {
    let seeded = H::on(cpu).chain_update(seed);
    for (bytes, counter) in bytes.chunks_mut(length::<H>()).zip(0_u32..) {
        let block = seeded.clone().chain_update(counter.to_be_bytes()).finalize();
        bytes.iter_mut().zip(&block).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// Zeros.
pub(super) fn zeros(length: usize) -> Vec<u8> {
    alloc::vec![0; length]
}
