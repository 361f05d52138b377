//! SM4 (GB/T 32907-2016, ISO/IEC 18033-3): China's national block cipher. Single blocks, counter mode, and cipher block chaining.
//!
//! [`Sm4`] implements the block cipher traits of crate `cipher` 0.5, so generic modes take it; [`Sm4Ctr`] is a stream cipher, and
//! [`Sm4CbcEnc`] and [`Sm4CbcDec`] are block modes by the same crate's traits.
//!
//! No arm looks anything up in memory by a secret: the S-box is computed, with the CPU's AES instructions, with GFNI, or as a circuit.
//!
//! ```
//! use candor_primitives::sm4::Sm4Ctr;
//! use candor_primitives::sm4::cipher::StreamCipher;
//!
//! let mut data = *b"two blocks of it, and some more";
//! Sm4Ctr::new(&[7; 16], &[0; 16]).apply_keystream(&mut data);
//! Sm4Ctr::new(&[7; 16], &[0; 16]).apply_keystream(&mut data);
//! assert_eq!(&data, b"two blocks of it, and some more");
//! ```

mod cbc;
mod counter;
pub(crate) mod mux;
mod portable;
mod traits;

use crate::stack;
use candor_cpu::{Cpu, secret};
use core::fmt;
use mux::Keys;

pub use ::cipher;
pub use cbc::{Sm4CbcDec, Sm4CbcEnc};
pub use counter::Sm4Ctr;

/// SM4, for encryption and decryption of blocks. Wiped on drop.
///
/// ```
/// use candor_primitives::sm4::Sm4;
///
/// let cipher = Sm4::new(&[7; 16]);
/// let mut block = *b"exactly 16 bytes";
/// cipher.encrypt_block(&mut block);
/// cipher.decrypt_block(&mut block);
/// assert_eq!(&block, b"exactly 16 bytes");
/// ```
pub struct Sm4(Keys);

impl Sm4 {
    /// A key on the best arm of [`Cpu::default`].
    // ct: sm4/key
    #[must_use]
    pub fn new(key: &[u8; 16]) -> Self {
        Self::with_cpu(Cpu::default(), key)
    }

    /// A key on the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu, key: &[u8; 16]) -> Self {
        secret::takes("sm4/key", key);
        // The compiler may make the value elsewhere and move it.
        stack::clearing::<FRAMES, _>(|| Self(Keys::new(cpu, key)))
    }

    /// Encrypts a block.
    // ct: sm4
    #[inline]
    pub fn encrypt_block(&self, block: &mut [u8; 16]) {
        self.0.encrypt_block(block);
    }

    /// Decrypts a block.
    // ct: sm4
    #[inline]
    pub fn decrypt_block(&self, block: &mut [u8; 16]) {
        self.0.decrypt_block(block);
    }

    /// Encrypts each of the blocks, many at once. It's a building block of modes; by itself (ECB) it shows which blocks are equal.
    // ct: sm4
    #[inline]
    pub fn encrypt_each(&self, blocks: &mut [[u8; 16]]) {
        self.0.encrypt_each(blocks);
    }

    /// Decrypts each of the blocks, many at once.
    // ct: sm4
    #[inline]
    pub fn decrypt_each(&self, blocks: &mut [[u8; 16]]) {
        self.0.decrypt_each(blocks);
    }

    /// The key as its arm has it.
    #[cfg(feature = "aead")]
    pub(crate) fn keys(&self) -> &Keys {
        &self.0
    }

    /// The arm that runs: `avx512` (GFNI on 512 bits), `gfni` (on 256 bits), `vaes`, `avx2` (AES-NI and AVX2), `aes-ni` (x86-64), or
    /// `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.0.arm()
    }
}

/// Stack that making a key takes, in bytes.
const FRAMES: usize = 2048;

stack::clone_clearing!(Sm4, FRAMES);

impl fmt::Debug for Sm4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sm4(..)")
    }
}
