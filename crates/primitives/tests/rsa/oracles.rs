//! RustCrypto's crate `rsa`.

use super::{arms, key, rng};
use candor_primitives::hash::{Sha256, Sha384, Sha512};
use candor_primitives::rsa::{
    DecodePrivateKey, EncodePrivateKey, Pkcs1v15, Pss, Rsa, RsaHash, Scheme, SecretKey, Signature, Size,
};
use rsa::{Oaep, Pkcs1v15Sign, RsaPrivateKey};

/// Their key of ours.
fn theirs(ours: &SecretKey) -> RsaPrivateKey {
    use rsa::pkcs8::DecodePrivateKey;
    RsaPrivateKey::from_pkcs8_der(ours.to_pkcs8_der().unwrap().as_bytes()).unwrap()
}

fn verified<S: Scheme>(ours: &SecretKey, message: &[u8], signature: &[u8]) {
    let signature = Signature::<S>::from_bytes(signature).unwrap();
    assert_eq!(ours.public_key().verify(message, &signature), Ok(()));
    assert!(ours.public_key().verify(b"another", &signature).is_err());
}

/// What must hold for a key and a message with a hash, and what the crate calls the hash.
fn agree<H: RsaHash, T>(ours: &SecretKey, theirs: &RsaPrivateKey, message: &[u8])
where
    T: digest::Digest + digest::FixedOutputReset + digest::const_oid::AssociatedOid,
{
    let digest = H::digest(message);
    let public = theirs.to_public_key();

    let signature = ours.sign::<Pkcs1v15<H>>(message).unwrap();
    let expected = theirs.sign(Pkcs1v15Sign::new::<T>(), &digest).unwrap();
    assert_eq!(signature.as_bytes(), expected);
    verified::<Pkcs1v15<H>>(ours, message, &expected);

    let signature = ours.sign::<Pss<H>>(message).unwrap();
    public.verify(rsa::Pss::<T>::new(), &digest, signature.as_bytes()).unwrap();
    let signed = theirs.sign_with_rng(&mut rng(), rsa::Pss::<T>::new(), &digest).unwrap();
    verified::<Pss<H>>(ours, message, &signed);

    let longest = ours.public_key().longest_message::<H>();
    let text = &message[..message.len().min(longest)];
    let sealed = ours.public_key().encrypt_oaep::<H>(text, b"label").unwrap();
    assert_eq!(theirs.decrypt(Oaep::<T>::new_with_label(b"label".as_slice()), &sealed).unwrap(), text);
    let sealed = public.encrypt(&mut rng(), Oaep::<T>::new_with_label(b"label".as_slice()), text).unwrap();
    assert_eq!(*ours.decrypt_oaep::<H>(&sealed, b"label").unwrap(), text);
    assert!(ours.decrypt_oaep::<H>(&sealed, b"libel").is_err());
}

fn agree_with_each_hash(ours: &SecretKey, message: &[u8]) {
    let theirs = theirs(ours);
    agree::<Sha256, sha2::Sha256>(ours, &theirs, message);
    agree::<Sha384, sha2::Sha384>(ours, &theirs, message);
    agree::<Sha512, sha2::Sha512>(ours, &theirs, message);
}

#[test]
fn each_size_and_hash_on_each_arm_does_what_theirs_does() {
    for size in Size::ALL {
        for rsa in arms() {
            agree_with_each_hash(&key(rsa, size), b"");
            agree_with_each_hash(&key(rsa, size), &[7; 1000]);
        }
    }
}

/// More signatures than a pair of the blinding serves.
#[test]
fn two_hundred_signatures_by_one_key_are_right() {
    let ours = key(Rsa::new(), Size::Bits2048);
    let expected = ours.sign::<Pkcs1v15<Sha256>>(b"message").unwrap();
    for _ in 0..200 {
        assert_eq!(ours.sign::<Pkcs1v15<Sha256>>(b"message").unwrap(), expected);
    }
}

#[test]
fn threads_that_share_a_key_sign_and_decrypt_right() {
    let ours = key(Rsa::new(), Size::Bits2048);
    let expected = ours.sign::<Pkcs1v15<Sha256>>(b"message").unwrap();
    let sealed = ours.public_key().encrypt_oaep::<Sha256>(b"text", b"").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(ours.sign::<Pkcs1v15<Sha256>>(b"message").unwrap(), expected);
                    assert_eq!(*ours.decrypt_oaep::<Sha256>(&sealed, b"").unwrap(), b"text");
                }
            });
        }
    });
}

/// A key of 2,048 bits that the crate `rsa` has made, read from its file.
fn of_theirs() -> SecretKey {
    use rsa::pkcs8::EncodePrivateKey;
    let made = RsaPrivateKey::new(&mut rng(), 2048).unwrap();
    SecretKey::from_pkcs8_der(made.to_pkcs8_der().unwrap().as_bytes()).unwrap()
}

#[test]
fn keys_of_ours_are_theirs_and_theirs_are_ours() {
    agree_with_each_hash(&of_theirs(), b"a key of theirs");
    agree_with_each_hash(&Rsa::new().generate(Size::Bits2048).unwrap(), b"a key of ours");
}

#[test]
#[ignore = "1,000 keys take minutes in release"]
fn a_thousand_keys_do_what_theirs_do() {
    for at in 0..1000 {
        let ours = |size| Rsa::new().generate(size).unwrap();
        let key = match at % 10 {
            0 => ours(Size::Bits3072),
            1..5 => ours(Size::Bits2048),
            _ => of_theirs(),
        };
        agree_with_each_hash(&key, b"one of a thousand");
    }
}
