//! AES-128 in counter mode as a stream cipher.

use super::Aes128;
use crate::counter::{CounterMode, KeyStream, stream_cipher};
use crate::stack;
use candor_cpu::Cpu;

/// AES-128 in counter mode with a 32-bit big-endian counter, as GCM has it (SP 800-38D §6.5). It gives the key stream of
/// `ctr::Ctr32BE<Aes128>`. Wiped on drop.
///
/// **A counter block must never serve twice under one key**: where two key streams overlap, the xor of both plaintexts shows. Counter mode alone
/// authenticates nothing: new designs want AES-GCM.
///
/// A key stream has 2^32 − 1 blocks. [`StreamCipher`](super::cipher::StreamCipher)'s checked methods refuse to go beyond.
///
/// ```
/// use candor_primitives::aes::Aes128Ctr;
/// use candor_primitives::aes::cipher::{StreamCipher, StreamCipherSeek};
///
/// let mut cipher = Aes128Ctr::new(&[7; 16], &[0; 16]);
/// let mut stream = [0; 50];
/// cipher.apply_keystream(&mut stream);
/// cipher.seek(20u32);
/// let mut piece = [0; 10];
/// cipher.apply_keystream(&mut piece);
/// assert_eq!(piece, stream[20..30]);
/// ```
pub struct Aes128Ctr(KeyStream<Aes128, 32>);

impl Aes128Ctr {
    /// A key stream that begins with counter block `first`, on the best arm of [`Cpu::default`].
    // ct: aes-128/key
    #[must_use]
    pub fn new(key: &[u8; 16], first: &[u8; 16]) -> Self {
        Self::with_cpu(Cpu::default(), key, first)
    }

    /// A key stream that begins with counter block `first`, on the best arm that `cpu` allows.
    // ct: aes-128/key
    #[must_use]
    pub fn with_cpu(cpu: Cpu, key: &[u8; 16], first: &[u8; 16]) -> Self {
        stack::clearing::<512, _>(|| Self(KeyStream::new(Aes128::with_cpu(cpu, key), first)))
    }

    /// The arm that runs: `avx512`, `vaes`, `aes-ni` (x86-64), or `library`, which is crate `aes`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.0.cipher().arm()
    }
}

stack::clone_clearing!(Aes128Ctr, 1024);

impl CounterMode for Aes128 {
    fn apply(&self, first: &[u8; 16], data: &mut [u8], last: &mut [u8; 16]) {
        self.apply_counter_mode_keeping(first, data, last);
    }
}

stream_cipher!(Aes128Ctr, "Ctr32BE<Aes128>");
