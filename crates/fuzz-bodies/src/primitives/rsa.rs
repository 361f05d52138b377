//! The decoders of RSA's keys, signatures and ciphertexts.

use candor_cpu::Cpu;
use candor_primitives::hash::Sha256;
use candor_primitives::rsa::{
    DecodePrivateKey, DecodePublicKey, DecodeRsaPrivateKey, DecodeRsaPublicKey, EncodePrivateKey, EncodePublicKey,
    EncodeRsaPrivateKey, KeyFileError, Pkcs1v15, Pss, PublicKey, Rsa, SecretKey, Signature,
};
use std::fmt::Debug;
use std::sync::OnceLock;

/// A key in PKCS#1, also an input of the corpus.
const KEY: &[u8] = include_bytes!("../../../../fuzz/corpus/primitives_rsa_bytes/pkcs1");

/// That key on each arm.
fn keys() -> &'static [(&'static str, SecretKey)] {
    static KEYS: OnceLock<Vec<(&'static str, SecretKey)>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let key = SecretKey::from_pkcs1_der(KEY).expect("the file is a key");
        let mut arms: Vec<Rsa> =
            Cpu::tiers().filter_map(|tier| Cpu::named(tier.name).ok()).map(Rsa::with_cpu).collect();
        arms.dedup_by_key(|rsa| rsa.arm());
        arms.iter().map(|rsa| (rsa.arm(), key.on(rsa))).collect()
    })
}

/// Bytes as a key file, a signature with its message, and a ciphertext: refused, or read and written as what was read; every arm says the same.
pub fn rsa_bytes(data: &[u8]) {
    let answers: Vec<_> = keys()
        .iter()
        .map(|(arm, key)| {
            let signed = data.split_at_checked(256).map(|(signature, message)| {
                let public = key.public_key();
                let pss = Signature::<Pss<Sha256>>::from_bytes(signature).expect("any 256 bytes are a form of one");
                let v15 = Signature::<Pkcs1v15<Sha256>>::from_bytes(signature).expect("likewise");
                assert_eq!(pss.as_bytes(), signature);
                (public.verify(message, &pss), public.verify(message, &v15))
            });
            (arm, (signed, key.decrypt_oaep::<Sha256>(data, b"")))
        })
        .collect();
    for pair in answers.windows(2) {
        assert!(pair[0].1 == pair[1].1, "{} and {}", pair[0].0, pair[1].0);
    }
    told(SecretKey::read_pkcs8(data).err(), SecretKey::from_pkcs8_der(data).err());
    told(SecretKey::read_pkcs1(data).err(), SecretKey::from_pkcs1_der(data).err());
    told(PublicKey::read_spki(data).err(), PublicKey::from_public_key_der(data).err());
    told(PublicKey::read_pkcs1(data).err(), PublicKey::from_pkcs1_der(data).err());
    if let Ok(secret) = SecretKey::from_pkcs8_der(data) {
        let written = secret.to_pkcs8_der().expect("a key has a form");
        same(&secret, &SecretKey::from_pkcs8_der(written.as_bytes()).expect("what we write we read"));
    }
    if let Ok(secret) = SecretKey::from_pkcs1_der(data) {
        same(&secret, &SecretKey::from_pkcs1_der(data).expect("it was read before"));
        assert_eq!(secret.to_pkcs1_der().expect("a key has a form").as_bytes(), data);
    }
    if let Ok(public) = PublicKey::from_public_key_der(data) {
        let written = public.to_public_key_der().expect("a key has a form");
        assert_eq!(written.as_bytes(), data);
    }
    if let Ok(public) = PublicKey::from_pkcs1_der(data) {
        let written = public.to_public_key_der().expect("a key has a form");
        assert_eq!(PublicKey::from_public_key_der(written.as_bytes()), Ok(public));
    }
}

/// A method that says why it refuses refuses what its trait does, and can be asked for its words.
fn told<E: From<KeyFileError> + PartialEq + Debug>(of_method: Option<KeyFileError>, of_trait: Option<E>) {
    assert!(of_method.is_none_or(|error| !error.to_string().is_empty()));
    assert_eq!(of_method.map(E::from), of_trait);
}

fn same(one: &SecretKey, other: &SecretKey) {
    let form = |key: &SecretKey| key.to_pkcs1_der().expect("a key has a form");
    assert_eq!(form(one).as_bytes(), form(other).as_bytes());
}
