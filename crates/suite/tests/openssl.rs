//! Key files and signatures both ways with the command `openssl`: what it writes we read, and what we write it reads.

use candor_suite::key::{KeyKind, PublicKey, SecretKey};
use candor_suite::key_file::{Encoding, Key, SecretForm, read};
use candor_suite::signing::{Choices, Signing, Verifying};
use candor_test_support::openssl::OpenSsl;
use std::path::PathBuf;

const MESSAGE: &[u8] = b"a contract";

fn openssl(algorithm: &str, name: &str) -> Option<OpenSsl> {
    let openssl = OpenSsl::find(algorithm, &PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))?;
    openssl.write("message", MESSAGE);
    Some(openssl)
}

fn secret(file: &[u8]) -> SecretKey {
    match read(file).expect("a key") {
        Key::Secret(key) => key,
        Key::Public(_) => panic!("a public key"),
    }
}

fn sign(key: &SecretKey) -> Vec<u8> {
    let mut signing = Signing::new(key, Choices::default()).unwrap();
    signing.update(MESSAGE).unwrap();
    signing.finish().unwrap()
}

fn verified(key: &PublicKey, signature: &[u8]) -> bool {
    let mut verifying = Verifying::new(key, Choices::default()).unwrap();
    verifying.update(MESSAGE).unwrap();
    verifying.finish(signature).is_ok()
}

/// Keys in all forms, and signatures by one side that the other verifies. `sign` and `verify` are OpenSSL's commands, of KEY, SIG and the file `message`; none
/// if such keys do not sign.
fn both_ways(kind: KeyKind, openssl: &OpenSsl, make: &str, signing: Option<(&str, &str)>) {
    let title = kind.title();
    // Theirs.
    assert!(openssl.run(&format!("{make} -out theirs.pem")), "{title}");
    for words in ["-in theirs.pem -outform DER -out theirs.der", "-in theirs.pem -pubout -out theirs.pub"] {
        assert!(openssl.run(&format!("pkey {words}")), "{title}: {words}");
    }
    let theirs = secret(&openssl.read("theirs.pem"));
    assert_eq!(theirs.kind(), kind);
    let public = theirs.public_key().unwrap();
    let same = [openssl.read("theirs.der"), openssl.read("theirs.pub")].map(|file| read(&file).unwrap().into_public());
    assert!(same.iter().all(|same| same.as_ref().unwrap().to_bytes() == public.to_bytes()), "{title}");
    assert_eq!(openssl.read("theirs.pub"), public.to_file(Encoding::Pem).unwrap(), "{title}: the same file");
    // Ours.
    let ours = SecretKey::generate(kind).unwrap();
    openssl.write("ours.pem", &*ours.to_file(SecretForm::Pkcs8, Encoding::Pem).unwrap());
    openssl.write("ours.der", &*ours.to_file(SecretForm::Pkcs8, Encoding::Der).unwrap());
    openssl.write("ours.pub", ours.public_key().unwrap().to_file(Encoding::Pem).unwrap());
    assert!(openssl.run("pkey -in ours.pem -noout -check"), "{title}");
    assert!(openssl.run("pkey -in ours.der -inform DER -pubout -out ours.again"), "{title}");
    assert_eq!(openssl.read("ours.again"), openssl.read("ours.pub"), "{title}");
    if matches!(kind, KeyKind::P256 | KeyKind::P384 | KeyKind::Secp256k1) {
        openssl.write("ours.sec1", &*ours.to_file(SecretForm::Sec1, Encoding::Pem).unwrap());
        assert!(openssl.run("ec -in ours.sec1 -noout"), "{title}");
        assert!(openssl.run("ec -in theirs.pem -out theirs.sec1"), "{title}");
        assert_eq!(secret(&openssl.read("theirs.sec1")).to_bytes(), theirs.to_bytes());
    }
    if let Ok(shared) = ours.agree(&public) {
        assert!(openssl.run("pkeyutl -derive -inkey theirs.pem -peerkey ours.pub -out shared"), "{title}");
        assert_eq!(openssl.read("shared"), *shared, "{title}");
    }
    let Some((sign_it, verify)) = signing else { return assert!(!kind.signs()) };
    let with = |line: &str, key: &str, signature: &str| line.replace("KEY", key).replace("SIG", signature);
    assert!(openssl.run(&with(sign_it, "theirs.pem", "theirs.sig")), "{title}");
    assert!(verified(&public, &openssl.read("theirs.sig")), "{title}");
    openssl.write("ours.sig", sign(&ours));
    assert!(openssl.run(&with(verify, "ours.pub", "ours.sig")), "{title}");
    assert!(!openssl.run(&with(verify, "theirs.pub", "ours.sig")), "{title}");
}

#[test]
fn curves_go_both_ways() {
    let Some(openssl) = openssl("EC", "suite-ec") else { return };
    for (kind, curve, hash) in [
        (KeyKind::P256, "P-256", "sha256"),
        (KeyKind::P384, "P-384", "sha384"),
        (KeyKind::Secp256k1, "secp256k1", "sha256"),
    ] {
        let make =
            format!("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:{curve} -pkeyopt ec_param_enc:named_curve");
        let sign = format!("dgst -{hash} -sign KEY -out SIG message");
        let verify = format!("dgst -{hash} -verify KEY -signature SIG message");
        both_ways(kind, &openssl, &make, Some((&sign, &verify)));
    }
}

#[test]
fn sm2_goes_both_ways_with_ciphertexts() {
    let Some(openssl) = openssl("SM2", "suite-sm2") else { return };
    const WORDS: &str = "pkeyutl -rawin -digest sm3 -pkeyopt distid:1234567812345678 -in message";
    let sign = format!("{WORDS} -sign -inkey KEY -out SIG");
    let verify = format!("{WORDS} -verify -pubin -inkey KEY -sigfile SIG");
    both_ways(KeyKind::Sm2, &openssl, "genpkey -algorithm SM2", Some((&sign, &verify)));
    assert!(openssl.run("pkeyutl -encrypt -pubin -inkey theirs.pub -in message -out ciphertext"));
    let theirs = secret(&openssl.read("theirs.pem"));
    assert_eq!(&**theirs.decrypt(&openssl.read("ciphertext")).unwrap(), MESSAGE);
    openssl.write("ciphertext", theirs.public_key().unwrap().encrypt(b"an answer").unwrap());
    assert!(openssl.run("pkeyutl -decrypt -inkey theirs.pem -in ciphertext -out answer"));
    assert_eq!(openssl.read("answer"), b"an answer");
}

#[test]
fn ed25519_and_x25519_go_both_ways() {
    if let Some(openssl) = openssl("ED25519", "suite-ed25519") {
        let sign = "pkeyutl -sign -rawin -in message -inkey KEY -out SIG";
        let verify = "pkeyutl -verify -pubin -inkey KEY -rawin -in message -sigfile SIG";
        both_ways(KeyKind::Ed25519, &openssl, "genpkey -algorithm ED25519", Some((sign, verify)));
    }
    if let Some(openssl) = openssl("X25519", "suite-x25519") {
        both_ways(KeyKind::X25519, &openssl, "genpkey -algorithm X25519", None);
    }
}

/// OpenSSL has ML-KEM from 3.5 on.
#[test]
fn ml_kem_goes_both_ways() {
    let Some(openssl) = openssl("ML-KEM-768", "suite-ml-kem") else { return };
    for kind in [KeyKind::MlKem512, KeyKind::MlKem768, KeyKind::MlKem1024] {
        both_ways(kind, &openssl, &format!("genpkey -algorithm {}", kind.title()), None);
        let theirs = secret(&openssl.read("theirs.pem"));
        assert!(openssl.run("pkeyutl -encap -pubin -inkey theirs.pub -out ciphertext -secret shared"));
        assert_eq!(theirs.decapsulate(&openssl.read("ciphertext")).unwrap().as_bytes()[..], openssl.read("shared"));
        let (ciphertext, shared) = theirs.public_key().unwrap().encapsulate().unwrap();
        openssl.write("ciphertext", ciphertext);
        assert!(openssl.run("pkeyutl -decap -inkey theirs.pem -in ciphertext -secret shared"));
        assert_eq!(shared.as_bytes()[..], openssl.read("shared"));
        let ours = SecretKey::generate(kind).unwrap();
        let public = ours.public_key().unwrap().to_file(Encoding::Pem).unwrap();
        for form in [SecretForm::Expanded, SecretForm::Both] {
            openssl.write("ours.pem", &*ours.to_file(form, Encoding::Pem).unwrap());
            assert!(openssl.run("pkey -in ours.pem -pubout -out ours.again"), "{form:?}");
            assert_eq!(openssl.read("ours.again"), public, "{form:?}");
        }
    }
}

#[test]
fn rsa_goes_both_ways() {
    let Some(openssl) = openssl("RSA", "suite-rsa") else { return };
    for (kind, bits) in [(KeyKind::Rsa2048, 2048), (KeyKind::Rsa3072, 3072), (KeyKind::Rsa4096, 4096)] {
        const PSS: &str = "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest";
        let sign = format!("dgst -sha256 {PSS} -sign KEY -out SIG message");
        let verify = format!("dgst -sha256 {PSS} -verify KEY -signature SIG message");
        both_ways(
            kind,
            &openssl,
            &format!("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:{bits}"),
            Some((&sign, &verify)),
        );
        let theirs = secret(&openssl.read("theirs.pem"));
        assert!(openssl.run("rsa -in theirs.pem -traditional -out theirs.pkcs1"));
        assert_eq!(openssl.read("theirs.pkcs1"), *theirs.to_file(SecretForm::Pkcs1, Encoding::Pem).unwrap());
        assert!(openssl.run("rsa -in theirs.pem -RSAPublicKey_out -out theirs.public.pkcs1"));
        let public = read(&openssl.read("theirs.public.pkcs1")).unwrap().into_public().unwrap();
        assert_eq!(public.to_bytes(), theirs.public_key().unwrap().to_bytes());
        assert!(openssl.run("rsa -in theirs.pem -traditional -outform DER -out theirs.pkcs1.der"));
        assert_eq!(secret(&openssl.read("theirs.pkcs1.der")).to_bytes(), theirs.to_bytes());
        const OAEP: &str = "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256";
        assert!(openssl.run(&format!("pkeyutl -encrypt -pubin -inkey theirs.pub {OAEP} -in message -out ciphertext")));
        assert_eq!(&**theirs.decrypt(&openssl.read("ciphertext")).unwrap(), MESSAGE);
        openssl.write("ciphertext", theirs.public_key().unwrap().encrypt(b"an answer").unwrap());
        assert!(openssl.run(&format!("pkeyutl -decrypt -inkey theirs.pem {OAEP} -in ciphertext -out answer")));
        assert_eq!(openssl.read("answer"), b"an answer");
    }
}
