//! The decoders of keys and signatures on curves, Ed25519's among them.

use candor_cpu::Cpu;
use candor_primitives::ec::{
    DecodeEcPrivateKey, DecodePrivateKey, DecodePublicKey, Ec, EcdsaCurve, EncodeEcPrivateKey, EncodePrivateKey,
    EncodePublicKey, P256, P384, PublicKey, Secp256k1, SecretKey, Signature,
};
use candor_primitives::ed25519;

/// Bytes as a public key, a signature, a signed message and a key file on each curve: refused, or read and written as the same bytes; every tier says
/// the same. A key file may be written otherwise, and is read as the same key then.
pub fn ec_bytes(data: &[u8]) {
    on::<P256>(data, [7; 32].as_slice());
    on::<P384>(data, [7; 48].as_slice());
    on::<Secp256k1>(data, [7; 32].as_slice());
    on_ed25519(data);
}

fn on_ed25519(data: &[u8]) {
    let secret = ed25519::SecretKey::from_bytes(&[7; 32]);
    if let Some((signature, message)) = data.split_at_checked(64) {
        let signature = ed25519::Signature::from_bytes(signature).expect("any 64 bytes are a form of one");
        assert!(secret.public_key().verify(message, &signature).is_err() || signature == secret.sign(message));
        if let Ok(public) = ed25519::PublicKey::from_bytes(&data[..32]) {
            assert_eq!(ed25519::PublicKey::from_bytes(&public.to_bytes()), Ok(public));
            let _ = public.verify(message, &signature);
        }
    }
    if let Ok(secret) = ed25519::SecretKey::from_pkcs8_der(data) {
        let written = secret.to_pkcs8_der().expect("a key has a form");
        let read = ed25519::SecretKey::from_pkcs8_der(written.as_bytes()).expect("what we write we read");
        assert_eq!(read.to_bytes(), secret.to_bytes());
    }
    if let Ok(public) = ed25519::PublicKey::from_public_key_der(data) {
        let written = public.to_public_key_der().expect("a key has a form");
        assert_eq!(ed25519::PublicKey::from_public_key_der(written.as_bytes()), Ok(public));
    }
}

fn on<C: EcdsaCurve>(data: &[u8], key: &[u8]) {
    if let Ok(signature) = Signature::<C>::from_der(data) {
        assert_eq!(signature.to_der(), data);
    }
    if let Ok(signature) = Signature::<C>::from_bytes(data) {
        assert_eq!(signature.to_bytes().as_ref(), data);
        assert_eq!(Signature::from_der(&signature.to_der()), Ok(signature));
    }
    let mut answers = Vec::new();
    for tier in Cpu::tiers() {
        let Ok(cpu) = Cpu::named(tier.name) else { continue };
        let ec = Ec::<C>::with_cpu(cpu);
        let secret = ec.secret_from_slice(key).expect("a key");
        let public = ec.public_from_bytes(data);
        if let Ok(public) = &public {
            assert!(public.to_bytes().as_ref() == data || public.to_compressed_bytes().as_ref() == data);
        }
        let agreed = public.as_ref().map(|public| secret.agree(public).as_bytes().as_ref().to_vec());
        let agreed = agreed.map_err(|error| *error);
        let verified = data.split_at_checked(2 * key.len()).map(|(signature, message)| {
            Signature::from_bytes(signature).map(|signature| secret.public_key().verify(message, &signature))
        });
        answers.push((ec.arm(), (public, agreed, verified)));
    }
    for pair in answers.windows(2) {
        assert!(pair[0].1 == pair[1].1, "{} and {}", pair[0].0, pair[1].0);
    }
    if let Ok(secret) = SecretKey::<C>::from_pkcs8_der(data) {
        let written = secret.to_pkcs8_der().expect("a key has a form");
        same(&secret, &SecretKey::from_pkcs8_der(written.as_bytes()).expect("what we write we read"));
    }
    if let Ok(secret) = SecretKey::<C>::from_sec1_der(data) {
        let written = secret.to_sec1_der().expect("a key has a form");
        same(&secret, &SecretKey::from_sec1_der(written.as_bytes()).expect("what we write we read"));
    }
    if let Ok(public) = PublicKey::<C>::from_public_key_der(data) {
        let written = public.to_public_key_der().expect("a key has a form");
        assert_eq!(PublicKey::<C>::from_public_key_der(written.as_bytes()), Ok(public));
    }
}

fn same<C: EcdsaCurve>(one: &SecretKey<C>, other: &SecretKey<C>) {
    assert_eq!(one.to_bytes().as_ref(), other.to_bytes().as_ref());
}
