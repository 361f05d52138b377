//! graviola's AEADs.

use super::{PACKAGE, cpu, provenance};
use crate::contract::aead::{self, Algorithm, Op, TAG};
use crate::linked;
use candor_lab::{Entry, Provenance, Refusal};
use graviola::aead::{AesGcm, ChaCha20Poly1305, XChaCha20Poly1305};

pub(crate) fn aead(algorithm: Algorithm, op: Op, bytes: usize) -> Entry {
    aead::entry(linked::subject(PACKAGE), algorithm, op, bytes, move || {
        cpu().map(|()| GraviolaAead { algorithm, cipher: None })
    })
}

struct GraviolaAead {
    algorithm: Algorithm,
    cipher: Option<Cipher>,
}

enum Cipher {
    Gcm(Box<AesGcm>),
    ChaCha(ChaCha20Poly1305),
    XChaCha(XChaCha20Poly1305),
}

fn sized<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the contract gives the algorithm's lengths")
}

impl aead::Aead for GraviolaAead {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.cipher = Some(match self.algorithm {
            Algorithm::Aes128Gcm | Algorithm::Aes256Gcm => Cipher::Gcm(Box::new(AesGcm::new(key))),
            Algorithm::ChaCha20Poly1305 => Cipher::ChaCha(ChaCha20Poly1305::new(sized(key))),
            Algorithm::XChaCha20Poly1305 => Cipher::XChaCha(XChaCha20Poly1305::new(sized(key))),
            Algorithm::Sm4Gcm | Algorithm::Sm4Ccm => {
                return Err(Refusal::never(format!("has no {}", self.algorithm.title())));
            }
        });
        Ok(())
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        match self.cipher.as_ref().expect("the key is set before the first message") {
            Cipher::Gcm(cipher) => cipher.encrypt(&sized(nonce), aad, data, tag),
            Cipher::ChaCha(cipher) => cipher.encrypt(&sized(nonce), aad, data, tag),
            Cipher::XChaCha(cipher) => cipher.encrypt(&sized(nonce), aad, data, tag),
        }
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let opened = match self.cipher.as_ref().expect("the key is set before the first message") {
            Cipher::Gcm(cipher) => cipher.decrypt(&sized(nonce), aad, data, tag),
            Cipher::ChaCha(cipher) => cipher.decrypt(&sized(nonce), aad, data, tag),
            Cipher::XChaCha(cipher) => cipher.decrypt(&sized(nonce), aad, data, tag),
        };
        opened.is_ok()
    }

    fn provenance(&self, op: Op) -> Provenance {
        #[cfg(target_arch = "x86_64")]
        let arm = match self.algorithm {
            Algorithm::Aes128Gcm | Algorithm::Aes256Gcm => "chosen by graviola at run time, which does not tell which",
            _ => "avx2, by the crate's own rule",
        };
        #[cfg(not(target_arch = "x86_64"))]
        let arm = "neon";
        provenance(op.timed(), arm)
    }
}
