//! AES-128 (FIPS 197): single blocks, and counter mode.
//!
//! [`Aes128`] and [`Aes128Decrypt`] implement the block cipher traits of crate `cipher` 0.5, so generic modes take them;
//! [`Aes128Ctr`] is a stream cipher by the same crate's traits.
//!
//! ```
//! use candor_primitives::aes::Aes128Ctr;
//! use candor_primitives::aes::cipher::StreamCipher;
//!
//! let mut data = *b"two blocks of it, and some more";
//! Aes128Ctr::new(&[7; 16], &[0; 16]).apply_keystream(&mut data);
//! Aes128Ctr::new(&[7; 16], &[0; 16]).apply_keystream(&mut data);
//! assert_eq!(&data, b"two blocks of it, and some more");
//! ```

mod counter;
mod traits;

#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::aes::{self as low, RoundKeys};
use crate::stack;
use crate::wipe::wipe;
use ::aes::cipher::consts::U16;
use ::aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use alloc::boxed::Box;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, secret};
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use core::fmt;

pub use ::aes::cipher;
pub use counter::Aes128Ctr;

/// AES-128 for encryption. Wiped on drop.
///
/// ```
/// use candor_primitives::aes::Aes128;
///
/// let cipher = Aes128::new(&[7; 16]);
/// let mut data = *b"two blocks of it, and some more";
/// cipher.apply_counter_mode(&[0; 16], &mut data);
/// cipher.apply_counter_mode(&[0; 16], &mut data);
/// assert_eq!(&data, b"two blocks of it, and some more");
/// ```
pub struct Aes128(Encrypt);

/// AES-128 for decryption of blocks. Wiped on drop.
pub struct Aes128Decrypt(Decrypt);

/// An encryption key in the form that its arm wants. An accelerated form holds the token that proves what the CPU has.
#[derive(Clone)]
enum Encrypt {
    /// x86-64: AES-NI for single blocks, and the widest there is for counter mode.
    #[cfg(target_arch = "x86_64")]
    X86(HaveClmul, Wide, Schedule),
    /// Crate `aes`, which chooses its code itself. In a box, since its keys have the size of the largest form that it knows, four times ours.
    Library(Box<::aes::Aes128Enc>),
}

/// The same for decryption.
#[derive(Clone)]
enum Decrypt {
    #[cfg(target_arch = "x86_64")]
    X86(HaveClmul, Schedule),
    Library(Box<::aes::Aes128Dec>),
}

/// Which registers counter mode uses.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
enum Wide {
    Aes,
    Vaes(HaveVpclmul),
    Avx512(HaveAvx512Crypto),
}

/// Round keys, wiped on drop.
#[cfg(target_arch = "x86_64")]
#[derive(Clone)]
struct Schedule(RoundKeys);

impl Aes128 {
    /// A key on the best arm of [`Cpu::default`].
    // ct: aes-128/key
    #[must_use]
    pub fn new(key: &[u8; 16]) -> Self {
        Self::with_cpu(Cpu::default(), key)
    }

    /// A key on the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu, key: &[u8; 16]) -> Self {
        secret::takes("aes-128/key", key);
        let cpu = cpu.for_routine(Routine::AesCtr);
        // The compiler may make the value elsewhere and move it.
        stack::clearing::<FRAMES, _>(|| {
            #[cfg(target_arch = "x86_64")]
            if let Some(token) = HaveClmul::check(cpu) {
                let wide = if let Some(token) = HaveAvx512Crypto::check(cpu) {
                    Wide::Avx512(token)
                } else {
                    HaveVpclmul::check(cpu).map_or(Wide::Aes, Wide::Vaes)
                };
                let mut this = Self(Encrypt::X86(token, wide, Schedule([[0; 16]; 11])));
                this.set_key(key);
                return this;
            }
            let _ = cpu;
            Self(Encrypt::Library(library(key)))
        })
    }

    /// Replaces the key, on the same arm and in the same place.
    // ct: aes-128/key
    #[inline]
    pub fn set_key(&mut self, key: &[u8; 16]) {
        match &mut self.0 {
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(token, _, schedule) => low::expand(*token, key, &mut schedule.0),
            Encrypt::Library(cipher) => **cipher = ::aes::Aes128Enc::new(key.into()),
        }
    }

    /// Encrypts a block.
    #[inline]
    pub fn encrypt_block(&self, block: &mut [u8; 16]) {
        secret::ran("aes-128", self.block_arm());
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(token, _, schedule) => low::encrypt(*token, &schedule.0, block),
            Encrypt::Library(cipher) => cipher.encrypt_block(block.into()),
        }
    }

    /// XORs the encryption of `first`, of `first` + 1 and so on into `data`. The counter is the last 32 bits of the block,
    /// big-endian, modulo 2^32 (SP 800-38D §6.2, inc_32).
    // ct: aes-128-ctr
    #[inline]
    pub fn apply_counter_mode(&self, first: &[u8; 16], data: &mut [u8]) {
        self.counter_mode(first, data, None);
    }

    /// The same, and writes the last of these key stream blocks to `last`: `data` may have used only a part of it. If `data` is empty, the
    /// block means nothing.
    // ct: aes-128-ctr
    #[inline]
    pub fn apply_counter_mode_keeping(&self, first: &[u8; 16], data: &mut [u8], last: &mut [u8; 16]) {
        self.counter_mode(first, data, Some(last));
    }

    #[inline]
    fn counter_mode(&self, first: &[u8; 16], data: &mut [u8], last: Option<&mut [u8; 16]>) {
        secret::ran("aes-128-ctr", self.arm());
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(token, Wide::Aes, schedule) => low::counter_mode_aes(*token, &schedule.0, first, data, last),
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(_, Wide::Vaes(token), schedule) => {
                low::counter_mode_vaes(*token, &schedule.0, first, data, last);
            }
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(_, Wide::Avx512(token), schedule) => {
                low::counter_mode_avx512(*token, &schedule.0, first, data, last);
            }
            Encrypt::Library(cipher) => library_counter_mode(cipher, first, data, last),
        }
    }

    fn block_arm(&self) -> &'static str {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(..) => "aes-ni",
            Encrypt::Library(_) => "library",
        }
    }

    /// The arm of counter mode: `avx512`, `vaes`, `aes-ni` (x86-64), or `library`, which is crate `aes`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(_, Wide::Aes, _) => "aes-ni",
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(_, Wide::Vaes(_), _) => "vaes",
            #[cfg(target_arch = "x86_64")]
            Encrypt::X86(_, Wide::Avx512(_), _) => "avx512",
            Encrypt::Library(_) => "library",
        }
    }
}

impl Aes128Decrypt {
    /// A key on the best arm of [`Cpu::default`].
    // ct: aes-128-decrypt/key
    #[must_use]
    pub fn new(key: &[u8; 16]) -> Self {
        Self::with_cpu(Cpu::default(), key)
    }

    /// A key on the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu, key: &[u8; 16]) -> Self {
        secret::takes("aes-128-decrypt/key", key);
        stack::clearing::<FRAMES, _>(|| {
            #[cfg(target_arch = "x86_64")]
            if let Some(token) = HaveClmul::check(cpu) {
                let mut this = Self(Decrypt::X86(token, Schedule([[0; 16]; 11])));
                this.set_key(key);
                return this;
            }
            let _ = cpu;
            Self(Decrypt::Library(library(key)))
        })
    }

    /// Replaces the key, on the same arm and in the same place.
    // ct: aes-128-decrypt/key
    #[inline]
    pub fn set_key(&mut self, key: &[u8; 16]) {
        match &mut self.0 {
            #[cfg(target_arch = "x86_64")]
            Decrypt::X86(token, schedule) => {
                low::expand(*token, key, &mut schedule.0);
                low::invert(*token, &mut schedule.0);
            }
            Decrypt::Library(cipher) => **cipher = ::aes::Aes128Dec::new(key.into()),
        }
    }

    /// Decrypts a block.
    #[inline]
    pub fn decrypt_block(&self, block: &mut [u8; 16]) {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Decrypt::X86(token, schedule) => {
                secret::ran("aes-128-decrypt", "aes-ni");
                low::decrypt(*token, &schedule.0, block);
            }
            Decrypt::Library(cipher) => {
                secret::ran("aes-128-decrypt", "library");
                cipher.decrypt_block(block.into());
            }
        }
    }
}

/// Stack that making a key takes, in bytes.
const FRAMES: usize = 1024;

/// A key of crate `aes`, which is made on the stack before it goes into its box.
fn library<C: KeyInit<KeySize = U16>>(key: &[u8; 16]) -> Box<C> {
    stack::clearing::<4096, _>(|| Box::new(C::new(key.into())))
}

/// Blocks that crate `aes` gets at once.
const BATCH: usize = 32;

fn library_counter_mode(cipher: &::aes::Aes128Enc, first: &[u8; 16], data: &mut [u8], mut last: Option<&mut [u8; 16]>) {
    // Whole blocks, since the CPU cannot forward a block that was stored in pieces to the load that encrypts it.
    let first = u128::from_be_bytes(*first);
    let (fixed, mut counter) = (first >> 32 << 32, first as u32);
    for data in data.chunks_mut(16 * BATCH) {
        let mut blocks: [Array<u8, _>; BATCH] = core::array::from_fn(|_| {
            let block = fixed | u128::from(counter);
            counter = counter.wrapping_add(1);
            block.to_be_bytes().into()
        });
        let blocks = &mut blocks[..data.len().div_ceil(16)];
        cipher.encrypt_blocks(blocks);
        let stream = Array::cast_slice_to_core(blocks);
        data.iter_mut().zip(stream.as_flattened()).for_each(|(byte, key)| *byte ^= key);
        if let Some(last) = &mut last {
            **last = stream[stream.len() - 1];
        }
        wipe(Array::cast_slice_to_core_mut(blocks).as_flattened_mut());
    }
}

stack::clone_clearing!(Aes128, FRAMES);
stack::clone_clearing!(Aes128Decrypt, FRAMES);

#[cfg(target_arch = "x86_64")]
impl Drop for Schedule {
    fn drop(&mut self) {
        wipe(self.0.as_flattened_mut());
    }
}

impl fmt::Debug for Aes128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes128(..)")
    }
}

impl fmt::Debug for Aes128Decrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes128Decrypt(..)")
    }
}
