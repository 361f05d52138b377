//! RustCrypto's `sm4`, in its modes `ctr` and `cbc`.

#![cfg(feature = "peer-sm4")]

use crate::contract::cipher::{self, Cipher, Mode, Op};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance, Refusal};
use ctr::cipher::{BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit, StreamCipher};

/// What sm4 offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer("sm4", "SM4 by RustCrypto")]
    }

    fn cipher(&self, mode: Mode, op: Op) -> Vec<Entry> {
        vec![cipher::entry(linked::subject("sm4"), mode, op, move || Ok(RustCrypto { mode, cipher: None }))]
    }
}

struct RustCrypto {
    mode: Mode,
    cipher: Option<sm4::Sm4>,
}

impl Cipher for RustCrypto {
    fn set_key(&mut self, key: &[u8; 16]) -> Result<(), Refusal> {
        self.cipher = Some(sm4::Sm4::new(key.into()));
        Ok(())
    }

    fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8]) {
        let cipher = self.cipher.as_ref().expect("the key is set before the first message");
        let blocks = |data| ctr::cipher::Array::slice_as_chunks_mut(data).0;
        match self.mode {
            Mode::Ctr => {
                let core = ctr::CtrCore::inner_iv_init(cipher, iv.into());
                ctr::Ctr128BE::from_core(core).apply_keystream(data);
            }
            Mode::CbcEncrypt => cbc::Encryptor::inner_iv_init(cipher, iv.into()).encrypt_blocks(blocks(data)),
            Mode::CbcDecrypt => cbc::Decryptor::inner_iv_init(cipher, iv.into()).decrypt_blocks(blocks(data)),
        }
    }

    fn provenance(&self, timed: &str) -> Provenance {
        Provenance { arm: Some("portable".to_owned()), ..linked::provenance("sm4", timed) }
    }
}
