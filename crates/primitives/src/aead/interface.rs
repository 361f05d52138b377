//! What all AEAD types have alike: the methods on arrays and slices, and the traits of crate `aead`.

/// Adds the public methods and traits to a type that has `seal_unchecked` and `open_unchecked`.
macro_rules! interface {
    (
        $type:ident, $name:literal, key $key:literal $KeySize:ident, nonce $nonce:literal $NonceSize:ident,
        longest message $message:expr, longest aad $aad:expr
    ) => {
        impl $type {
            /// The longest message, in bytes.
            pub const LONGEST_MESSAGE: u64 = $message;
            /// The longest associated data, in bytes.
            pub const LONGEST_ASSOCIATED_DATA: u64 = $aad;

            /// A key on the best arm of [`Cpu::default`].
            // ct: aead/key
            #[must_use]
            pub fn new(key: &[u8; $key]) -> Self {
                Self::with_cpu(Cpu::default(), key)
            }

            /// Encrypts `data` in place and returns the tag, which authenticates `aad` too. **Never use a nonce twice under one key.**
            ///
            /// # Errors
            /// If the message or the associated data is too long; nothing was done then.
            // ct: aead/seal
            #[inline]
            pub fn seal_in_place(
                &self,
                nonce: &[u8; $nonce],
                aad: &[u8],
                data: &mut [u8],
            ) -> Result<[u8; TAG], AeadError> {
                Self::check_lengths(aad.len() as u64, data.len() as u64)?;
                secret::takes("aead/seal", &*data);
                let mut tag = [0; TAG];
                self.seal_unchecked(nonce, aad, data, &mut tag);
                Ok(tag)
            }

            /// Decrypts `data` in place, if `tag` belongs to it, `aad` and `nonce`.
            ///
            /// # Errors
            /// If the tag is wrong: `data` is all zeros then. If the message or the associated data is too long: nothing was done then.
            // ct: aead/open
            #[inline]
            pub fn open_in_place(
                &self,
                nonce: &[u8; $nonce],
                aad: &[u8],
                data: &mut [u8],
                tag: &[u8; TAG],
            ) -> Result<(), AeadError> {
                Self::check_lengths(aad.len() as u64, data.len() as u64)?;
                secret::takes("aead/open", &*data);
                if self.open_unchecked(nonce, aad, data, tag) {
                    return Ok(());
                }
                $crate::wipe::wipe(data);
                Err(AeadError::Tag)
            }

            #[inline]
            pub(super) fn check_lengths(aad: u64, message: u64) -> Result<(), AeadError> {
                let (most, most_aad) = (Self::LONGEST_MESSAGE, Self::LONGEST_ASSOCIATED_DATA);
                match () {
                    () if message > most => Err(AeadError::MessageTooLong { most }),
                    () if aad > most_aad => Err(AeadError::AssociatedDataTooLong { most: most_aad }),
                    () => Ok(()),
                }
            }
        }

        impl KeySizeUser for $type {
            type KeySize = $KeySize;
        }

        impl KeyInit for $type {
            fn new(key: &Key<Self>) -> Self {
                Self::with_cpu(Cpu::default(), key.as_ref())
            }
        }

        impl AeadCore for $type {
            type NonceSize = $NonceSize;
            type TagSize = U16;
            const TAG_POSITION: TagPosition = TagPosition::Postfix;
        }

        impl AeadInOut for $type {
            #[inline]
            fn encrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                aad: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
            ) -> ::aead::Result<Tag<Self>> {
                // Before the plaintext is copied to where its ciphertext is expected.
                Self::check_lengths(aad.len() as u64, buffer.len() as u64).map_err(|_| ::aead::Error)?;
                let data = buffer.into_out_with_copied_in();
                self.seal_in_place(nonce.as_ref(), aad, data).map(Tag::<Self>::from).map_err(|_| ::aead::Error)
            }

            #[inline]
            fn decrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                aad: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
                tag: &Tag<Self>,
            ) -> ::aead::Result<()> {
                // As above: nothing is done with a message that is too long.
                Self::check_lengths(aad.len() as u64, buffer.len() as u64).map_err(|_| ::aead::Error)?;
                let data = buffer.into_out_with_copied_in();
                self.open_in_place(nonce.as_ref(), aad, data, tag.as_ref()).map_err(|_| ::aead::Error)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($name, "(..)"))
            }
        }

        impl ZeroizeOnDrop for $type {}
    };
}

pub(super) use interface;

/// Everything that the expansion of [`interface`] names.
pub(super) mod names {
    pub(in crate::aead) use super::super::{AeadError, TAG};
    pub(in crate::aead) use ::aead::consts::{U12, U16, U24, U32};
    pub(in crate::aead) use ::aead::inout::InOutBuf;
    pub(in crate::aead) use ::aead::{AeadCore, AeadInOut, Key, KeyInit, KeySizeUser, Nonce, Tag, TagPosition};
    pub(in crate::aead) use candor_cpu::{Cpu, secret};
    pub(in crate::aead) use core::fmt;
    pub(in crate::aead) use zeroize::ZeroizeOnDrop;
}
