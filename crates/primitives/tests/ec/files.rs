//! Key files, and OpenSSL's program.

use super::{key, of_each_curve};
use candor_primitives::ec::{
    DecodeEcPrivateKey, DecodePrivateKey, DecodePublicKey, Ec, EcdsaCurve, EncodeEcPrivateKey, EncodePrivateKey,
    EncodePublicKey, LineEnding, P256, P384, PublicKey, SecretKey, Signature,
};
use candor_test_support::openssl::OpenSsl;
use std::path::Path;

fn files<C: EcdsaCurve>() {
    let secret = key(Ec::<C>::new(), 11);
    let same = |read: &SecretKey<C>| assert_eq!(read.to_bytes().as_ref(), secret.to_bytes().as_ref());
    let der = secret.to_pkcs8_der().unwrap();
    same(&SecretKey::from_pkcs8_der(der.as_bytes()).unwrap());
    let sec1 = secret.to_sec1_der().unwrap();
    same(&SecretKey::from_sec1_der(sec1.as_bytes()).unwrap());
    same(&SecretKey::from_sec1_pem(&secret.to_sec1_pem(LineEnding::LF).unwrap()).unwrap());
    let public = secret.public_key().to_public_key_der().unwrap();
    assert_eq!(PublicKey::<C>::from_public_key_der(public.as_bytes()).as_ref(), Ok(secret.public_key()));
    // Each byte is structure, the number, or its public key.
    each_damaged(der.as_bytes(), |bad| SecretKey::<C>::from_pkcs8_der(bad).is_err());
    each_damaged(sec1.as_bytes(), |bad| SecretKey::<C>::from_sec1_der(bad).is_err());
    each_damaged(public.as_bytes(), |bad| PublicKey::<C>::from_public_key_der(bad).is_err());
}

fn each_damaged(file: &[u8], is_refused: impl Fn(&[u8]) -> bool) {
    for at in 0..file.len() {
        let mut bad = file.to_vec();
        bad[at] ^= 1;
        assert!(is_refused(&bad), "byte {at}");
        assert!(is_refused(&file[..at]), "{at} bytes");
    }
    assert!(is_refused(&[file, &[0]].concat()));
}

#[test]
fn key_files_come_back_as_they_went_and_damaged_ones_are_refused() {
    of_each_curve!(files);
}

#[test]
fn a_key_on_another_curve_is_refused_as_a_file() {
    let der = key(Ec::<P256>::new(), 3).to_pkcs8_der().unwrap();
    assert!(SecretKey::<P256>::from_pkcs8_der(der.as_bytes()).is_ok());
    assert!(SecretKey::<P384>::from_pkcs8_der(der.as_bytes()).is_err());
    let public = key(Ec::<P384>::new(), 3).public_key().to_public_key_der().unwrap();
    assert!(PublicKey::<P384>::from_public_key_der(public.as_bytes()).is_ok());
    assert!(PublicKey::<P256>::from_public_key_der(public.as_bytes()).is_err());
}

/// Signatures and secrets, both ways, with a curve and a hash by OpenSSL's names.
fn both_ways<C: EcdsaCurve>(curve: &str, hash: &str) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ec-{curve}"));
    let Some(openssl) = OpenSsl::find("ECDSA", &directory).or_else(|| OpenSsl::find("EC", &directory)) else { return };
    assert!(openssl.run(&format!("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:{curve} -out theirs.pem")));
    assert!(openssl.run("pkey -in theirs.pem -pubout -out theirs-public.pem"));
    let theirs = SecretKey::<C>::from_pkcs8_pem(&openssl.text("theirs.pem")).unwrap();
    let public = PublicKey::<C>::from_public_key_pem(&openssl.text("theirs-public.pem")).unwrap();
    assert_eq!(theirs.public_key(), &public);
    // The old form, which begins with EC PRIVATE KEY.
    assert!(openssl.run("ec -in theirs.pem -out old.pem"));
    let old = SecretKey::<C>::from_sec1_pem(&openssl.text("old.pem")).unwrap();
    assert_eq!(old.public_key(), &public);

    let ours = Ec::<C>::new().generate().unwrap();
    openssl.write("ours.pem", ours.to_pkcs8_pem(LineEnding::LF).unwrap().as_bytes());
    openssl.write("ours-old.pem", ours.to_sec1_pem(LineEnding::LF).unwrap().as_bytes());
    openssl.write("ours-public.pem", ours.public_key().to_public_key_pem(LineEnding::LF).unwrap());
    assert!(openssl.run("pkey -check -noout -in ours.pem"));
    assert!(openssl.run("pkey -check -noout -in ours-old.pem"));
    openssl.write("message", b"a message for OpenSSL");
    for signature in [ours.sign(b"a message for OpenSSL").unwrap(), ours.sign_deterministic(b"a message for OpenSSL")] {
        openssl.write("message", b"a message for OpenSSL");
        openssl.write("signature", signature.to_der());
        let verify = format!("dgst -{hash} -verify ours-public.pem -signature signature message");
        assert!(openssl.run(&verify));
        openssl.write("message", b"another message");
        assert!(!openssl.run(&verify));
    }
    assert!(openssl.run(&format!("dgst -{hash} -sign ours.pem -out signature message")));
    let signature = Signature::from_der(&openssl.read("signature")).unwrap();
    assert_eq!(ours.public_key().verify(b"another message", &signature), Ok(()));
    assert!(ours.public_key().verify(b"a message", &signature).is_err());

    assert!(openssl.run("pkeyutl -derive -inkey ours.pem -peerkey theirs-public.pem -out secret"));
    assert_eq!(ours.agree(&public).as_bytes().as_ref(), openssl.read("secret"));
    assert_eq!(theirs.agree(ours.public_key()).as_bytes().as_ref(), openssl.read("secret"));
}

#[test]
fn openssl_and_we_verify_each_others_and_agree_on_p256() {
    both_ways::<P256>("prime256v1", "sha256");
}

#[test]
fn openssl_and_we_verify_each_others_and_agree_on_p384() {
    both_ways::<P384>("secp384r1", "sha384");
}
