//! candor's AEADs, a subject for each arm.

use super::{distinct_arms, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Provenance, Refusal};
use candor_peers::contract::aead::{self, Aead, Algorithm, Op, TAG};
use candor_peers::linked;
use candor_primitives::aead::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, Sm4Ccm, Sm4Gcm, XChaCha20Poly1305};

/// An AEAD of ours: as [`Aead`], on a CPU.
trait Cipher: Sized + 'static {
    fn with_key(cpu: Cpu, key: &[u8]) -> Self;
    fn arm(&self) -> &'static str;
    fn seal(&self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> [u8; TAG];
    fn open(&self, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> bool;
}

/// Writes [`Cipher`] for each type and [`aead`] from a list of them.
macro_rules! ciphers {
    ($($cipher:ident: $key:literal)+) => {
        $(impl Cipher for $cipher {
            fn with_key(cpu: Cpu, key: &[u8]) -> Self {
                Self::with_cpu(cpu, key.try_into().expect("the contract gives keys of the algorithm's length"))
            }

            fn arm(&self) -> &'static str {
                Self::arm(self)
            }

            #[inline]
            fn seal(&self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> [u8; TAG] {
                let nonce = nonce.try_into().expect("the contract gives nonces of the algorithm's length");
                self.seal_in_place(nonce, aad, data).expect("messages of tasks are not too long")
            }

            #[inline]
            fn open(&self, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> bool {
                let nonce = nonce.try_into().expect("the contract gives nonces of the algorithm's length");
                self.open_in_place(nonce, aad, data, tag).is_ok()
            }
        })+

        /// The arm that this process takes by default, then the machine's others.
        pub(crate) fn aead(algorithm: Algorithm, op: Op, bytes: usize) -> Vec<Entry> {
            match algorithm {
                $(Algorithm::$cipher => arms::<$cipher>(algorithm, op, bytes, &[0; $key]),)+
            }
        }
    };
}

// The types of `candor_primitives::aead`, which have the names of the algorithms, and bytes of their keys.
ciphers! {
    Aes128Gcm: 16
    Aes256Gcm: 32
    Sm4Gcm: 16
    Sm4Ccm: 16
    ChaCha20Poly1305: 32
    XChaCha20Poly1305: 32
}

fn arms<C: Cipher>(algorithm: Algorithm, op: Op, bytes: usize, any_key: &[u8]) -> Vec<Entry> {
    let arms = distinct_arms(|cpu| C::with_key(cpu, any_key).arm());
    let entry = |(arm, cpu)| {
        aead::entry(format!("candor@{arm}"), algorithm, op, bytes, move || Ok(Ours::<C> { cpu, arm, cipher: None }))
    };
    arms.into_iter().map(entry).collect()
}

struct Ours<C> {
    cpu: Cpu,
    arm: &'static str,
    cipher: Option<C>,
}

impl<C: Cipher> Aead for Ours<C> {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.cipher = Some(C::with_key(self.cpu, key));
        Ok(())
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (data, tag) = data.split_last_chunk_mut().expect("room for a tag");
        *tag = self.cipher.as_ref().expect("the key is set before the first message").seal(nonce, aad, data);
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        let (data, tag) = data.split_last_chunk_mut().expect("room for a tag");
        self.cipher.as_ref().expect("the key is set before the first message").open(nonce, aad, data, tag)
    }

    fn provenance(&self, op: Op) -> Provenance {
        let (version, checksum) = linked::package("aes");
        // The block cipher of this arm is crate aes's; what else runs is ours.
        let kept = (self.arm == "library").then(|| linked::package_id("aes", version, checksum));
        Provenance { arm: Some(self.arm.to_owned()), commit: kept, ..ours(op.timed()) }
    }
}
