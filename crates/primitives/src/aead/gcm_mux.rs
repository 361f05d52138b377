//! Which arm of AES-GCM runs.

use super::gcm_portable;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::{aes as low, ghash::Powers};
use crate::stack;
use ::aes::cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit, consts::U16};
use candor_cpu::Cpu;
use candor_cpu::arms::Routine;
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use polyval::Polyval;
#[cfg(target_arch = "x86_64")]
use zeroize::Zeroize;

/// The keys of AES and GHASH in the form that an arm wants; `N` round keys, or the cipher `C` of crate `aes`.
#[derive(Clone)]
pub(super) enum Keys<C, const N: usize> {
    /// x86-64: AES-NI and PCLMULQDQ.
    #[cfg(target_arch = "x86_64")]
    Aes(HaveClmul, Schedule<N>),
    /// x86-64: VAES and VPCLMULQDQ, two blocks at a time.
    #[cfg(target_arch = "x86_64")]
    Vaes(HaveVpclmul, Schedule<N>),
    /// x86-64: four blocks at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512(HaveAvx512Crypto, Schedule<N>),
    /// The crates `aes` and `polyval`, which choose their code themselves.
    Library(C, Polyval),
}

/// Round keys, wiped on drop, and powers, which wipe themselves.
#[cfg(target_arch = "x86_64")]
#[derive(Clone)]
pub(super) struct Schedule<const N: usize> {
    round: [[u8; 16]; N],
    powers: Powers,
}

/// Stack that making or copying a key takes, in bytes.
pub(super) const FRAMES: usize = 3072;

/// Stack that the crates `aes` and `polyval` take, in bytes.
const LIBRARY_FRAMES: usize = 8192;

macro_rules! keys {
    ($name:ident, $cipher:ty, $count:literal, $key:literal, $expand:ident) => {
        impl Keys<$cipher, $count> {
            pub(super) fn $name(cpu: Cpu, key: &[u8; $key]) -> Self {
                let cpu = cpu.for_routine(Routine::AesGcm);
                #[cfg(target_arch = "x86_64")]
                if let Some(token) = HaveClmul::check(cpu) {
                    let schedule = Schedule { round: [[0; 16]; $count], powers: Powers::none() };
                    let mut this = if let Some(token) = HaveAvx512Crypto::check(cpu) {
                        Self::Avx512(token, schedule)
                    } else if let Some(token) = HaveVpclmul::check(cpu) {
                        Self::Vaes(token, schedule)
                    } else {
                        Self::Aes(token, schedule)
                    };
                    match &mut this {
                        Self::Aes(_, schedule) | Self::Vaes(_, schedule) | Self::Avx512(_, schedule) => {
                            low::$expand(token, key, &mut schedule.round);
                        }
                        Self::Library(..) => {}
                    }
                    this.prepare();
                    return this;
                }
                let _ = cpu;
                stack::clearing::<LIBRARY_FRAMES, _>(|| {
                    let cipher = <$cipher>::new(key.into());
                    let hash = gcm_portable::hash_key(&cipher);
                    Self::Library(cipher, hash)
                })
            }
        }
    };
}

keys!(aes_128, ::aes::Aes128Enc, 11, 16, expand);
keys!(aes_256, ::aes::Aes256Enc, 15, 32, expand_256);

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>, const N: usize> Keys<C, N> {
    #[cfg(target_arch = "x86_64")]
    fn prepare(&mut self) {
        match self {
            Self::Aes(token, schedule) => low::gcm_prepare_aes(*token, &schedule.round, &mut schedule.powers),
            Self::Vaes(token, schedule) => low::gcm_prepare_vaes(*token, &schedule.round, &mut schedule.powers),
            Self::Avx512(token, schedule) => low::gcm_prepare_avx512(*token, &schedule.round, &mut schedule.powers),
            Self::Library(..) => {}
        }
    }

    pub(super) fn arm(&self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Aes(..) => "aes-ni",
            #[cfg(target_arch = "x86_64")]
            Self::Vaes(..) => "vaes",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(..) => "avx512",
            Self::Library(..) => "library",
        }
    }

    /// Encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the ciphertext.
    #[inline]
    pub(super) fn run<const OPEN: bool>(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; 16]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Aes(token, Schedule { round, powers }) => {
                low::gcm_aes::<N, OPEN>(*token, round, powers, nonce, aad, data, tag);
            }
            #[cfg(target_arch = "x86_64")]
            Self::Vaes(token, Schedule { round, powers }) => {
                low::gcm_vaes::<N, OPEN>(*token, round, powers, nonce, aad, data, tag);
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token, Schedule { round, powers }) => {
                low::gcm_avx512::<N, OPEN>(*token, round, powers, nonce, aad, data, tag);
            }
            Self::Library(cipher, hash) => {
                stack::clearing::<LIBRARY_FRAMES, _>(|| {
                    gcm_portable::run::<_, OPEN>(cipher, hash, nonce, aad, data, tag)
                });
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl<const N: usize> Drop for Schedule<N> {
    fn drop(&mut self) {
        self.round.zeroize();
    }
}
