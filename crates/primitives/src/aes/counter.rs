//! AES-128 in counter mode as a stream cipher.

use super::Aes128;
use crate::stack;
use crate::wipe::wipe;
use ::aes::cipher::consts::U16;
use ::aes::cipher::{
    AlgorithmName, InOutBuf, Iv, IvSizeUser, Key, KeyIvInit, KeySizeUser, OverflowError, SeekNum, StreamCipher,
    StreamCipherError, StreamCipherSeek,
};
use candor_cpu::Cpu;
use core::fmt;
use zeroize::ZeroizeOnDrop;

/// AES-128 in counter mode with a 32-bit big-endian counter, as GCM has it (SP 800-38D §6.5). It gives the key stream of
/// `ctr::Ctr32BE<Aes128>`. Wiped on drop.
///
/// A key stream has 2^32 − 1 blocks. [`StreamCipher`]'s checked methods refuse to go beyond.
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
#[derive(Clone)]
pub struct Aes128Ctr {
    cipher: Aes128,
    /// The first counter block.
    first: [u8; 16],
    /// Bytes of key stream used so far.
    position: u64,
    /// The block of key stream that `position` is in, unless it is at a block's beginning.
    block: [u8; 16],
}

/// Bytes of key stream before the counter could repeat.
const MOST: u64 = 16 * u32::MAX as u64;

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
        stack::clearing::<512, _>(|| Self {
            cipher: Aes128::with_cpu(cpu, key),
            first: *first,
            position: 0,
            block: [0; 16],
        })
    }

    /// The arm that runs: `avx512`, `vaes`, `aes-ni` (x86-64), or `library`, which is crate `aes`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.cipher.arm()
    }

    /// The counter block that the current position is in.
    fn counter(&self) -> [u8; 16] {
        let mut counter = self.first;
        let (_, count) = counter.split_last_chunk_mut::<4>().expect("16 bytes have a last 4");
        *count = u32::from_be_bytes(*count).wrapping_add((self.position / 16) as u32).to_be_bytes();
        counter
    }

    fn apply(&mut self, data: &mut [u8]) {
        let used = (self.position % 16) as usize;
        let head = if used == 0 { 0 } else { data.len().min(16 - used) };
        let (head, data) = data.split_at_mut(head);
        for (byte, key) in head.iter_mut().zip(&self.block[used..]) {
            *byte ^= key;
        }
        self.position += head.len() as u64;
        if !data.is_empty() {
            self.cipher.apply_counter_mode_keeping(&self.counter(), data, &mut self.block);
            self.position += data.len() as u64;
        }
    }
}

impl StreamCipher for Aes128Ctr {
    fn check_remaining(&self, length: usize) -> Result<(), StreamCipherError> {
        let end = self.position.checked_add(length as u64).ok_or(StreamCipherError)?;
        if end <= MOST { Ok(()) } else { Err(StreamCipherError) }
    }

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

impl StreamCipherSeek for Aes128Ctr {
    fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        // The trait counts the current block as begun: 16 of 16 bytes used at a block's end.
        let (block, used) = (self.position.div_ceil(16), (self.position % 16) as u8);
        T::from_block_byte(block, if used == 0 { 16 } else { used }, 16)
    }

    fn try_seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
        let (block, byte) = position.into_block_byte::<u64>(16).map_err(|_| StreamCipherError)?;
        let start = block.checked_mul(16).filter(|start| start + u64::from(byte) <= MOST).ok_or(StreamCipherError)?;
        self.position = start;
        if byte != 0 {
            let mut stream = [0];
            self.cipher.apply_counter_mode_keeping(&self.counter(), &mut stream, &mut self.block);
            wipe(&mut stream);
            self.position += u64::from(byte);
        }
        Ok(())
    }
}

impl KeySizeUser for Aes128Ctr {
    type KeySize = U16;
}

impl IvSizeUser for Aes128Ctr {
    type IvSize = U16;
}

impl KeyIvInit for Aes128Ctr {
    fn new(key: &Key<Self>, iv: &Iv<Self>) -> Self {
        Self::new(&(*key).into(), &(*iv).into())
    }
}

impl AlgorithmName for Aes128Ctr {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ctr32BE<Aes128>")
    }
}

impl fmt::Debug for Aes128Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes128Ctr(..)")
    }
}

impl Drop for Aes128Ctr {
    fn drop(&mut self) {
        wipe(&mut self.block);
    }
}

impl ZeroizeOnDrop for Aes128Ctr {}
