//! RustCrypto's AEADs: `aes-gcm` and `chacha20poly1305`.

#![cfg(feature = "peer-rustcrypto-aead")]

use crate::contract::aead::{self, Aead, Algorithm, Op, TAG};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use aes_gcm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use candor_lab::{Entry, Provenance, Refusal};

/// What rustcrypto_aead offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![
            linked_peer("aes-gcm", "AES-GCM by RustCrypto, Rust with the CPU's AES and carry-less multiplication"),
            linked_peer("ccm", "CCM by RustCrypto, over its `sm4`"),
            linked_peer("chacha20poly1305", "ChaCha20-Poly1305 by RustCrypto, Rust with AVX2"),
        ]
    }

    fn aead(&self, algorithm: Algorithm, op: Op, bytes: usize) -> Vec<Entry> {
        vec![match algorithm {
            Algorithm::Aes128Gcm => of::<aes_gcm::Aes128Gcm>("aes-gcm", algorithm, op, bytes),
            Algorithm::Aes256Gcm => of::<aes_gcm::Aes256Gcm>("aes-gcm", algorithm, op, bytes),
            Algorithm::Sm4Gcm => of::<aes_gcm::AesGcm<sm4::Sm4, digest::typenum::U12>>("aes-gcm", algorithm, op, bytes),
            Algorithm::Sm4Ccm => {
                of::<ccm::Ccm<sm4::Sm4, digest::typenum::U16, digest::typenum::U12>>("ccm", algorithm, op, bytes)
            }
            Algorithm::ChaCha20Poly1305 => {
                of::<chacha20poly1305::ChaCha20Poly1305>("chacha20poly1305", algorithm, op, bytes)
            }
            Algorithm::XChaCha20Poly1305 => {
                of::<chacha20poly1305::XChaCha20Poly1305>("chacha20poly1305", algorithm, op, bytes)
            }
        }]
    }
}

fn of<C: AeadInOut + KeyInit + 'static>(package: &'static str, algorithm: Algorithm, op: Op, bytes: usize) -> Entry {
    aead::entry(linked::subject(package), algorithm, op, bytes, move || Ok(RustCrypto::<C> { package, cipher: None }))
}

struct RustCrypto<C> {
    package: &'static str,
    cipher: Option<C>,
}

impl<C: AeadInOut + KeyInit + 'static> Aead for RustCrypto<C> {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.cipher = Some(C::new_from_slice(key).map_err(|_| Refusal::failed("refuses the key"))?);
        Ok(())
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let nonce = <&Nonce<C>>::try_from(nonce).expect("a nonce of the algorithm's length");
        let cipher = self.cipher.as_ref().expect("the key is set before the first message");
        let sealed = cipher.encrypt_inout_detached(nonce, aad, data.into()).expect("sealing has worked before");
        tag.copy_from_slice(&sealed);
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let nonce = <&Nonce<C>>::try_from(nonce).expect("a nonce of the algorithm's length");
        let tag = <&Tag<C>>::try_from(&tag[..]).expect("a tag of 16 bytes");
        let cipher = self.cipher.as_ref().expect("the key is set before the first message");
        cipher.decrypt_inout_detached(nonce, aad, data.into(), tag).is_ok()
    }

    fn provenance(&self, op: Op) -> Provenance {
        let arm = "chosen by the crates at run time, which do not tell which";
        Provenance { arm: Some(arm.to_owned()), ..linked::provenance(self.package, op.timed()) }
    }
}
