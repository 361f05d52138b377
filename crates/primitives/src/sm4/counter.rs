//! SM4 in counter mode as a stream cipher.

use super::Sm4;
use crate::counter::{CounterMode, KeyStream, stream_cipher};
use crate::stack;
use candor_cpu::Cpu;

/// SM4 in counter mode: the whole first counter block counts, big-endian (GB/T 17964, ISO/IEC 10116; `SM4-CTR` of OpenSSL and libgcrypt). It
/// gives the key stream of `ctr::Ctr128BE<Sm4>`. Wiped on drop.
///
/// **A counter block must never serve twice under one key**: where two key streams overlap, the xor of both plaintexts shows. So the first counter
/// blocks of two messages must be further apart than the first message is long. Counter mode alone authenticates nothing: new designs want SM4-GCM.
///
/// A key stream has 2^60 − 1 blocks here. [`StreamCipher`](super::cipher::StreamCipher)'s checked methods refuse to go beyond.
///
/// ```
/// use candor_primitives::sm4::Sm4Ctr;
/// use candor_primitives::sm4::cipher::{StreamCipher, StreamCipherSeek};
///
/// let mut cipher = Sm4Ctr::new(&[7; 16], &[0; 16]);
/// let mut stream = [0; 50];
/// cipher.apply_keystream(&mut stream);
/// cipher.seek(20u32);
/// let mut piece = [0; 10];
/// cipher.apply_keystream(&mut piece);
/// assert_eq!(piece, stream[20..30]);
/// ```
pub struct Sm4Ctr(KeyStream<Sm4, 128>);

impl Sm4Ctr {
    /// A key stream that begins with counter block `first`, on the best arm of [`Cpu::default`].
    // ct: sm4/key
    #[must_use]
    pub fn new(key: &[u8; 16], first: &[u8; 16]) -> Self {
        Self::with_cpu(Cpu::default(), key, first)
    }

    /// A key stream that begins with counter block `first`, on the best arm that `cpu` allows.
    // ct: sm4/key
    #[must_use]
    pub fn with_cpu(cpu: Cpu, key: &[u8; 16], first: &[u8; 16]) -> Self {
        stack::clearing::<512, _>(|| Self(KeyStream::new(Sm4::with_cpu(cpu, key), first)))
    }

    /// The arm that runs, as [`Sm4::arm`] names it.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.0.cipher().arm()
    }

    /// Begins anew with counter block `first`, under the same key.
    // ct: public, because a counter block is sent along
    pub fn set_first(&mut self, first: &[u8; 16]) {
        self.0.set_first(first);
    }
}

stack::clone_clearing!(Sm4Ctr, 2048);

impl CounterMode for Sm4 {
    fn apply(&self, first: &[u8; 16], data: &mut [u8], last: &mut [u8; 16]) {
        self.0.counter_mode(first, data, Some(last));
    }
}

stream_cipher!(Sm4Ctr, "Ctr128BE<Sm4>");
