//! candor's SM4 in counter mode and in chains.

use super::{distinct_arms, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Provenance, Refusal};
use candor_peers::contract::cipher::{self, Cipher, Mode, Op};
use candor_primitives::sm4::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, SetIvState, StreamCipher};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};

/// The arm that this process takes by default, then the machine's others.
pub(crate) fn sm4(mode: Mode, op: Op) -> Vec<Entry> {
    let entry = |(arm, cpu)| cipher::entry(format!("candor@{arm}"), mode, op, move || Ok(Ours::new(cpu, mode)));
    distinct_arms(|cpu| Sm4::with_cpu(cpu, &[0; 16]).arm()).into_iter().map(entry).collect()
}

/// A key in the object of a mode.
enum Keyed {
    Ctr(Sm4Ctr),
    Encrypt(Sm4CbcEnc),
    Decrypt(Sm4CbcDec),
}

struct Ours {
    cpu: Cpu,
    mode: Mode,
    keyed: Keyed,
}

impl Ours {
    fn new(cpu: Cpu, mode: Mode) -> Self {
        Self { cpu, mode, keyed: keyed(cpu, mode, &[0; 16]) }
    }
}

fn keyed(cpu: Cpu, mode: Mode, key: &[u8; 16]) -> Keyed {
    match mode {
        Mode::Ctr => Keyed::Ctr(Sm4Ctr::with_cpu(cpu, key, &[0; 16])),
        Mode::CbcEncrypt => Keyed::Encrypt(Sm4CbcEnc::with_cpu(cpu, key, &[0; 16])),
        Mode::CbcDecrypt => Keyed::Decrypt(Sm4CbcDec::with_cpu(cpu, key, &[0; 16])),
    }
}

impl Cipher for Ours {
    fn set_key(&mut self, key: &[u8; 16]) -> Result<(), Refusal> {
        self.keyed = keyed(self.cpu, self.mode, key);
        Ok(())
    }

    fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8]) {
        match &mut self.keyed {
            Keyed::Ctr(cipher) => {
                cipher.set_first(iv);
                cipher.apply_keystream(data);
            }
            Keyed::Encrypt(cipher) => {
                cipher.set_iv(iv.into());
                cipher.encrypt_blocks(Array::slice_as_chunks_mut(data).0);
            }
            Keyed::Decrypt(cipher) => {
                cipher.set_iv(iv.into());
                cipher.decrypt_blocks(Array::slice_as_chunks_mut(data).0);
            }
        }
    }

    fn provenance(&self, timed: &str) -> Provenance {
        let arm = Sm4::with_cpu(self.cpu, &[0; 16]).arm();
        Provenance { arm: Some(arm.to_owned()), ..ours(timed) }
    }
}
