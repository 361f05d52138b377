//! Key files that are refused, with the reason, beside those that are not.

use super::key;
use candor_primitives::rsa::{
    DecodePrivateKey, DecodePublicKey, DecodeRsaPrivateKey, EncodePrivateKey, EncodePublicKey, EncodeRsaPrivateKey,
    EncodeRsaPublicKey, KeyFileError, PublicKey, Rsa, SecretKey, Size,
};
use pkcs1::der::asn1::{AnyRef, BitStringRef, OctetStringRef, UintRef};
use pkcs1::der::{Decode, Encode};
use pkcs1::{OtherPrimeInfo, RsaPrivateKeyRef, RsaPublicKeyRef};
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{KeyError, ObjectIdentifier, PrivateKeyInfoRef};

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");

fn secret() -> SecretKey {
    key(Rsa::new(), Size::Bits2048)
}

/// The key in PKCS#1, after a change.
fn pkcs1_with(change: impl FnOnce(&mut RsaPrivateKeyRef<'_>)) -> Vec<u8> {
    let file = secret().to_pkcs1_der().unwrap();
    let mut key = RsaPrivateKeyRef::from_der(file.as_bytes()).unwrap();
    change(&mut key);
    key.to_der().unwrap()
}

/// The key in PKCS#8 with other things around it.
fn pkcs8_with(algorithm: AlgorithmIdentifierRef<'_>, public: Option<&[u8]>) -> Vec<u8> {
    let key = secret().to_pkcs1_der().unwrap();
    let mut info = PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(key.as_bytes()).unwrap());
    info.public_key = public.map(|bytes| BitStringRef::from_bytes(bytes).unwrap());
    info.to_der().unwrap()
}

/// The public key with another algorithm.
fn spki_with(algorithm: AlgorithmIdentifierRef<'_>) -> Vec<u8> {
    let key = secret().public_key().to_pkcs1_der().unwrap();
    let subject_public_key = BitStringRef::from_bytes(key.as_bytes()).unwrap();
    SubjectPublicKeyInfoRef { algorithm, subject_public_key }.to_der().unwrap()
}

const ENCRYPTION: AlgorithmIdentifierRef<'_> = AlgorithmIdentifierRef { oid: RSA, parameters: Some(AnyRef::NULL) };
const WITHOUT_NULL: AlgorithmIdentifierRef<'_> = AlgorithmIdentifierRef { oid: RSA, parameters: None };
const PSS_ALONE: AlgorithmIdentifierRef<'_> = AlgorithmIdentifierRef { oid: PSS, parameters: Some(AnyRef::NULL) };

#[test]
fn the_methods_and_the_traits_read_the_same_keys() {
    let (secret, file) = (secret(), pkcs8_with(ENCRYPTION, None));
    assert_eq!(secret.to_pkcs8_der().unwrap().as_bytes(), file);
    assert_eq!(SecretKey::read_pkcs8(&file).unwrap().public_key(), secret.public_key());
    assert_eq!(SecretKey::read_pkcs1(&pkcs1_with(|_| {})).unwrap().public_key(), secret.public_key());
    let spki = secret.public_key().to_public_key_der().unwrap();
    assert_eq!(spki.as_bytes(), spki_with(ENCRYPTION));
    assert_eq!(PublicKey::read_spki(spki.as_bytes()).as_ref(), Ok(secret.public_key()));
    let pkcs1 = secret.public_key().to_pkcs1_der().unwrap();
    assert_eq!(PublicKey::read_pkcs1(pkcs1.as_bytes()).as_ref(), Ok(secret.public_key()));
}

#[test]
fn keys_of_more_than_two_primes_are_refused() {
    let (third, one) = ([3], [1]);
    let number = |bytes| UintRef::new(bytes).unwrap();
    let info = OtherPrimeInfo { prime: number(&third), exponent: number(&one), coefficient: number(&one) };
    let file = secret().to_pkcs1_der().unwrap();
    let mut key = RsaPrivateKeyRef::from_der(file.as_bytes()).unwrap();
    assert!(SecretKey::read_pkcs1(&key.to_der().unwrap()).is_ok());
    key.other_prime_infos = Some(vec![info]);
    let file = key.to_der().unwrap();
    assert_eq!(SecretKey::read_pkcs1(&file).err(), Some(KeyFileError::MorePrimes));
    assert_eq!(SecretKey::from_pkcs1_der(&file).err(), Some(pkcs1::Error::Version));
}

#[test]
fn only_rsa_encryption_with_null_for_parameters_is_read() {
    assert!(SecretKey::read_pkcs8(&pkcs8_with(ENCRYPTION, None)).is_ok());
    assert!(PublicKey::read_spki(&spki_with(ENCRYPTION)).is_ok());
    for (algorithm, error) in
        [(WITHOUT_NULL, KeyFileError::Parameters), (PSS_ALONE, KeyFileError::Algorithm { found: PSS })]
    {
        let (secret, public) = (pkcs8_with(algorithm, None), spki_with(algorithm));
        assert_eq!(SecretKey::read_pkcs8(&secret).err(), Some(error));
        assert_eq!(SecretKey::from_pkcs8_der(&secret).err(), Some(error.into()));
        assert_eq!(PublicKey::read_spki(&public).err(), Some(error));
        assert_eq!(PublicKey::from_public_key_der(&public).err(), Some(error.into()));
    }
}

#[test]
fn a_public_key_beside_the_secret_one_must_be_its_own() {
    let with = |public: &[u8]| SecretKey::read_pkcs8(&pkcs8_with(ENCRYPTION, Some(public))).map(drop);
    let own = secret().public_key().to_pkcs1_der().unwrap();
    assert_eq!(with(own.as_bytes()), Ok(()));
    let other = key(Rsa::new(), Size::Bits3072).public_key().to_pkcs1_der().unwrap();
    assert_eq!(with(other.as_bytes()), Err(KeyFileError::PublicKey));
    assert!(matches!(with(b"no key"), Err(KeyFileError::Der(_))));
}

#[test]
fn what_was_expected_and_what_was_found_is_told() {
    let told = |file: &[u8]| SecretKey::read_pkcs1(file).unwrap_err().to_string();
    let (short, long, even) = (vec![0xff; 128], vec![0xff; 1024], [&[0xff; 255][..], &[0xfe]].concat());
    let changed = |modulus: &[u8], exponent: &[u8]| {
        let number = |bytes| UintRef::new(bytes).unwrap();
        let secret = told(&pkcs1_with_public(modulus, exponent));
        let public = RsaPublicKeyRef { modulus: number(modulus), public_exponent: number(exponent) };
        assert_eq!(PublicKey::read_pkcs1(&public.to_der().unwrap()).unwrap_err().to_string(), secret);
        secret
    };
    let e = [1, 0, 1];
    assert_eq!(changed(&short, &e), "modulus has 1024 bits; expected 2048, 3072 or 4096");
    assert_eq!(changed(&long, &e), "modulus has 8192 bits; expected 2048, 3072 or 4096");
    assert_eq!(changed(&even, &e), "modulus is even; expected a product of two odd primes");
    let modulus = secret().public_key().modulus();
    assert_eq!(changed(&modulus, &[1]), "public exponent is 1; expected an odd number from 3 on");
    assert_eq!(changed(&modulus, &[4]), "public exponent is 4; expected an odd number from 3 on");
    assert_eq!(changed(&modulus, &[1, 0, 0, 0, 0, 0, 0, 0, 1]), "public exponent has 65 bits; expected at most 64");
    let parts = "parts of the secret key do not belong together; expected two primes of half the modulus' size, with their exponents and coefficient";
    assert_eq!(told(&pkcs1_with(|key| key.exponent1 = key.exponent2)), parts);
    let other = told_of_info(&pkcs8_with(PSS_ALONE, None));
    assert_eq!(other, "algorithm is 1.2.840.113549.1.1.10; expected rsaEncryption, 1.2.840.113549.1.1.1");
    assert!(told(&[]).starts_with("structure of the key is malformed: "));
}

fn told_of_info(file: &[u8]) -> String {
    SecretKey::read_pkcs8(file).unwrap_err().to_string()
}

/// The secret key with another public one.
fn pkcs1_with_public(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let file = secret().to_pkcs1_der().unwrap();
    let mut key = RsaPrivateKeyRef::from_der(file.as_bytes()).unwrap();
    key.modulus = UintRef::new(modulus).unwrap();
    key.public_exponent = UintRef::new(exponent).unwrap();
    key.to_der().unwrap()
}

#[test]
fn the_traits_of_pkcs8_tell_whether_a_key_is_too_short_or_too_long() {
    let refused = |bytes: usize| {
        let key = pkcs1_with_public(&vec![0xff; bytes], &[1, 0, 1]);
        let info = PrivateKeyInfoRef::new(ENCRYPTION, OctetStringRef::new(&key).unwrap());
        SecretKey::from_pkcs8_der(&info.to_der().unwrap()).err()
    };
    assert_eq!(refused(128), Some(pkcs8::Error::KeyMalformed(KeyError::TooShort)));
    assert_eq!(refused(320), Some(pkcs8::Error::KeyMalformed(KeyError::Invalid)), "between two sizes");
    assert_eq!(refused(1024), Some(pkcs8::Error::KeyMalformed(KeyError::TooLong)));
}
