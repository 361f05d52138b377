//! Keys and ciphertexts of KEMs; scalars and points of X25519; keys and signatures of ECDSA and RSA, with SM2's ciphertexts; messages for hashes, AEADs, ciphers and CMAC.

mod ciphers;
mod ec;
mod ml_kem;
mod rsa;
mod sm2;
mod x25519;

pub use ciphers::cipher_messages;
pub use ec::ec_bytes;
pub use ml_kem::ml_kem_agreements;
pub use rsa::rsa_bytes;
pub use sm2::sm2_bytes;
pub use x25519::x25519_agreements;

use aes_gcm::aead::consts::{U12, U16};
use aws_lc_rs::aead as aws;
use candor_cpu::Cpu;
use candor_primitives::aead::{
    Aead, AeadCore, AeadError, AeadInOut, Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, KeyInit, Nonce, Payload, RandomNonce,
    RandomNonceAead, Sm4Ccm, Sm4Gcm, Tag, XChaCha20Poly1305,
};
use candor_primitives::hash::{Batch, Blake2b512, Digest, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Sm3};
use candor_primitives::kem::ml_kem::{
    MlKem512, MlKem768, MlKem1024, PreparedMlKem512, PreparedMlKem768, PreparedMlKem1024,
};
use candor_primitives::kem::{Kem, aws_lc, libcrux, rustcrypto};

/// The same bytes as a key and as a ciphertext of every back end and level: nothing panics, all back ends accept the same keys, and an
/// accepted public key is given back unchanged.
pub fn kem_bytes(data: &[u8]) {
    fn takes<K: Kem>(kem: K, data: &[u8]) -> [bool; 2] {
        let public = kem.public_from_bytes(data);
        if let Ok(public) = &public {
            let mut again = vec![0; K::PUBLIC];
            kem.public_to_bytes(public, &mut again).expect("the buffer fits");
            assert!(again == data, "{}: another public key than was read", K::NAME);
            let mut ciphertext = vec![0; K::CIPHERTEXT];
            kem.encapsulate(public, &mut ciphertext).expect("a checked key can be used");
        }
        let secret = kem.secret_from_bytes(data);
        if let Ok(secret) = &secret {
            let again = kem.secret_to_bytes(secret).expect("a secret key has a byte form");
            // Not the same bytes always: FIPS 203 §7.3 has no modulus check on ŝ, and a back end may reduce what it reads.
            assert!(kem.secret_from_bytes(&again).is_ok(), "{}: does not read what it wrote", K::NAME);
            // Any ciphertext of the right length decapsulates (implicit rejection), any other is an error.
            assert!(kem.decapsulate(secret, &vec![data[0]; K::CIPHERTEXT]).is_ok());
            assert!(kem.decapsulate(secret, data).is_err() || data.len() == K::CIPHERTEXT);
        }
        [public.is_ok(), secret.is_ok()]
    }
    let agree = |verdicts: &[[bool; 2]]| assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]), "{verdicts:?}");
    macro_rules! level {
        ($level:ident, $own:ident, $prepared:ident) => {
            agree(&[
                takes(aws_lc::$level, data),
                takes(libcrux::$level, data),
                takes(rustcrypto::$level, data),
                takes($own::new(), data),
                takes($own::with_cpu(Cpu::portable()), data),
                takes($prepared::new(), data),
            ]);
        };
    }
    level!(MlKem512, MlKem512, PreparedMlKem512);
    level!(MlKem768, MlKem768, PreparedMlKem768);
    level!(MlKem1024, MlKem1024, PreparedMlKem1024);
}

/// Hashes agree with themselves: whatever the tier, whatever the pieces, alone or in a batch. Data: the length of the first piece,
/// the length of the others, the message.
pub fn hash_pieces(data: &[u8]) {
    let [first, others, message @ ..] = data else { return };
    let (head, tail) = message.split_at(usize::from(*first).min(message.len()));
    macro_rules! check {
        ($($hash:ident),+) => {
            $(
                let mut whole = $hash::with_cpu(Cpu::portable());
                whole.update(message);
                let expected = whole.finalize();
                for tier in Cpu::tiers() {
                    let Ok(cpu) = Cpu::named(tier.name) else { continue };
                    let mut hash = $hash::with_cpu(cpu);
                    hash.update(head);
                    tail.chunks(usize::from(*others) + 1).for_each(|piece| hash.update(piece));
                    assert!(hash.finalize() == expected, "{} at {}", stringify!($hash), tier.name);
                }
            )+
        };
    }
    check!(Sha256, Sha384, Sha512, Sha3_256, Sha3_512, Blake2b512, Sm3);

    let messages: Vec<&[u8]> = tail.chunks(usize::from(*others) + 1).chain([head, message]).collect();
    for tier in Cpu::tiers() {
        let Ok(cpu) = Cpu::named(tier.name) else { continue };
        let mut digests = vec![[0; 32]; messages.len()];
        macro_rules! batch {
            ($hash:ident, $into:ident) => {
                let _ = Batch::with_cpu(cpu).$into(&messages, &mut digests);
                for (message, digest) in messages.iter().zip(&digests) {
                    assert!(
                        $hash::digest(message)[..] == digest[..],
                        "batch of {} at {}",
                        stringify!($hash),
                        tier.name
                    );
                }
            };
        }
        batch!(Sha256, sha256_into);
        batch!(Sha3_256, sha3_256_into);
        batch!(Sm3, sm3_into);
    }
}

/// AEADs agree with those of others, AWS-LC's or RustCrypto's: on every tier a message is sealed as there and opened again, and nothing opens it
/// once a bit of it has changed. Data: the length of the associated data, which bit changes (two bytes), 32 bytes of key, 24 of nonce, both texts.
pub fn aead_messages(data: &[u8]) {
    let Some(([aad, change @ ..], rest)) = data.split_first_chunk::<3>() else { return };
    let Some((key, rest)) = rest.split_first_chunk::<32>() else { return };
    let Some((nonce, texts)) = rest.split_first_chunk::<24>() else { return };
    let (aad, message) = texts.split_at(usize::from(*aad).min(texts.len()));
    let change = usize::from(u16::from_le_bytes(*change));
    let parts = Parts { key, nonce, aad, message, change };
    parts.check("AES-128-GCM", Aes128Gcm::with_cpu, &parts.by_aws_lc(&aws::AES_128_GCM));
    parts.check("AES-256-GCM", Aes256Gcm::with_cpu, &parts.by_aws_lc(&aws::AES_256_GCM));
    parts.check("ChaCha20-Poly1305", ChaCha20Poly1305::with_cpu, &parts.by_aws_lc(&aws::CHACHA20_POLY1305));
    let theirs = parts.by_rustcrypto::<chacha20poly1305::XChaCha20Poly1305>();
    parts.check("XChaCha20-Poly1305", XChaCha20Poly1305::with_cpu, &theirs);
    let theirs = parts.by_rustcrypto::<aes_gcm::AesGcm<sm4::Sm4, U12>>();
    parts.check("SM4-GCM", Sm4Gcm::with_cpu, &theirs);
    parts.check("SM4-CCM", Sm4Ccm::with_cpu, &parts.by_rustcrypto::<ccm::Ccm<sm4::Sm4, U16, U12>>());
}

/// Bytes from outside as messages with their nonces in front: each type of ours opens what RustCrypto's opens, to the same plaintext, and refuses the
/// rest. Data: the length of the associated data, 32 bytes of key, the associated data, and what is to be opened.
pub fn random_nonce(data: &[u8]) {
    let Some((aad, rest)) = data.split_first() else { return };
    let Some((key, rest)) = rest.split_first_chunk::<32>() else { return };
    let (aad, sealed) = rest.split_at(usize::from(*aad).min(rest.len()));
    open::<Aes128Gcm, aes_gcm::Aes128Gcm, 16>("AES-128-GCM", Aes128Gcm::with_cpu, key, aad, sealed);
    open::<Aes256Gcm, aes_gcm::Aes256Gcm, 32>("AES-256-GCM", Aes256Gcm::with_cpu, key, aad, sealed);
    open::<Sm4Gcm, aes_gcm::AesGcm<sm4::Sm4, U12>, 16>("SM4-GCM", Sm4Gcm::with_cpu, key, aad, sealed);
    open::<Sm4Ccm, ccm::Ccm<sm4::Sm4, U16, U12>, 16>("SM4-CCM", Sm4Ccm::with_cpu, key, aad, sealed);
    open::<ChaCha20Poly1305, chacha20poly1305::ChaCha20Poly1305, 32>(
        "ChaCha20-Poly1305",
        ChaCha20Poly1305::with_cpu,
        key,
        aad,
        sealed,
    );
    open::<XChaCha20Poly1305, chacha20poly1305::XChaCha20Poly1305, 32>(
        "XChaCha20-Poly1305",
        XChaCha20Poly1305::with_cpu,
        key,
        aad,
        sealed,
    );
}

fn open<A: RandomNonceAead, O: Aead + KeyInit, const KEY: usize>(
    name: &str,
    new: fn(Cpu, &[u8; KEY]) -> A,
    key: &[u8; 32],
    aad: &[u8],
    sealed: &[u8],
) {
    let key = key.first_chunk().expect("keys have at most 32 bytes");
    let mut nonce = Nonce::<O>::default();
    let expected = match sealed.split_at_checked(nonce.len()) {
        Some((front, msg)) if msg.len() >= 16 => {
            nonce.copy_from_slice(front);
            let oracle = O::new_from_slice(key).expect("a key of its length");
            oracle.decrypt(&nonce, Payload { msg, aad }).map_err(|_| AeadError::Tag)
        }
        _ => Err(AeadError::TooShort { least: nonce.len() + 16, got: sealed.len() }),
    };
    for tier in Cpu::tiers() {
        let Ok(cpu) = Cpu::named(tier.name) else { continue };
        let opened = RandomNonce::new(new(cpu, key)).open(aad, sealed);
        assert!(opened == expected, "{name} at {}: {opened:?} instead of {expected:?}", tier.name);
    }
}

struct Parts<'a> {
    key: &'a [u8; 32],
    nonce: &'a [u8; 24],
    aad: &'a [u8],
    message: &'a [u8],
    /// Of a bit, counted through nonce, associated data, ciphertext and tag, and around.
    change: usize,
}

impl Parts<'_> {
    /// Ciphertext and tag by AWS-LC.
    fn by_aws_lc(&self, algorithm: &'static aws::Algorithm) -> Vec<u8> {
        let key = aws::UnboundKey::new(algorithm, &self.key[..algorithm.key_len()]).expect("a key of its length");
        let nonce = aws::Nonce::assume_unique_for_key(*self.nonce.first_chunk().expect("24 bytes have a first 12"));
        let mut sealed = self.message.to_vec();
        let done = aws::LessSafeKey::new(key).seal_in_place_append_tag(nonce, aws::Aad::from(self.aad), &mut sealed);
        done.expect("a short message");
        sealed
    }

    /// Ciphertext and tag by RustCrypto.
    fn by_rustcrypto<A: Aead + KeyInit>(&self) -> Vec<u8> {
        let cipher = A::new_from_slice(&self.key[..A::key_size()]).expect("a key of its length");
        cipher.encrypt(&self.nonce_of::<A>(), Payload { msg: self.message, aad: self.aad }).expect("a short message")
    }

    fn nonce_of<A: AeadCore>(&self) -> Nonce<A> {
        let mut nonce = Nonce::<A>::default();
        let length = nonce.len();
        nonce.copy_from_slice(&self.nonce[..length]);
        nonce
    }

    /// `sealed` is the ciphertext, and the tag, that all tiers must give.
    fn check<A: AeadInOut, const KEY: usize>(&self, name: &str, new: fn(Cpu, &[u8; KEY]) -> A, sealed: &[u8]) {
        let key = self.key.first_chunk().expect("keys have at most 32 bytes");
        let nonce = self.nonce_of::<A>();
        let (expected, tag) = sealed.split_at(self.message.len());
        let (expected, tag) = (expected.to_vec(), Tag::<A>::try_from(tag).expect("a tag of 16 bytes"));

        let (mut nonce_2, mut aad_2, mut sealed_2, mut tag_2) =
            (nonce.clone(), self.aad.to_vec(), expected.clone(), tag.clone());
        let all = nonce_2.iter_mut().chain(&mut aad_2).chain(&mut sealed_2).chain(&mut tag_2);
        let mut all: Vec<&mut u8> = all.collect();
        let bit = self.change % (8 * all.len());
        *all[bit / 8] ^= 1 << (bit % 8);

        for tier in Cpu::tiers() {
            let Ok(cpu) = Cpu::named(tier.name) else { continue };
            let cipher = new(cpu, key);
            let mut data = self.message.to_vec();
            let ours = cipher.encrypt_inout_detached(&nonce, self.aad, data.as_mut_slice().into());
            assert!(data == expected && ours == Ok(tag.clone()), "{name} at {} seals otherwise", tier.name);
            let opened = cipher.decrypt_inout_detached(&nonce, self.aad, data.as_mut_slice().into(), &tag);
            assert!(opened.is_ok() && data == self.message, "{name} at {} does not open what it sealed", tier.name);
            let mut data = sealed_2.clone();
            let opened = cipher.decrypt_inout_detached(&nonce_2, &aad_2, data.as_mut_slice().into(), &tag_2);
            assert!(opened.is_err(), "{name} at {} opens a message after bit {bit} has changed", tier.name);
            assert!(data.iter().all(|byte| *byte == 0), "{name} at {} leaves what it refused", tier.name);
        }
    }
}
