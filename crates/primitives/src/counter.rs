//! Counter mode as a stream cipher: what [`Aes128Ctr`](crate::aes::Aes128Ctr) and [`Sm4Ctr`](crate::sm4::Sm4Ctr) share. They differ in the block
//! cipher and in how many bits of the counter block count.

use crate::wipe::wipe;
use ::cipher::{OverflowError, SeekNum, StreamCipherError};

/// A block cipher with kernels for counter mode.
pub(crate) trait CounterMode {
    /// XORs the key stream that begins with counter block `first` into `data`, and writes the stream's last block to `last`. The counter is the
    /// last four bytes, big-endian, modulo 2^32. If `data` is empty, the last block means nothing.
    fn apply(&self, first: &[u8; 16], data: &mut [u8], last: &mut [u8; 16]);
}

/// A key stream whose counter is the last `WIDTH` bits of the counter block, 32 or 128. The cipher wipes itself, and the rest is wiped on drop.
#[derive(Clone)]
pub(crate) struct KeyStream<C, const WIDTH: u32> {
    cipher: C,
    /// The first counter block.
    first: u128,
    /// Bytes of key stream used so far.
    position: u64,
    /// The block of key stream that `position` is in, unless it is at a block's beginning.
    block: [u8; 16],
}

impl<C: CounterMode, const WIDTH: u32> KeyStream<C, WIDTH> {
    /// Bytes of key stream: whole blocks, before the counter could repeat and the position overflow.
    const MOST: u64 = match WIDTH {
        32 => 16 * u32::MAX as u64,
        128 => u64::MAX - 15,
        _ => panic!("the counter has 32 or 128 bits"),
    };

    pub(crate) fn new(cipher: C, first: &[u8; 16]) -> Self {
        Self { cipher, first: u128::from_be_bytes(*first), position: 0, block: [0; 16] }
    }

    pub(crate) fn cipher(&self) -> &C {
        &self.cipher
    }

    /// Begins anew with counter block `first`.
    #[cfg(feature = "sm4")]
    pub(crate) fn set_first(&mut self, first: &[u8; 16]) {
        self.first = u128::from_be_bytes(*first);
        self.position = 0;
    }

    /// The counter block that the current position is in.
    fn counter(&self) -> u128 {
        let counts = u128::MAX >> (128 - WIDTH);
        let sum = self.first.wrapping_add(u128::from(self.position / 16));
        self.first & !counts | sum & counts
    }

    pub(crate) fn apply(&mut self, data: &mut [u8]) {
        let used = (self.position % 16) as usize;
        let head = if used == 0 { 0 } else { data.len().min(16 - used) };
        let (head, mut data) = data.split_at_mut(head);
        for (byte, key) in head.iter_mut().zip(&self.block[used..]) {
            *byte ^= key;
        }
        self.position += head.len() as u64;
        while !data.is_empty() {
            let counter = self.counter();
            // The kernels count in 32 bits. A wider counter goes on in the next call where those wrap around.
            let blocks = if WIDTH == 32 { 1 << 32 } else { (1 << 32) - u64::from(counter as u32) };
            let bytes = usize::try_from(16 * blocks).unwrap_or(usize::MAX).min(data.len());
            let (now, later) = data.split_at_mut(bytes);
            self.cipher.apply(&counter.to_be_bytes(), now, &mut self.block);
            self.position += now.len() as u64;
            data = later;
        }
    }

    pub(crate) fn check_remaining(&self, length: usize) -> Result<(), StreamCipherError> {
        let end = self.position.checked_add(length as u64).ok_or(StreamCipherError)?;
        if end <= Self::MOST { Ok(()) } else { Err(StreamCipherError) }
    }

    pub(crate) fn position<T: SeekNum>(&self) -> Result<T, OverflowError> {
        // The trait counts the current block as begun: 16 of 16 bytes used at a block's end.
        let (block, used) = (self.position.div_ceil(16), (self.position % 16) as u8);
        T::from_block_byte(block, if used == 0 { 16 } else { used }, 16)
    }

    pub(crate) fn seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
        let (block, byte) = position.into_block_byte::<u64>(16).map_err(|_| StreamCipherError)?;
        let start = block.checked_mul(16).filter(|start| *start <= Self::MOST - u64::from(byte));
        self.position = start.ok_or(StreamCipherError)?;
        if byte != 0 {
            // Makes the block that the position is in.
            let mut skipped = [0; 16];
            self.apply(&mut skipped[..usize::from(byte)]);
            wipe(&mut skipped);
        }
        Ok(())
    }
}

impl<C, const WIDTH: u32> Drop for KeyStream<C, WIDTH> {
    fn drop(&mut self) {
        wipe(&mut self.block);
    }
}

/// Implements the traits of crate `cipher` for a type that holds a [`KeyStream`] under a key of 16 bytes.
macro_rules! stream_cipher {
    ($type:ident, $name:literal) => {
        impl ::cipher::StreamCipher for $type {
            fn check_remaining(&self, length: usize) -> Result<(), ::cipher::StreamCipherError> {
                self.0.check_remaining(length)
            }

            #[inline]
            fn unchecked_apply_keystream_inout(&mut self, data: ::cipher::InOutBuf<'_, '_, u8>) {
                self.0.apply(data.into_out_with_copied_in());
            }

            #[inline]
            fn unchecked_write_keystream(&mut self, out: &mut [u8]) {
                out.fill(0);
                self.0.apply(out);
            }
        }

        impl ::cipher::StreamCipherSeek for $type {
            fn try_current_pos<T: ::cipher::SeekNum>(&self) -> Result<T, ::cipher::OverflowError> {
                self.0.position()
            }

            fn try_seek<T: ::cipher::SeekNum>(&mut self, position: T) -> Result<(), ::cipher::StreamCipherError> {
                self.0.seek(position)
            }
        }

        impl ::cipher::KeySizeUser for $type {
            type KeySize = ::cipher::consts::U16;
        }

        impl ::cipher::IvSizeUser for $type {
            type IvSize = ::cipher::consts::U16;
        }

        impl ::cipher::KeyIvInit for $type {
            fn new(key: &::cipher::Key<Self>, iv: &::cipher::Iv<Self>) -> Self {
                Self::new(&(*key).into(), &(*iv).into())
            }
        }

        impl ::cipher::AlgorithmName for $type {
            fn write_alg_name(f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str($name)
            }
        }

        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(concat!(stringify!($type), "(..)"))
            }
        }

        impl ::zeroize::ZeroizeOnDrop for $type {}
    };
}

pub(crate) use stream_cipher;
