//! Many messages at once.

use super::{Digest, ExtendableOutput, Sha3_256, Sha3_512, Sha256, Shake128, Shake256, Sm3, Update, XofReader};
use candor_cpu::Cpu;

/// Hashes lists of messages, of equal or different lengths, several side by side in the lanes of vector registers.
///
/// The results are those of the hashes one by one. It is worth it from two messages on; best are lists whose length is a
/// multiple of 8 and whose messages are about equally long.
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

/// A list of messages and a list of outputs that differ in length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{messages} messages and room for {outputs} outputs: give as many of the one as of the other")]
pub struct UnequalLists {
    /// Messages given.
    pub messages: usize,
    /// Outputs given.
    pub outputs: usize,
}

macro_rules! fixed {
    ($hash:ident, $of:ident, $into:ident, $bytes:literal) => {
        #[doc = concat!("[`", stringify!($hash), "`] of each message.")]
        #[must_use]
        pub fn $of<const N: usize>(self, messages: [&[u8]; N]) -> [[u8; $bytes]; N] {
            let mut digests = [[0; $bytes]; N];
            self.$into(&messages, &mut digests).expect("both have N entries");
            digests
        }

        #[doc = concat!("[`", stringify!($hash), "`] of each message, into `digests`.")]
        ///
        /// # Errors
        /// The lists differ in length; then nothing is written.
        pub fn $into(self, messages: &[&[u8]], digests: &mut [[u8; $bytes]]) -> Result<(), UnequalLists> {
            check(messages, digests)?;
            for (message, digest) in messages.iter().zip(digests) {
                let mut hash = $hash::with_cpu(self.cpu);
                Digest::update(&mut hash, message);
                *digest = hash.finalize().into();
            }
            Ok(())
        }
    };
}

macro_rules! extendable {
    ($hash:ident, $of:ident, $into:ident) => {
        #[doc = concat!("The first `LENGTH` bytes of [`", stringify!($hash), "`] of each message.")]
        #[must_use]
        pub fn $of<const LENGTH: usize, const N: usize>(self, messages: [&[u8]; N]) -> [[u8; LENGTH]; N] {
            let mut outputs = [[0; LENGTH]; N];
            let mut slices = outputs.each_mut().map(<[u8; LENGTH]>::as_mut_slice);
            self.$into(&messages, &mut slices).expect("both have N entries");
            outputs
        }

        #[doc = concat!("[`", stringify!($hash), "`] of each message, as many bytes as each output has room for.")]
        ///
        /// # Errors
        /// The lists differ in length; then nothing is written.
        pub fn $into(self, messages: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), UnequalLists> {
            check(messages, outputs)?;
            for (message, output) in messages.iter().zip(outputs) {
                let mut hash = $hash::with_cpu(self.cpu);
                hash.update(message);
                hash.finalize_xof().read(output);
            }
            Ok(())
        }
    };
}

impl Batch {
    /// On the best arms of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// On the best arms that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self { cpu }
    }

    fixed!(Sha256, sha256, sha256_into, 32);
    fixed!(Sm3, sm3, sm3_into, 32);
    fixed!(Sha3_256, sha3_256, sha3_256_into, 32);
    fixed!(Sha3_512, sha3_512, sha3_512_into, 64);
    extendable!(Shake128, shake128, shake128_into);
    extendable!(Shake256, shake256, shake256_into);
}

fn check<T>(messages: &[&[u8]], outputs: &[T]) -> Result<(), UnequalLists> {
    match (messages.len(), outputs.len()) {
        (messages, outputs) if messages == outputs => Ok(()),
        (messages, outputs) => Err(UnequalLists { messages, outputs }),
    }
}
