//! SM4-GCM and SM4-CCM (RFC 8998 §2): SP 800-38D and SP 800-38C over SM4, with nonces of 96 bits and tags of 128.

use super::interface::{interface, names::*};
use super::matches;
use super::sm4_mux::{CcmKeys, FRAMES, GcmKeys};
use crate::stack;
use crate::wipe::wipe;

/// SM4-GCM (RFC 8998 §2.1). The key schedule and the powers of the hash key are wiped on drop.
///
/// ```
/// use candor_primitives::aead::Sm4Gcm;
///
/// let cipher = Sm4Gcm::new(&[7; 16]);
/// let mut data = *b"message";
/// let tag = cipher.seal_in_place(&[0; 12], b"header", &mut data)?;
/// cipher.open_in_place(&[0; 12], b"header", &mut data, &tag)?;
/// assert_eq!(&data, b"message");
/// # Ok::<(), candor_primitives::aead::AeadError>(())
/// ```
pub struct Sm4Gcm(GcmKeys);

/// SM4-CCM (RFC 8998 §2.2). Its authenticator takes one block after another, so it is many times slower than [`Sm4Gcm`]. The key schedule is
/// wiped on drop.
pub struct Sm4Ccm(CcmKeys);

macro_rules! sm4 {
    ($type:ident, $name:literal, $keys:ident, $routine:literal, longest message $message:expr, longest aad $aad:expr) => {
        stack::clone_clearing!($type, FRAMES);

        impl $type {
            /// A key on the best arm that `cpu` allows.
            // ct: aead/key
            #[must_use]
            pub fn with_cpu(cpu: Cpu, key: &[u8; 16]) -> Self {
                secret::takes("aead/key", key);
                Self($keys::new(cpu, key))
            }

            /// The arm that runs, as [`Sm4::arm`](crate::sm4::Sm4::arm) names it.
            #[must_use]
            pub fn arm(&self) -> &'static str {
                self.0.arm()
            }

            #[inline]
            fn seal_unchecked(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; TAG]) {
                secret::ran($routine, self.0.arm());
                self.0.run::<false>(nonce, aad, data, tag);
            }

            #[inline]
            fn open_unchecked(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> bool {
                secret::ran($routine, self.0.arm());
                let mut expected = [0; TAG];
                self.0.run::<true>(nonce, aad, data, &mut expected);
                let same = matches(&expected, tag, "aead/tag");
                wipe(&mut expected);
                same
            }
        }

        interface!($type, $name, key 16 U16, nonce 12 U12, longest message $message, longest aad $aad);
    };
}

sm4!(Sm4Gcm, "Sm4Gcm", GcmKeys, "sm4-gcm", longest message (1 << 36) - 32, longest aad (1 << 61) - 1);
// The length of the message has three bytes beside a nonce of twelve (SP 800-38C, A.1).
sm4!(Sm4Ccm, "Sm4Ccm", CcmKeys, "sm4-ccm", longest message (1 << 24) - 1, longest aad u64::MAX);
