//! Which arm of SM4-GCM and SM4-CCM runs: that of SM4, with the GHASH that goes with it.

use super::gcm_portable;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::{ghash::Powers, sm4 as low};
#[cfg(target_arch = "x86_64")]
use crate::sm4::mux::{Arm, on_arm};
use crate::sm4::{
    Sm4,
    mux::{Keys, portable_pair},
};
use crate::stack;
use candor_cpu::Cpu;
use polyval::Polyval;

/// Stack that making or copying a key or the portable arm takes, in bytes.
pub(super) const FRAMES: usize = 4096;

/// The keys of SM4 and GHASH. Both wipe themselves.
#[derive(Clone)]
pub(super) struct GcmKeys {
    cipher: Sm4,
    hash: Hash,
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // a box would put the powers on the heap
enum Hash {
    #[cfg(target_arch = "x86_64")]
    Powers(Powers),
    /// For crate `polyval`, which chooses its code itself.
    Library(Polyval),
}

impl GcmKeys {
    pub(super) fn new(cpu: Cpu, key: &[u8; 16]) -> Self {
        stack::clearing::<FRAMES, _>(|| {
            let cipher = Sm4::with_cpu(cpu, key);
            #[cfg(target_arch = "x86_64")]
            if let Keys::X86(..) = cipher.keys() {
                let mut this = Self { cipher, hash: Hash::Powers(Powers::none()) };
                if let (Keys::X86(arm, schedule), Hash::Powers(powers)) = (this.cipher.keys(), &mut this.hash) {
                    on_arm!(arm, gcm_prepare(&schedule.encrypt, powers));
                }
                return this;
            }
            let hash = Hash::Library(gcm_portable::hash_key(&cipher));
            Self { cipher, hash }
        })
    }

    pub(super) fn arm(&self) -> &'static str {
        self.cipher.arm()
    }

    /// Encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the ciphertext.
    #[inline]
    pub(super) fn run<const OPEN: bool>(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; 16]) {
        match (self.cipher.keys(), &self.hash) {
            #[cfg(target_arch = "x86_64")]
            (Keys::X86(arm, schedule), Hash::Powers(powers)) => {
                on_arm!(arm, gcm::<OPEN>(&schedule.encrypt, powers, nonce, aad, data, tag));
            }
            (_, Hash::Library(hash)) => stack::clearing::<FRAMES, _>(|| {
                gcm_portable::run::<_, OPEN>(&self.cipher, hash, nonce, aad, data, tag);
            }),
            #[cfg(target_arch = "x86_64")]
            (Keys::Portable(_), Hash::Powers(_)) => unreachable!("the two are made together"),
        }
    }
}

/// The key of SM4, for CCM.
#[derive(Clone)]
pub(super) struct CcmKeys(Sm4);

impl CcmKeys {
    pub(super) fn new(cpu: Cpu, key: &[u8; 16]) -> Self {
        // A key of SM4 is made on a clean stack, and moved into this one.
        stack::clearing::<FRAMES, _>(|| Self(Sm4::with_cpu(cpu, key)))
    }

    pub(super) fn arm(&self) -> &'static str {
        self.0.arm()
    }

    /// Encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the plaintext (SP 800-38C §6).
    #[inline]
    pub(super) fn run<const OPEN: bool>(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; 16]) {
        // Formatting as in appendix A.2: the flags say whether there is associated data, 16 bytes of tag, and 3 bytes of length.
        let block = |flags: u8, number: u32| {
            let mut block = [0; 16];
            block[0] = flags;
            block[1..13].copy_from_slice(nonce);
            block[13..].copy_from_slice(&number.to_be_bytes()[1..]);
            block
        };
        let flags = u8::from(!aad.is_empty()) << 6 | 7 << 3 | 2;
        let keys = self.0.keys();
        let mut mac = block(flags, data.len() as u32);
        keys.encrypt_block(&mut mac);
        self.authenticate(&mut mac, aad);
        match keys {
            #[cfg(target_arch = "x86_64")]
            Keys::X86(arm, schedule) => on_arm!(arm, ccm::<OPEN>(&schedule.encrypt, &block(2, 1), &mut mac, data)),
            Keys::Portable(keys) => {
                stack::clearing::<FRAMES, _>(|| portable_ccm::<OPEN>(keys, block(2, 1), &mut mac, data));
            }
        }
        *tag = block(2, 0);
        keys.encrypt_block(tag);
        tag.iter_mut().zip(mac).for_each(|(byte, mac)| *byte ^= mac);
        zeroize::Zeroize::zeroize(&mut mac);
    }

    /// The chain over the associated data, which its length precedes.
    fn authenticate(&self, mac: &mut [u8; 16], aad: &[u8]) {
        if aad.is_empty() {
            return;
        }
        let (head, length) = length_field(aad.len() as u64);
        let head = &head[..length];
        let mut first = [0; 16];
        let (with_head, aad) = aad.split_at(aad.len().min(16 - head.len()));
        first[..head.len()].copy_from_slice(head);
        first[head.len()..][..with_head.len()].copy_from_slice(with_head);
        self.chain(mac, &first);
        for bytes in aad.chunks(16) {
            let mut block = [0; 16];
            block[..bytes.len()].copy_from_slice(bytes);
            self.chain(mac, &block);
        }
    }

    fn chain(&self, mac: &mut [u8; 16], block: &[u8; 16]) {
        mac.iter_mut().zip(block).for_each(|(mac, byte)| *mac ^= byte);
        self.0.encrypt_block(mac);
    }
}

/// The length of associated data, in as many bytes of the field as are to be hashed (SP 800-38C, appendix A.2.2).
fn length_field(aad: u64) -> ([u8; 10], usize) {
    let mut field = [0; 10];
    let bytes = aad.to_be_bytes();
    let (mark, number): (&[u8], &[u8]) = match aad {
        0..0xff00 => (&[], &bytes[6..]),
        0xff00..=0xffff_ffff => (&[0xff, 0xfe], &bytes[4..]),
        _ => (&[0xff, 0xff], &bytes),
    };
    let length = mark.len() + number.len();
    field[..mark.len()].copy_from_slice(mark);
    field[mark.len()..length].copy_from_slice(number);
    (field, length)
}

/// As the kernels do it: each block of the chain takes a block of the key stream along, in decryption the next one.
fn portable_ccm<const OPEN: bool>(keys: &[u64; 32], mut counter: [u8; 16], mac: &mut [u8; 16], data: &mut [u8]) {
    let mut next = || {
        let now = counter;
        counter = (u128::from_be_bytes(counter) + 1).to_be_bytes();
        now
    };
    let mut key = [0; 16];
    if OPEN {
        key = next();
        portable_pair(keys, &mut key, &mut [0; 16]);
    }
    for data in data.chunks_mut(16) {
        if OPEN {
            data.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        }
        mac.iter_mut().zip(&*data).for_each(|(mac, byte)| *mac ^= byte);
        key = next();
        portable_pair(keys, &mut key, mac);
        if !OPEN {
            data.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of SP 800-38C, appendix A.2.2, from both sides, and the length of its example 4.
    #[test]
    fn associated_data_of_any_length_is_preceded_by_it() {
        let cases: [(u64, &[u8]); 7] = [
            (1, &[0, 1]),
            (0xfeff, &[0xfe, 0xff]),
            (0xff00, &[0xff, 0xfe, 0, 0, 0xff, 0]),
            (0x1_0000, &[0xff, 0xfe, 0, 1, 0, 0]),
            (0xffff_ffff, &[0xff, 0xfe, 0xff, 0xff, 0xff, 0xff]),
            (0x1_0000_0000, &[0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0xff; 10]),
        ];
        for (aad, expected) in cases {
            let (field, length) = length_field(aad);
            assert_eq!(&field[..length], expected, "{aad} bytes");
        }
    }
}
