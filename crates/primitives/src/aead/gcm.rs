//! AES-GCM (SP 800-38D), with nonces of 96 bits.

use super::gcm_mux::{FRAMES, Keys};
use super::interface::{interface, names::*};
use super::matches;
use crate::stack;
use crate::wipe::wipe;

/// AES-128-GCM. The key schedule and the powers of the hash key are wiped on drop.
///
/// ```
/// use candor_primitives::aead::Aes128Gcm;
///
/// let cipher = Aes128Gcm::new(&[7; 16]);
/// let mut data = *b"message";
/// let tag = cipher.seal_in_place(&[0; 12], b"header", &mut data)?;
/// cipher.open_in_place(&[0; 12], b"header", &mut data, &tag)?;
/// assert_eq!(&data, b"message");
/// # Ok::<(), candor_primitives::aead::AeadError>(())
/// ```
pub struct Aes128Gcm(Keys<::aes::Aes128Enc, 11>);

/// AES-256-GCM. The key schedule and the powers of the hash key are wiped on drop.
///
/// ```
/// use candor_primitives::aead::{AeadInOut, Aes256Gcm, KeyInit};
///
/// let cipher = Aes256Gcm::new(&[7; 32]);
/// let mut data = b"message".to_vec();
/// cipher.encrypt_in_place(&[0; 12].into(), b"header", &mut data)?;
/// assert_eq!(data.len(), 7 + 16);
/// cipher.decrypt_in_place(&[0; 12].into(), b"header", &mut data)?;
/// assert_eq!(data, b"message");
/// # Ok::<(), aead::Error>(())
/// ```
pub struct Aes256Gcm(Keys<::aes::Aes256Enc, 15>);

macro_rules! gcm {
    ($type:ident, $name:literal, $key:literal, $KeySize:ident, $keys:ident) => {
        stack::clone_clearing!($type, FRAMES);

        impl $type {
            /// A key on the best arm that `cpu` allows.
            // ct: aead/key
            #[must_use]
            pub fn with_cpu(cpu: Cpu, key: &[u8; $key]) -> Self {
                secret::takes("aead/key", key);
                // The compiler may make the value elsewhere and move it.
                stack::clearing::<FRAMES, _>(|| Self(Keys::$keys(cpu, key)))
            }

            /// The arm that runs: `avx512`, `vaes`, `aes-ni` (x86-64), or `library`, which is the crates `aes` and `polyval`.
            #[must_use]
            pub fn arm(&self) -> &'static str {
                self.0.arm()
            }

            #[inline]
            fn seal_unchecked(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; TAG]) {
                secret::ran("aes-gcm", self.0.arm());
                self.0.run::<false>(nonce, aad, data, tag);
            }

            #[inline]
            fn open_unchecked(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> bool {
                secret::ran("aes-gcm", self.0.arm());
                let mut expected = [0; TAG];
                self.0.run::<true>(nonce, aad, data, &mut expected);
                let same = matches(&expected, tag, "aead/tag");
                wipe(&mut expected);
                same
            }
        }

        interface!(
            $type, $name, key $key $KeySize, nonce 12 U12,
            longest message (1 << 36) - 32, longest aad (1 << 61) - 1
        );
    };
}

gcm!(Aes128Gcm, "Aes128Gcm", 16, U16, aes_128);
gcm!(Aes256Gcm, "Aes256Gcm", 32, U32, aes_256);
