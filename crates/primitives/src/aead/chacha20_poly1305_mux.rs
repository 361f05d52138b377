//! Which arm of ChaCha20-Poly1305 runs.

use super::chacha20_portable::{self as portable, Key};
use super::poly1305_portable::Poly1305;
use candor_cpu::Cpu;
use candor_cpu::arms::Routine;
use zeroize::Zeroize;

/// One way to seal and open. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// Safe Rust.
    Portable,
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        let _ = cpu.for_routine(Routine::ChaCha20Poly1305);
        Self::Portable
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
        }
    }

    /// Encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the ciphertext.
    #[inline]
    pub(super) fn run<const OPEN: bool>(
        self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8; 16],
    ) {
        match self {
            Self::Portable => run_portable::<OPEN>(key, nonce, aad, data, tag),
        }
    }
}

fn run_portable<const OPEN: bool>(key: &Key, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; 16]) {
    let mut first = [0; 64];
    portable::block(key, 0, nonce, &mut first);
    let mut hash = Poly1305::new(first.first_chunk().expect("64 bytes have a first 32"));
    first.zeroize();
    hash.padded(aad);
    if OPEN {
        hash.padded(data);
    }
    portable::apply(key, 1, nonce, data);
    if !OPEN {
        hash.padded(data);
    }
    let lengths = (data.len() as u128) << 64 | aad.len() as u128;
    hash.blocks(&[lengths.to_le_bytes()]);
    hash.finish(tag);
}
