//! ChaCha20-Poly1305 (RFC 8439 §2.8), and XChaCha20-Poly1305 with nonces of 192 bits (draft-irtf-cfrg-xchacha-03 §2).

use super::chacha20_poly1305_mux::Arm;
use super::chacha20_portable::{Key as Words, derive};
use super::interface::{interface, names::*};
use super::matches;
use crate::stack;
use crate::wipe::wipe;

/// ChaCha20-Poly1305. The key is wiped on drop.
///
/// ```
/// use candor_primitives::aead::ChaCha20Poly1305;
///
/// let cipher = ChaCha20Poly1305::new(&[7; 32]);
/// let mut data = *b"message";
/// let tag = cipher.seal_in_place(&[0; 12], b"header", &mut data)?;
/// cipher.open_in_place(&[0; 12], b"header", &mut data, &tag)?;
/// assert_eq!(&data, b"message");
/// # Ok::<(), candor_primitives::aead::AeadError>(())
/// ```
#[derive(Clone)]
pub struct ChaCha20Poly1305 {
    arm: Arm,
    key: Words,
}

/// XChaCha20-Poly1305: ChaCha20-Poly1305 under a key that the first 16 bytes of the nonce derive. Its nonces are long enough to be random.
/// The key is wiped on drop.
///
/// ```
/// use candor_primitives::aead::XChaCha20Poly1305;
///
/// let cipher = XChaCha20Poly1305::new(&[7; 32]);
/// let mut data = *b"message";
/// let tag = cipher.seal_in_place(&[0; 24], b"header", &mut data)?;
/// cipher.open_in_place(&[0; 24], b"header", &mut data, &tag)?;
/// assert_eq!(&data, b"message");
/// # Ok::<(), candor_primitives::aead::AeadError>(())
/// ```
#[derive(Clone)]
pub struct XChaCha20Poly1305(ChaCha20Poly1305);

/// Stack that deriving a key takes, in bytes.
const FRAMES: usize = 512;

impl ChaCha20Poly1305 {
    /// A key on the best arm that `cpu` allows.
    // ct: aead/key
    #[must_use]
    pub fn with_cpu(cpu: Cpu, key: &[u8; 32]) -> Self {
        secret::takes("aead/key", key);
        Self { arm: Arm::choose(cpu), key: Words::new(key) }
    }

    /// The arm that runs: `avx512`, `avx2` (x86-64), or `portable`. On `avx512` a message of up to 64 bytes goes through the code of `avx2`,
    /// which is faster there.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.arm.name()
    }

    #[inline]
    fn seal_unchecked(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; TAG]) {
        let arm = self.arm.for_message(data.len());
        secret::ran("chacha20-poly1305", arm.name());
        arm.run::<false>(&self.key, nonce, aad, data, tag);
    }

    #[inline]
    fn open_unchecked(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> bool {
        let arm = self.arm.for_message(data.len());
        secret::ran("chacha20-poly1305", arm.name());
        let mut expected = [0; TAG];
        arm.run::<true>(&self.key, nonce, aad, data, &mut expected);
        let same = matches(&expected, tag, "aead/tag");
        wipe(&mut expected);
        same
    }
}

impl XChaCha20Poly1305 {
    /// A key on the best arm that `cpu` allows.
    // ct: aead/key
    #[must_use]
    pub fn with_cpu(cpu: Cpu, key: &[u8; 32]) -> Self {
        Self(ChaCha20Poly1305::with_cpu(cpu, key))
    }

    /// The arm that runs, as [`ChaCha20Poly1305::arm`] names it.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.0.arm()
    }

    /// The cipher and the nonce for one message.
    #[inline]
    fn derived(&self, nonce: &[u8; 24]) -> (ChaCha20Poly1305, [u8; 12]) {
        let (first, last) = nonce.split_first_chunk::<16>().expect("24 bytes have a first 16");
        let mut rest = [0; 12];
        rest[4..].copy_from_slice(last);
        (ChaCha20Poly1305 { arm: self.0.arm, key: derive(&self.0.key, first) }, rest)
    }

    #[inline]
    fn seal_unchecked(&self, nonce: &[u8; 24], aad: &[u8], data: &mut [u8], tag: &mut [u8; TAG]) {
        stack::clearing::<FRAMES, _>(|| {
            let (cipher, nonce) = self.derived(nonce);
            cipher.seal_unchecked(&nonce, aad, data, tag);
        });
    }

    #[inline]
    fn open_unchecked(&self, nonce: &[u8; 24], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> bool {
        stack::clearing::<FRAMES, _>(|| {
            let (cipher, nonce) = self.derived(nonce);
            cipher.open_unchecked(&nonce, aad, data, tag)
        })
    }
}

interface!(
    ChaCha20Poly1305, "ChaCha20Poly1305", key 32 U32, nonce 12 U12,
    longest message (1 << 38) - 64, longest aad u64::MAX
);
interface!(
    XChaCha20Poly1305, "XChaCha20Poly1305", key 32 U32, nonce 24 U24,
    longest message (1 << 38) - 64, longest aad u64::MAX
);
