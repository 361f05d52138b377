//! Many messages at once.

mod block_lanes;
mod sponge_lanes;

use super::batch_mux::{Sha256Arm, VectorArm};
use super::{keccak_mux, sha256, sha256_mux, sm3, sm3_mux};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::{batch as kernels, sha256 as chains};
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, HaveSha, secret};
use core::fmt;

/// Hashes lists of messages, of equal or different lengths, several side by side in the lanes of vector registers.
///
/// The results equal those of hashing one by one. A batch pays off from two messages on, and most if the number of messages is a
/// multiple of 8 and they are about equally long. Copies of message parts are wiped. The lengths of messages are public.
///
/// ```
/// use candor_primitives::hash::{Batch, Digest, Sm3};
/// let [a, b] = Batch::new().sm3([b"one".as_slice(), b"another"]);
/// assert_eq!(a, *Sm3::digest(b"one"));
/// assert_eq!(b, *Sm3::digest(b"another"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch {
    cpu: Cpu,
}

/// Why a batch was refused: the list of messages and the list of outputs differ in length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchError {
    /// Messages given.
    pub messages: usize,
    /// Outputs given.
    pub outputs: usize,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch has {} messages and {} outputs; expected equally many", self.messages, self.outputs)
    }
}

impl core::error::Error for BatchError {}

/// The two forms of a hash with a digest of fixed length: an array of messages, and a list. `$run` does the work.
macro_rules! fixed {
    ($hash:literal, $standard:literal, $of:ident, $into:ident, $bytes:literal, $run:ident) => {
        #[doc = concat!($hash, " (", $standard, ") of each message.")]
        // ct: sha256-batch, sm3-batch, keccak-batch
        #[must_use]
        pub fn $of<const N: usize>(self, messages: [&[u8]; N]) -> [[u8; $bytes]; N] {
            let mut digests = [[0; $bytes]; N];
            $run(self.cpu, &messages, &mut digests);
            digests
        }

        #[doc = concat!($hash, " (", $standard, ") of each message, into `digests`.")]
        ///
        /// # Errors
        /// The lists differ in length; then nothing is written.
        // ct: sha256-batch, sm3-batch, keccak-batch
        pub fn $into(self, messages: &[&[u8]], digests: &mut [[u8; $bytes]]) -> Result<(), BatchError> {
            check(messages, digests)?;
            $run(self.cpu, messages, digests);
            Ok(())
        }
    };
}

/// The two forms of a function with output of any length.
macro_rules! extendable {
    ($hash:literal, $of:ident, $into:ident, $rate:literal) => {
        #[doc = concat!("The first `LENGTH` bytes of ", $hash, " (FIPS 202 §6.2) of each message.")]
        // ct: sha256-batch, sm3-batch, keccak-batch
        #[must_use]
        pub fn $of<const LENGTH: usize, const N: usize>(self, messages: [&[u8]; N]) -> [[u8; LENGTH]; N] {
            let mut outputs = [[0; LENGTH]; N];
            sponges::<$rate>(self.cpu, 0b11111, &messages, outputs.iter_mut().map(<[u8; LENGTH]>::as_mut_slice));
            outputs
        }

        #[doc = concat!($hash, " (FIPS 202 §6.2) of each message, as many bytes as each output has room for.")]
        ///
        /// # Errors
        /// The lists differ in length; then nothing is written.
        // ct: sha256-batch, sm3-batch, keccak-batch
        pub fn $into(self, messages: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), BatchError> {
            check(messages, outputs)?;
            sponges::<$rate>(self.cpu, 0b11111, messages, outputs.iter_mut().map(|output| &mut **output));
            Ok(())
        }
    };
}

impl Batch {
    /// A batch on the best arms of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch on the best arms that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self { cpu }
    }

    /// The arm of SHA-256 for so many messages: `avx512`, `sha`, `avx2` (x86-64) or `one-by-one`.
    #[must_use]
    pub fn sha256_arm(self, messages: usize) -> &'static str {
        Sha256Arm::choose(self.cpu, messages).name()
    }

    /// The arm of SM3: `avx512`, `avx2` (x86-64) or `one-by-one`.
    #[must_use]
    pub fn sm3_arm(self, messages: usize) -> &'static str {
        VectorArm::choose(self.cpu, Routine::Sm3Batch, messages).name()
    }

    /// The arm of SHA-3 and SHAKE: `avx512`, `avx2` (x86-64) or `one-by-one`.
    #[must_use]
    pub fn keccak_arm(self, messages: usize) -> &'static str {
        VectorArm::choose(self.cpu, Routine::KeccakBatch, messages).name()
    }

    fixed!("SHA-256", "FIPS 180-4 §6.2", sha256, sha256_into, 32, sha256_all);
    fixed!("SM3", "GB/T 32905-2016", sm3, sm3_into, 32, sm3_all);
    fixed!("SHA3-256", "FIPS 202 §6.1", sha3_256, sha3_256_into, 32, sha3_256_all);
    fixed!("SHA3-512", "FIPS 202 §6.1", sha3_512, sha3_512_into, 64, sha3_512_all);
    extendable!("SHAKE128", shake128, shake128_into, 168);
    extendable!("SHAKE256", shake256, shake256_into, 136);
}

fn check<T>(messages: &[&[u8]], outputs: &[T]) -> Result<(), BatchError> {
    match (messages.len(), outputs.len()) {
        (messages, outputs) if messages == outputs => Ok(()),
        (messages, outputs) => Err(BatchError { messages, outputs }),
    }
}

fn sha256_all(cpu: Cpu, messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    let arm = Sha256Arm::choose(cpu, messages.len());
    secret::ran("sha256-batch", arm.name());
    let alone = sha256_mux::Arm::choose(cpu);
    let single = &|state: &mut [u32; 8], blocks: &[[u8; 64]]| sha256_mux::compress(alone, state, blocks);
    let initial = sha256::INITIAL;
    #[cfg(target_arch = "x86_64")]
    let few = if HaveSha::check(cpu).is_some() { super::batch_mux::FEW } else { 1 };
    match arm {
        #[cfg(target_arch = "x86_64")]
        Sha256Arm::Avx512(token) if messages.len() > 8 => block_lanes::hash::<16>(
            |state, blocks| kernels::sha256_avx512(token, state, blocks),
            single,
            few,
            initial,
            messages,
            digests,
        ),
        #[cfg(target_arch = "x86_64")]
        Sha256Arm::Avx512(token) => block_lanes::hash::<8>(
            |state, blocks| kernels::sha256_avx512_8(token, state, blocks),
            single,
            few,
            initial,
            messages,
            digests,
        ),
        #[cfg(target_arch = "x86_64")]
        Sha256Arm::Avx2(token) => block_lanes::hash::<8>(
            |state, blocks| kernels::sha256_avx2(token, state, blocks),
            single,
            2,
            initial,
            messages,
            digests,
        ),
        _ => match HaveSha::check(cpu) {
            #[cfg(target_arch = "x86_64")]
            Some(token) => block_lanes::hash::<{ chains::LANES }>(
                |state, blocks| chains::compress(token, state, blocks),
                single,
                1,
                initial,
                messages,
                digests,
            ),
            _ => block_lanes::hash::<1>(|_, _| {}, single, 1, initial, messages, digests),
        },
    }
}

fn sm3_all(cpu: Cpu, messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    let arm = VectorArm::choose(cpu, Routine::Sm3Batch, messages.len());
    secret::ran("sm3-batch", arm.name());
    let alone = sm3_mux::Arm::choose(cpu);
    let single = &|state: &mut [u32; 8], blocks: &[[u8; 64]]| sm3_mux::compress(alone, state, blocks);
    let initial = sm3::INITIAL;
    match arm {
        #[cfg(target_arch = "x86_64")]
        VectorArm::Avx512(token) if messages.len() > 8 => block_lanes::hash::<16>(
            |state, blocks| kernels::sm3_avx512(token, state, blocks),
            single,
            1,
            initial,
            messages,
            digests,
        ),
        #[cfg(target_arch = "x86_64")]
        VectorArm::Avx512(token) => block_lanes::hash::<8>(
            |state, blocks| kernels::sm3_avx512_8(token, state, blocks),
            single,
            1,
            initial,
            messages,
            digests,
        ),
        #[cfg(target_arch = "x86_64")]
        VectorArm::Avx2(token) => block_lanes::hash::<8>(
            |state, blocks| kernels::sm3_avx2(token, state, blocks),
            single,
            2,
            initial,
            messages,
            digests,
        ),
        _ => block_lanes::hash::<1>(|_, _| {}, single, 1, initial, messages, digests),
    }
}

fn sha3_256_all(cpu: Cpu, messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    sponges::<136>(cpu, 0b0110, messages, digests.iter_mut().map(<[u8; 32]>::as_mut_slice));
}

fn sha3_512_all(cpu: Cpu, messages: &[&[u8]], digests: &mut [[u8; 64]]) {
    sponges::<72>(cpu, 0b0110, messages, digests.iter_mut().map(<[u8; 64]>::as_mut_slice));
}

fn sponges<'o, const RATE: usize>(
    cpu: Cpu,
    suffix: u8,
    messages: &[&[u8]],
    outputs: impl Iterator<Item = &'o mut [u8]>,
) {
    let arm = VectorArm::choose(cpu, Routine::KeccakBatch, messages.len());
    secret::ran("keccak-batch", arm.name());
    let alone = keccak_mux::Arm::choose(cpu);
    let single = |state: &mut [u64; 25]| keccak_mux::permute(alone, state);
    match arm {
        #[cfg(target_arch = "x86_64")]
        VectorArm::Avx512(token) => sponge_lanes::hash::<8, RATE>(
            |state| kernels::keccak_avx512(token, state),
            single,
            suffix,
            messages,
            outputs,
        ),
        #[cfg(target_arch = "x86_64")]
        VectorArm::Avx2(token) => {
            sponge_lanes::hash::<4, RATE>(
                |state| kernels::keccak_avx2(token, state),
                single,
                suffix,
                messages,
                outputs,
            );
        }
        _ => sponge_lanes::hash::<1, RATE>(|_| {}, single, suffix, messages, outputs),
    }
}
