//! Key files, and OpenSSL's program.

use super::{key, rng};
use candor_primitives::hash::{Sha256, Sha384, Sha512};
use candor_primitives::rsa::{
    DecodePrivateKey, DecodePublicKey, DecodeRsaPrivateKey, DecodeRsaPublicKey, EncodePrivateKey, EncodePublicKey,
    EncodeRsaPrivateKey, EncodeRsaPublicKey, LineEnding, Pkcs1v15, Pss, PublicKey, Rsa, RsaHash, Scheme, SecretKey,
    Signature, Size,
};
use candor_test_support::openssl::OpenSsl;
use std::path::Path;

#[test]
fn key_files_come_back_as_they_went() {
    for size in Size::ALL {
        let secret = key(Rsa::new(), size);
        let public = secret.public_key();
        let pkcs1 = secret.to_pkcs1_der().unwrap();
        let same = |read: &SecretKey| assert_eq!(read.to_pkcs1_der().unwrap().as_bytes(), pkcs1.as_bytes());
        same(&SecretKey::from_pkcs1_der(pkcs1.as_bytes()).unwrap());
        same(&SecretKey::from_pkcs1_pem(&secret.to_pkcs1_pem(LineEnding::LF).unwrap()).unwrap());
        same(&SecretKey::from_pkcs8_der(secret.to_pkcs8_der().unwrap().as_bytes()).unwrap());
        same(&SecretKey::from_pkcs8_pem(&secret.to_pkcs8_pem(LineEnding::LF).unwrap()).unwrap());
        same(&secret.clone());
        let read = PublicKey::from_public_key_der(public.to_public_key_der().unwrap().as_bytes());
        assert_eq!(read.as_ref(), Ok(public));
        let read = PublicKey::from_public_key_pem(&public.to_public_key_pem(LineEnding::LF).unwrap());
        assert_eq!(read.as_ref(), Ok(public));
        assert_eq!(PublicKey::from_pkcs1_der(public.to_pkcs1_der().unwrap().as_bytes()).as_ref(), Ok(public));
        assert_eq!(PublicKey::from_pkcs1_pem(&public.to_pkcs1_pem(LineEnding::LF).unwrap()).as_ref(), Ok(public));
    }
}

/// Each byte is structure or a number that others determine.
#[test]
fn damaged_files_of_secret_keys_are_refused() {
    let secret = key(Rsa::new(), Size::Bits2048);
    let file = secret.to_pkcs8_der().unwrap();
    let file = file.as_bytes();
    assert!(SecretKey::from_pkcs8_der(file).is_ok());
    // A third of the bytes, so that the test does not take long; each number has some.
    for at in (0..file.len()).step_by(3).chain(0..60) {
        let mut bad = file.to_vec();
        bad[at] ^= 1;
        assert!(SecretKey::from_pkcs8_der(&bad).is_err(), "byte {at}");
        assert!(SecretKey::from_pkcs8_der(&file[..at]).is_err(), "{at} bytes");
    }
    assert!(SecretKey::from_pkcs8_der(&[file, &[0]].concat()).is_err());
}

fn both_ways_signed<S: Scheme>(openssl: &OpenSsl, ours: &SecretKey, hash: &str, options: &str) {
    openssl.write("message", b"a message for OpenSSL");
    openssl.write("signature", ours.sign::<S>(b"a message for OpenSSL").unwrap().as_bytes());
    let verify = format!("dgst -{hash} -verify ours-public.pem -signature signature{options} message");
    assert!(openssl.run(&verify));
    openssl.write("message", b"another message");
    assert!(!openssl.run(&verify));
    assert!(openssl.run(&format!("dgst -{hash} -sign ours.pem -out signature{options} message")));
    let signature = Signature::<S>::from_bytes(&openssl.read("signature")).unwrap();
    assert_eq!(ours.public_key().verify(b"another message", &signature), Ok(()));
    assert!(ours.public_key().verify(b"a message", &signature).is_err());
}

fn both_ways_sealed<H: RsaHash>(openssl: &OpenSsl, ours: &SecretKey, hash: &str) {
    let options = format!("-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:{hash} -pkeyopt rsa_mgf1_md:{hash} -in");
    openssl.write("sealed", ours.public_key().encrypt_oaep_with::<H>(b"a text", b"", &mut rng()).unwrap());
    assert!(openssl.run(&format!("pkeyutl -decrypt -inkey ours.pem {options} sealed -out text")));
    assert_eq!(openssl.read("text"), b"a text");
    assert!(openssl.run(&format!("pkeyutl -encrypt -pubin -inkey ours-public.pem {options} text -out sealed")));
    assert_eq!(*ours.decrypt_oaep_with::<H>(&openssl.read("sealed"), b"", &mut rng()).unwrap(), b"a text");
}

fn both_ways(size: Size) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rsa-{}", size.bits()));
    let Some(openssl) = OpenSsl::find("RSA", &directory) else { return };
    assert!(openssl.run(&format!("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:{} -out theirs.pem", size.bits())));
    assert!(openssl.run("pkey -in theirs.pem -pubout -out theirs-public.pem"));
    let theirs = SecretKey::from_pkcs8_pem(&openssl.text("theirs.pem")).unwrap();
    let public = PublicKey::from_public_key_pem(&openssl.text("theirs-public.pem")).unwrap();
    assert_eq!(theirs.public_key(), &public);
    // The old forms, which begin with RSA PRIVATE KEY and RSA PUBLIC KEY.
    assert!(openssl.run("rsa -in theirs.pem -traditional -out old.pem"));
    assert_eq!(SecretKey::from_pkcs1_pem(&openssl.text("old.pem")).unwrap().public_key(), &public);
    assert!(openssl.run("rsa -in theirs.pem -RSAPublicKey_out -out old-public.pem"));
    assert_eq!(PublicKey::from_pkcs1_pem(&openssl.text("old-public.pem")).unwrap(), public);

    for ours in [theirs, Rsa::new().generate_with(size, &mut rng()).unwrap()] {
        write_files(&openssl, &ours);
        both_ways_signed::<Pss<Sha256>>(&openssl, &ours, "sha256", PSS);
        both_ways_signed::<Pss<Sha384>>(&openssl, &ours, "sha384", PSS);
        both_ways_signed::<Pss<Sha512>>(&openssl, &ours, "sha512", PSS);
        both_ways_signed::<Pkcs1v15<Sha256>>(&openssl, &ours, "sha256", "");
        both_ways_signed::<Pkcs1v15<Sha384>>(&openssl, &ours, "sha384", "");
        both_ways_signed::<Pkcs1v15<Sha512>>(&openssl, &ours, "sha512", "");
        both_ways_sealed::<Sha256>(&openssl, &ours, "sha256");
        both_ways_sealed::<Sha512>(&openssl, &ours, "sha512");
    }
}

/// What OpenSSL's program is told about PSS.
const PSS: &str = " -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest";

/// A key for OpenSSL, which checks it.
fn write_files(openssl: &OpenSsl, ours: &SecretKey) {
    openssl.write("ours.pem", ours.to_pkcs8_pem(LineEnding::LF).unwrap().as_bytes());
    openssl.write("ours-old.pem", ours.to_pkcs1_pem(LineEnding::LF).unwrap().as_bytes());
    openssl.write("ours-public.pem", ours.public_key().to_public_key_pem(LineEnding::LF).unwrap());
    assert!(openssl.run("pkey -check -noout -in ours.pem"));
    assert!(openssl.run("pkey -check -noout -in ours-old.pem"));
}

#[test]
#[ignore = "1,000 keys take minutes in release"]
fn openssl_and_we_do_each_others_with_a_thousand_keys() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rsa-thousand");
    let Some(openssl) = OpenSsl::find("RSA", &directory) else { return };
    for _ in 0..500 {
        assert!(openssl.run("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out theirs.pem"));
        let theirs = SecretKey::from_pkcs8_pem(&openssl.text("theirs.pem")).unwrap();
        for ours in [theirs, Rsa::new().generate(Size::Bits2048).unwrap()] {
            write_files(&openssl, &ours);
            both_ways_signed::<Pss<Sha256>>(&openssl, &ours, "sha256", PSS);
            both_ways_signed::<Pkcs1v15<Sha256>>(&openssl, &ours, "sha256", "");
            both_ways_sealed::<Sha256>(&openssl, &ours, "sha256");
        }
    }
}

#[test]
fn openssl_and_we_do_each_others_with_2048_bits() {
    both_ways(Size::Bits2048);
}

#[test]
fn openssl_and_we_do_each_others_with_3072_bits() {
    both_ways(Size::Bits3072);
}

#[test]
fn openssl_and_we_do_each_others_with_4096_bits() {
    both_ways(Size::Bits4096);
}
