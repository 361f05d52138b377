//! Which arm of SM4 runs, and the round keys in its form.

use super::portable::{self, MANY};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::sm4 as low;
use crate::stack;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, secret};
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx2, HaveAvx512Crypto, HaveClmul, HaveGfni, HaveVpclmul};
use zeroize::Zeroize;

/// A key in the form that its arm wants. Wiped on drop.
#[derive(Clone)]
pub(crate) enum Keys {
    #[cfg(target_arch = "x86_64")]
    X86(Arm, Schedule),
    Portable(portable::RoundKeys),
}

/// A way to compute it on x86-64. The tokens prove that the CPU has the instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) enum Arm {
    /// AESENCLAST on 128 bits.
    AesNi(HaveClmul),
    /// The same on both halves of 256 bits.
    Avx2(HaveClmul, HaveAvx2),
    /// On 256 bits.
    Vaes(HaveVpclmul),
    /// GFNI on 256 bits.
    Gfni(HaveVpclmul, HaveGfni),
    /// GFNI on 512 bits.
    Avx512(HaveAvx512Crypto, HaveGfni),
}

/// The round keys, forwards and backwards.
#[cfg(target_arch = "x86_64")]
#[derive(Clone)]
pub(crate) struct Schedule {
    pub(crate) encrypt: low::RoundKeys,
    decrypt: low::RoundKeys,
}

#[cfg(target_arch = "x86_64")]
impl Arm {
    fn choose(cpu: Cpu) -> Option<Self> {
        if let Some(vaes) = HaveVpclmul::check(cpu) {
            return Some(match (HaveGfni::check(cpu), HaveAvx512Crypto::check(cpu)) {
                (Some(gfni), Some(wide)) => Self::Avx512(wide, gfni),
                (Some(gfni), None) => Self::Gfni(vaes, gfni),
                (None, _) => Self::Vaes(vaes),
            });
        }
        let aes = HaveClmul::check(cpu)?;
        Some(HaveAvx2::check(cpu).map_or(Self::AesNi(aes), |avx2| Self::Avx2(aes, avx2)))
    }

    fn name(self) -> &'static str {
        match self {
            Self::AesNi(_) => "aes-ni",
            Self::Avx2(..) => "avx2",
            Self::Vaes(_) => "vaes",
            Self::Gfni(..) => "gfni",
            Self::Avx512(..) => "avx512",
        }
    }
}

/// Calls a kernel of an arm.
#[cfg(target_arch = "x86_64")]
macro_rules! on_arm {
    ($arm:expr, $kernel:ident $(::<$open:ident>)? ($($argument:expr),*)) => {
        match *$arm {
            Arm::AesNi(aes) => low::aes_ni::$kernel$(::<$open>)?((aes,), $($argument),*),
            Arm::Avx2(aes, avx2) => low::avx2::$kernel$(::<$open>)?((aes, avx2), $($argument),*),
            Arm::Vaes(vaes) => low::vaes::$kernel$(::<$open>)?((vaes,), $($argument),*),
            Arm::Gfni(vaes, gfni) => low::gfni::$kernel$(::<$open>)?((vaes, gfni), $($argument),*),
            Arm::Avx512(wide, gfni) => low::avx512::$kernel$(::<$open>)?((wide, gfni), $($argument),*),
        }
    };
}

#[cfg(all(target_arch = "x86_64", feature = "aead"))]
pub(crate) use on_arm;

impl Keys {
    pub(super) fn new(cpu: Cpu, key: &[u8; 16]) -> Self {
        let cpu = cpu.for_routine(Routine::Sm4);
        #[cfg(target_arch = "x86_64")]
        if let Some(arm) = Arm::choose(cpu) {
            let mut this = Self::X86(arm, Schedule { encrypt: [0; 32], decrypt: [0; 32] });
            if let Self::X86(_, schedule) = &mut this {
                on_arm!(&arm, expand(key, &mut schedule.encrypt));
                schedule.decrypt = schedule.encrypt;
                schedule.decrypt.reverse();
            }
            return this;
        }
        let _ = cpu;
        let mut this = Self::Portable([0; 32]);
        match &mut this {
            #[cfg(target_arch = "x86_64")]
            Self::X86(..) => {}
            Self::Portable(keys) => portable::expand(key, keys),
        }
        this
    }

    pub(crate) fn arm(&self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, _) => arm.name(),
            Self::Portable(_) => "portable",
        }
    }

    #[inline]
    pub(crate) fn encrypt_block(&self, block: &mut [u8; 16]) {
        secret::ran("sm4", self.arm());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, schedule) => on_arm!(arm, block(&schedule.encrypt, block)),
            Self::Portable(keys) => few(keys.iter(), core::slice::from_mut(block)),
        }
    }

    #[inline]
    pub(super) fn decrypt_block(&self, block: &mut [u8; 16]) {
        secret::ran("sm4", self.arm());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, schedule) => on_arm!(arm, block(&schedule.decrypt, block)),
            Self::Portable(keys) => few(keys.iter().rev(), core::slice::from_mut(block)),
        }
    }

    #[inline]
    pub(super) fn encrypt_each(&self, blocks: &mut [[u8; 16]]) {
        secret::ran("sm4", self.arm());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, schedule) => on_arm!(arm, blocks(&schedule.encrypt, blocks)),
            Self::Portable(keys) => blocks.chunks_mut(MANY).for_each(|blocks| few(keys.iter(), blocks)),
        }
    }

    #[inline]
    pub(super) fn decrypt_each(&self, blocks: &mut [[u8; 16]]) {
        secret::ran("sm4", self.arm());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, schedule) => on_arm!(arm, blocks(&schedule.decrypt, blocks)),
            Self::Portable(keys) => blocks.chunks_mut(MANY).for_each(|blocks| few(keys.iter().rev(), blocks)),
        }
    }

    /// XORs the key stream that begins with counter block `first` into `data`, and writes the stream's last block to `last`. The counter is
    /// the last four bytes, big-endian, modulo 2^32. If `data` is empty, the last block means nothing.
    #[inline]
    pub(crate) fn counter_mode(&self, first: &[u8; 16], data: &mut [u8], last: Option<&mut [u8; 16]>) {
        secret::ran("sm4-ctr", self.arm());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, schedule) => on_arm!(arm, counter_mode(&schedule.encrypt, first, data, last)),
            Self::Portable(keys) => stack::clearing::<FRAMES, _>(|| portable_counter_mode(keys, first, data, last)),
        }
    }

    /// Encrypts the blocks in a chain; `chain` is the block before them, and then the last of them.
    #[inline]
    pub(crate) fn cbc_encrypt(&self, chain: &mut [u8; 16], blocks: &mut [[u8; 16]]) {
        secret::ran("sm4-cbc", self.arm());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, schedule) => on_arm!(arm, cbc_encrypt(&schedule.encrypt, chain, blocks)),
            Self::Portable(keys) => {
                for block in blocks {
                    block.iter_mut().zip(&*chain).for_each(|(byte, before)| *byte ^= before);
                    few(keys.iter(), core::slice::from_mut(block));
                    *chain = *block;
                }
            }
        }
    }

    /// The reverse; `chain` is the ciphertext block before them, and then the last of them.
    #[inline]
    pub(crate) fn cbc_decrypt(&self, chain: &mut [u8; 16], blocks: &mut [[u8; 16]]) {
        secret::ran("sm4-cbc", self.arm());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(arm, schedule) => on_arm!(arm, cbc_decrypt(&schedule.decrypt, chain, blocks)),
            Self::Portable(keys) => {
                for blocks in blocks.chunks_mut(MANY) {
                    let mut before = [*chain; MANY];
                    before[1..blocks.len()].copy_from_slice(&blocks[..blocks.len() - 1]);
                    *chain = blocks[blocks.len() - 1];
                    few(keys.iter().rev(), blocks);
                    let pairs = blocks.as_flattened_mut().iter_mut().zip(before.as_flattened());
                    pairs.for_each(|(byte, before)| *byte ^= before);
                }
            }
        }
    }
}

/// Stack that the portable arm takes, in bytes.
const FRAMES: usize = 2048;

/// Up to [`MANY`] blocks on the portable arm.
fn few<'k>(keys: impl Iterator<Item = &'k u64>, blocks: &mut [[u8; 16]]) {
    stack::clearing::<FRAMES, _>(|| {
        let mut room = [[0; 16]; MANY];
        room[..blocks.len()].copy_from_slice(blocks);
        portable::crypt(keys, &mut room);
        blocks.copy_from_slice(&room[..blocks.len()]);
    });
}

/// Two blocks on the portable arm.
#[cfg(feature = "aead")]
pub(crate) fn portable_pair(keys: &portable::RoundKeys, a: &mut [u8; 16], b: &mut [u8; 16]) {
    let mut room = [[0; 16]; MANY];
    (room[0], room[1]) = (*a, *b);
    portable::crypt(keys.iter(), &mut room);
    (*a, *b) = (room[0], room[1]);
}

fn portable_counter_mode(
    keys: &portable::RoundKeys,
    first: &[u8; 16],
    data: &mut [u8],
    mut last: Option<&mut [u8; 16]>,
) {
    let mut count = u32::from_be_bytes([first[12], first[13], first[14], first[15]]);
    for data in data.chunks_mut(16 * MANY) {
        let mut blocks = [*first; MANY];
        for block in &mut blocks {
            block[12..].copy_from_slice(&count.to_be_bytes());
            count = count.wrapping_add(1);
        }
        portable::crypt(keys.iter(), &mut blocks);
        data.iter_mut().zip(blocks.as_flattened()).for_each(|(byte, key)| *byte ^= key);
        if let Some(last) = &mut last {
            **last = blocks[data.len().div_ceil(16) - 1];
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::X86(_, schedule) => {
                schedule.encrypt.zeroize();
                schedule.decrypt.zeroize();
            }
            Self::Portable(keys) => keys.zeroize(),
        }
    }
}
