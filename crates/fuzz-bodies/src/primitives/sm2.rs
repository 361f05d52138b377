//! SM2's decoders.

use candor_cpu::Cpu;
use candor_primitives::sm2::{
    DEFAULT_ID, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, Format, PublicKey, SecretKey,
    Signature, Sm2,
};

/// Bytes as a public key and a signature: refused, or read and written as the same bytes. As a ciphertext and a signed message: every tier says the
/// same. As a key file: refused, or read as a key whose own file, which may be another one, is read as the same key.
pub fn sm2_bytes(data: &[u8]) {
    if let Ok(signature) = Signature::from_der(data) {
        assert_eq!(signature.to_der(), data);
    }
    if let Ok(signature) = Signature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
        assert_eq!(Signature::from_der(&signature.to_der()), Ok(signature));
    }
    let mut answers = Vec::new();
    for tier in Cpu::tiers() {
        let Ok(cpu) = Cpu::named(tier.name) else { continue };
        let sm2 = Sm2::with_cpu(cpu);
        let secret = sm2.secret_from_bytes(&[7; 32]).expect("a key");
        let public = sm2.public_from_bytes(data);
        if let Ok(public) = &public {
            assert!(public.to_bytes() == data || public.to_compressed_bytes() == data);
        }
        let verified = Signature::from_bytes(data.get(..64).unwrap_or_default()).map(|signature| {
            let verifying = secret.public_key().verifying_key(DEFAULT_ID).expect("an identity");
            verifying.verify(&data[64..], &signature)
        });
        let opened = [Format::Asn1, Format::C1C3C2, Format::C1C2C3].map(|format| secret.decrypt(data, format));
        answers.push((sm2.arm(), (public, verified, opened)));
    }
    for pair in answers.windows(2) {
        assert!(pair[0].1 == pair[1].1, "{} and {}", pair[0].0, pair[1].0);
    }
    if let Ok(secret) = SecretKey::from_pkcs8_der(data) {
        let written = secret.to_pkcs8_der().expect("a key has a form");
        let again = SecretKey::from_pkcs8_der(written.as_bytes()).expect("what we write we read");
        assert_eq!(*again.to_bytes(), *secret.to_bytes());
    }
    if let Ok(public) = PublicKey::from_public_key_der(data) {
        let written = public.to_public_key_der().expect("a key has a form");
        assert_eq!(PublicKey::from_public_key_der(written.as_bytes()), Ok(public));
    }
}
