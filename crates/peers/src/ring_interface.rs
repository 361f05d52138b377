//! Subjects over ring's interface, which AWS-LC's Rust wrapper has as well: the same calls on another library.

#![cfg(any(feature = "peer-aws-lc", feature = "peer-ring"))]

/// SHA-2, AEADs, HMAC and HKDF of the crate `$library`. The caller has `PACKAGE` and `provenance(timed: &str) -> Provenance` in scope.
macro_rules! ring_interface {
    ($library:ident) => {
        /// A hash of the library's.
        struct LibraryHash(&'static $library::digest::Algorithm);

        impl hash::Hash for LibraryHash {
            type Digest = $library::digest::Digest;

            fn digest(&mut self, message: &[u8]) -> Self::Digest {
                $library::digest::digest(self.0, message)
            }

            fn provenance(&self, timed: &str) -> Provenance {
                provenance(timed)
            }
        }

        pub(super) fn aead(algorithm: aead::Algorithm, op: aead::Op, bytes: usize) -> Entry {
            match library_aead(algorithm) {
                Some(LibraryAead { cipher, .. }) => {
                    let make = move || Ok(LibraryAead { cipher, key: None });
                    aead::entry(linked::subject(PACKAGE), algorithm, op, bytes, make)
                }
                None => has_no(algorithm.title()),
            }
        }

        /// The AEAD by itself, if the library has it.
        pub(super) fn aeads(algorithm: aead::Algorithm) -> Vec<(String, Box<dyn aead::Aead>)> {
            let named = |aead| (linked::subject(PACKAGE), Box::new(aead) as Box<dyn aead::Aead>);
            library_aead(algorithm).map(named).into_iter().collect()
        }

        /// The AEAD without a key, if the library has it.
        fn library_aead(algorithm: aead::Algorithm) -> Option<LibraryAead> {
            let cipher = match algorithm {
                aead::Algorithm::Aes128Gcm => &$library::aead::AES_128_GCM,
                aead::Algorithm::Aes256Gcm => &$library::aead::AES_256_GCM,
                aead::Algorithm::ChaCha20Poly1305 => &$library::aead::CHACHA20_POLY1305,
                _ => return None,
            };
            Some(LibraryAead { cipher, key: None })
        }

        struct LibraryAead {
            cipher: &'static $library::aead::Algorithm,
            key: Option<$library::aead::LessSafeKey>,
        }

        impl LibraryAead {
            fn key(&self) -> &$library::aead::LessSafeKey {
                self.key.as_ref().expect("the key is set before the first message")
            }
        }

        impl aead::Aead for LibraryAead {
            fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
                let key = $library::aead::UnboundKey::new(self.cipher, key);
                self.key = Some($library::aead::LessSafeKey::new(key.map_err(|_| Refusal::failed("refuses the key"))?));
                Ok(())
            }

            fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
                let nonce = $library::aead::Nonce::try_assume_unique_for_key(nonce).expect("a nonce of 12 bytes");
                let (data, tag) = data.split_last_chunk_mut::<{ aead::TAG }>().expect("room for a tag");
                let sealed = self.key().seal_in_place_separate_tag(nonce, $library::aead::Aad::from(aad), data);
                tag.copy_from_slice(sealed.expect("sealing has worked before").as_ref());
            }

            fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
                let nonce = $library::aead::Nonce::try_assume_unique_for_key(nonce).expect("a nonce of 12 bytes");
                self.key().open_in_place(nonce, $library::aead::Aad::from(aad), data).is_ok()
            }

            fn provenance(&self, op: aead::Op) -> Provenance {
                provenance(&format!("{} (LessSafeKey)", op.timed()))
            }
        }

        pub(super) fn hmac(algorithm: Algorithm, bytes: usize) -> Entry {
            let algorithm = match algorithm {
                Algorithm::Sha256 => $library::hmac::HMAC_SHA256,
                Algorithm::Sha512 => $library::hmac::HMAC_SHA512,
                other => return has_no(&format!("HMAC over {}", other.title())),
            };
            mac::entry(linked::subject(PACKAGE), bytes, move || Ok(LibraryHmac { algorithm, key: None }))
        }

        struct LibraryHmac {
            algorithm: $library::hmac::Algorithm,
            key: Option<$library::hmac::Key>,
        }

        impl mac::Hmac for LibraryHmac {
            type Tag = $library::hmac::Tag;

            fn set_key(&mut self, key: &[u8; 32]) -> Result<(), Refusal> {
                self.key = Some($library::hmac::Key::new(self.algorithm, key));
                Ok(())
            }

            fn tag(&mut self, message: &[u8]) -> Self::Tag {
                let key = self.key.as_ref().expect("the key is set before the first message");
                $library::hmac::sign(key, message)
            }

            fn provenance(&self, timed: &str) -> Provenance {
                provenance(timed)
            }
        }

        pub(super) fn hkdf() -> Entry {
            kdf::entry(linked::subject(PACKAGE), || Ok(LibraryHkdf))
        }

        struct LibraryHkdf;

        /// The length that keys are derived in.
        struct Bytes64;

        impl $library::hkdf::KeyType for Bytes64 {
            fn len(&self) -> usize {
                64
            }
        }

        impl kdf::Hkdf for LibraryHkdf {
            fn derive(&mut self, input: &kdf::Input) -> [u8; 64] {
                let mut keys = [0; 64];
                let salt = $library::hkdf::Salt::new($library::hkdf::HKDF_SHA256, &input.salt);
                let extracted = salt.extract(&input.secret);
                let filled = extracted.expand(&[&input.info], Bytes64).and_then(|okm| okm.fill(&mut keys));
                filled.expect("64 bytes are not too many");
                keys
            }

            fn provenance(&self, timed: &str) -> Provenance {
                provenance(timed)
            }
        }

        fn has_no(what: &str) -> Entry {
            Entry::refused(linked::subject(PACKAGE), Refusal::never(format!("has no {what}")))
        }
    };
}

pub(super) use ring_interface;
