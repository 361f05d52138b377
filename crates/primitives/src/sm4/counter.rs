//! SM4 in counter mode as a stream cipher.

use super::{Keys, Sm4};
use crate::stack;
use crate::wipe::wipe;
use ::cipher::consts::U16;
use ::cipher::{
    AlgorithmName, InOutBuf, Iv, IvSizeUser, Key, KeyIvInit, KeySizeUser, OverflowError, SeekNum, StreamCipher,
    StreamCipherError, StreamCipherSeek,
};
use candor_cpu::Cpu;
use core::fmt;
use zeroize::ZeroizeOnDrop;

/// SM4 in counter mode: the whole first counter block counts, big-endian (GB/T 17964, ISO/IEC 10116; `SM4-CTR` of OpenSSL and libgcrypt). It
/// gives the key stream of `ctr::Ctr128BE<Sm4>`. Wiped on drop.
///
/// A key stream has 2^60 − 1 blocks here. [`StreamCipher`]'s checked methods refuse to go beyond.
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
#[derive(Clone)]
pub struct Sm4Ctr {
    cipher: Sm4,
    /// The first counter block.
    first: u128,
    /// Bytes of key stream used so far.
    position: u64,
    /// The block of key stream that `position` is in, unless it is at a block's beginning.
    block: [u8; 16],
}

/// Bytes of key stream.
const MOST: u64 = u64::MAX - 15;

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
        let first = u128::from_be_bytes(*first);
        stack::clearing::<512, _>(|| Self { cipher: Sm4::with_cpu(cpu, key), first, position: 0, block: [0; 16] })
    }

    /// The arm that runs, as [`Sm4::arm`] names it.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.cipher.arm()
    }

    /// Begins anew with counter block `first`, under the same key.
    // ct: public, because a counter block is sent along
    pub fn set_first(&mut self, first: &[u8; 16]) {
        self.first = u128::from_be_bytes(*first);
        self.position = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        let used = (self.position % 16) as usize;
        let head = if used == 0 { 0 } else { data.len().min(16 - used) };
        let (head, mut data) = data.split_at_mut(head);
        for (byte, key) in head.iter_mut().zip(&self.block[used..]) {
            *byte ^= key;
        }
        self.position += head.len() as u64;
        let keys: &Keys = &self.cipher.0;
        while !data.is_empty() {
            let counter = self.first.wrapping_add(u128::from(self.position / 16));
            // The kernels count in 32 bits: they go as far as those do not wrap around.
            let left = (1 << 32) - u64::from(counter as u32);
            let bytes = usize::try_from(16 * left).unwrap_or(usize::MAX).min(data.len());
            let (now, later) = data.split_at_mut(bytes);
            keys.counter_mode(&counter.to_be_bytes(), now, Some(&mut self.block));
            self.position += now.len() as u64;
            data = later;
        }
    }
}

impl StreamCipher for Sm4Ctr {
    fn check_remaining(&self, length: usize) -> Result<(), StreamCipherError> {
        let end = self.position.checked_add(length as u64).ok_or(StreamCipherError)?;
        if end <= MOST { Ok(()) } else { Err(StreamCipherError) }
    }

    // ct: sm4-ctr
    #[inline]
    fn unchecked_apply_keystream_inout(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.apply(data.into_out_with_copied_in());
    }

    #[inline]
    fn unchecked_write_keystream(&mut self, out: &mut [u8]) {
        out.fill(0);
        self.apply(out);
    }
}

impl StreamCipherSeek for Sm4Ctr {
    fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        // The trait counts the current block as begun: 16 of 16 bytes used at a block's end.
        let (block, used) = (self.position.div_ceil(16), (self.position % 16) as u8);
        T::from_block_byte(block, if used == 0 { 16 } else { used }, 16)
    }

    fn try_seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
        let (block, byte) = position.into_block_byte::<u64>(16).map_err(|_| StreamCipherError)?;
        let start = block.checked_mul(16).filter(|start| *start <= MOST - u64::from(byte)).ok_or(StreamCipherError)?;
        self.position = start;
        if byte != 0 {
            let mut skipped = [0; 16];
            self.apply(&mut skipped[..usize::from(byte)]);
            wipe(&mut skipped);
        }
        Ok(())
    }
}

impl KeySizeUser for Sm4Ctr {
    type KeySize = U16;
}

impl IvSizeUser for Sm4Ctr {
    type IvSize = U16;
}

impl KeyIvInit for Sm4Ctr {
    fn new(key: &Key<Self>, iv: &Iv<Self>) -> Self {
        Self::new(&(*key).into(), &(*iv).into())
    }
}

impl AlgorithmName for Sm4Ctr {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ctr128BE<Sm4>")
    }
}

impl fmt::Debug for Sm4Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sm4Ctr(..)")
    }
}

impl Drop for Sm4Ctr {
    fn drop(&mut self) {
        wipe(&mut self.block);
    }
}

impl ZeroizeOnDrop for Sm4Ctr {}
