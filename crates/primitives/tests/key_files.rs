//! ML-KEM keys in PKCS#8 and SubjectPublicKeyInfo: the examples of RFC 9935, good and bad, and what is damaged on the way.

use candor_primitives::kem::pkcs8::{
    AssociatedOid, Form, KeyError, SecretDocument, public_from_spki, public_to_spki, secret_from_pkcs8, secret_to_pkcs8,
};
use candor_primitives::kem::{Kem, KemError, aws_lc, libcrux, rustcrypto};
use candor_test_support::vectors::{bytes, list, load};
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::{BitStringRef, OctetStringRef};
use pkcs8::der::{AnyRef, Encode};

fn example(name: &str) -> serde_json::Value {
    let file = load("ml-kem-pkcs8.json");
    list(&file, "keys").iter().find(|key| key["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

fn public_bytes<K: Kem>(kem: &K, public: &K::Public) -> Vec<u8> {
    let mut bytes = vec![0; K::PUBLIC];
    kem.public_to_bytes(public, &mut bytes).unwrap();
    bytes
}

/// The public key's file, and the expanded form, which every back end has.
fn reads_and_writes<K: Kem + AssociatedOid>(kem: K) {
    let example = example(K::NAME);
    let public = bytes(&example, "public");
    let read = public_from_spki(&kem, &public).unwrap();
    assert_eq!(public_to_spki(&kem, &read).unwrap().as_bytes(), public);

    let expanded = bytes(&example, "expanded");
    let secret = secret_from_pkcs8(&kem, &expanded).unwrap();
    assert_eq!(secret_to_pkcs8(&kem, &secret, Form::Expanded).unwrap().as_bytes(), expanded);
    let mut ciphertext = vec![0; K::CIPHERTEXT];
    let sent = kem.encapsulate(&read, &mut ciphertext).unwrap();
    assert_eq!(kem.decapsulate(&secret, &ciphertext).unwrap(), sent);
    assert_eq!(
        &kem.secret_to_bytes(&secret).unwrap()[K::SECRET - 64 - K::PUBLIC..K::SECRET - 64],
        public_bytes(&kem, &read)
    );
}

/// The forms with a seed, for back ends that take one.
fn reads_and_writes_seeds<K: Kem + AssociatedOid>(kem: K) {
    let example = example(K::NAME);
    for (form, name) in [(Form::Seed, "seed"), (Form::Both, "both")] {
        let file = bytes(&example, name);
        let secret = secret_from_pkcs8(&kem, &file).unwrap();
        assert_eq!(kem.secret_to_seed(&secret).unwrap().as_slice(), (0..64).collect::<Vec<u8>>());
        for (other, name) in [(Form::Seed, "seed"), (Form::Expanded, "expanded"), (Form::Both, "both")] {
            assert_eq!(secret_to_pkcs8(&kem, &secret, other).unwrap().as_bytes(), bytes(&example, name), "{form:?}");
        }
    }
    // An expanded key has lost its seed.
    let secret = secret_from_pkcs8(&kem, &bytes(&example, "expanded")).unwrap();
    for form in [Form::Seed, Form::Both] {
        assert_eq!(secret_to_pkcs8(&kem, &secret, form).err(), Some(KeyError::Kem(KemError::NoSeed)));
    }
}

#[test]
fn the_rfcs_examples_are_read_and_written_by_every_back_end() {
    reads_and_writes(aws_lc::MlKem512);
    reads_and_writes(aws_lc::MlKem768);
    reads_and_writes(aws_lc::MlKem1024);
    reads_and_writes(libcrux::MlKem512);
    reads_and_writes(libcrux::MlKem768);
    reads_and_writes(libcrux::MlKem1024);
    reads_and_writes(rustcrypto::MlKem512);
    reads_and_writes(rustcrypto::MlKem768);
    reads_and_writes(rustcrypto::MlKem1024);
}

#[test]
fn seeds_are_read_and_written_by_back_ends_that_have_them() {
    reads_and_writes_seeds(libcrux::MlKem512);
    reads_and_writes_seeds(libcrux::MlKem768);
    reads_and_writes_seeds(libcrux::MlKem1024);
    reads_and_writes_seeds(rustcrypto::MlKem512);
    reads_and_writes_seeds(rustcrypto::MlKem768);
    reads_and_writes_seeds(rustcrypto::MlKem1024);
}

#[test]
fn aws_lc_refuses_seeds_by_name() {
    let unsupported = Some(KeyError::Kem(KemError::SeedUnsupported));
    let kem = aws_lc::MlKem768;
    for form in ["seed", "both"] {
        assert_eq!(secret_from_pkcs8(&kem, &bytes(&example("ML-KEM-768"), form)).err(), unsupported);
    }
    let (secret, _) = kem.generate().unwrap();
    for form in [Form::Seed, Form::Both] {
        assert_eq!(secret_to_pkcs8(&kem, &secret, form).err(), unsupported);
    }
    assert!(secret_to_pkcs8(&kem, &secret, Form::Expanded).is_ok());
}

/// RFC 9935, "Examples of Bad Private Keys": of other keys, with a changed secret, with a changed hash, with another z.
#[test]
fn the_rfcs_bad_examples_are_refused() {
    let file = load("ml-kem-pkcs8.json");
    let bad: Vec<Vec<u8>> = list(&file, "bad").iter().map(|bad| bytes(bad, "private")).collect();
    let differ = KeyError::Contradiction("seed and expanded key are of different keys");
    let pair = KeyError::Contradiction("secret and public part of the expanded key are of different keys");
    let hash = KeyError::Kem(KemError::SecretKey);
    let expected = [&differ, &pair, &hash, &differ].map(|error| Some(error.clone()));
    let found = [0, 1, 2, 3].map(|at| secret_from_pkcs8(&libcrux::MlKem512, &bad[at]).err());
    assert_eq!(found, expected);
    let found = [0, 1, 2, 3].map(|at| secret_from_pkcs8(&rustcrypto::MlKem512, &bad[at]).err());
    assert_eq!(found, expected);
    assert_eq!([1, 2].map(|at| secret_from_pkcs8(&aws_lc::MlKem512, &bad[at]).err()), [Some(pair), Some(hash)]);
}

#[test]
fn a_key_of_another_algorithm_is_refused_and_both_are_named() {
    let example = example("ML-KEM-768");
    let wrong = |error: Option<KeyError>| match error {
        Some(KeyError::Algorithm { expected, found }) => (expected, found),
        other => panic!("{other:?}"),
    };
    let (expected, found) = (libcrux::MlKem512::OID, libcrux::MlKem768::OID);
    for form in ["seed", "expanded", "both"] {
        assert_eq!(wrong(secret_from_pkcs8(&libcrux::MlKem512, &bytes(&example, form)).err()), (expected, found));
    }
    assert_eq!(wrong(public_from_spki(&libcrux::MlKem512, &bytes(&example, "public")).err()), (expected, found));
}

#[test]
fn a_document_that_is_cut_short_or_goes_on_is_refused() {
    let example = example("ML-KEM-512");
    let kem = libcrux::MlKem512;
    for form in ["seed", "expanded", "both"] {
        let file = bytes(&example, form);
        assert!((0..file.len()).all(|length| secret_from_pkcs8(&kem, &file[..length]).is_err()), "{form}");
        assert!(secret_from_pkcs8(&kem, &[&file[..], &[0]].concat()).is_err(), "{form}");
        assert!(secret_from_pkcs8(&kem, &file).is_ok(), "{form}");
    }
    let file = bytes(&example, "public");
    assert!((0..file.len()).all(|length| public_from_spki(&kem, &file[..length]).is_err()));
    assert!(public_from_spki(&kem, &[&file[..], &[0]].concat()).is_err());
}

/// What stands before the key itself: tags, lengths, version, object identifier.
#[test]
fn a_changed_bit_in_a_header_is_refused() {
    let example = example("ML-KEM-512");
    let kem = rustcrypto::MlKem512;
    for (form, key) in [("seed", 64), ("expanded", 1632), ("both", 1632 + 4 + 66)] {
        let file = bytes(&example, form);
        for bit in 0..8 * (file.len() - key) {
            let mut changed = file.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(secret_from_pkcs8(&kem, &changed).is_err(), "{form}, bit {bit}");
        }
    }
    let file = bytes(&example, "public");
    for bit in 0..8 * (file.len() - 800) {
        let mut changed = file.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(public_from_spki(&kem, &changed).is_err(), "bit {bit}");
    }
}

/// The seed beside it determines every byte.
#[test]
fn a_changed_byte_of_an_expanded_key_is_refused_beside_its_seed() {
    let file = bytes(&example("ML-KEM-512"), "both");
    for at in (file.len() - 1632..file.len()).step_by(7) {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(secret_from_pkcs8(&libcrux::MlKem512, &changed).is_err(), "byte {at}");
    }
    assert!(secret_from_pkcs8(&libcrux::MlKem512, &file).is_ok());
}

/// The same document with other parameters, or with a public key beside the private one.
fn rewritten(file: &[u8], parameters: Option<AnyRef<'_>>, public: Option<&[u8]>) -> SecretDocument {
    let mut info = PrivateKeyInfoRef::try_from(file).unwrap();
    info.algorithm.parameters = parameters;
    info.public_key = public.map(|public| BitStringRef::from_bytes(public).unwrap());
    SecretDocument::encode_msg(&info).unwrap()
}

#[test]
fn parameters_are_refused_even_if_they_are_null() {
    let file = bytes(&example("ML-KEM-512"), "seed");
    let kem = libcrux::MlKem512;
    assert!(secret_from_pkcs8(&kem, rewritten(&file, None, None).as_bytes()).is_ok());
    let with_null = rewritten(&file, Some(AnyRef::NULL), None);
    assert_eq!(secret_from_pkcs8(&kem, with_null.as_bytes()).err(), Some(KeyError::Parameters));
}

#[test]
fn a_public_key_beside_the_private_key_must_be_its_own() {
    let example = example("ML-KEM-512");
    let kem = libcrux::MlKem512;
    let own = public_bytes(&kem, &public_from_spki(&kem, &bytes(&example, "public")).unwrap());
    let mut others = own.clone();
    others[799] ^= 1;
    for form in ["seed", "expanded", "both"] {
        let read = |public| secret_from_pkcs8(&kem, rewritten(&bytes(&example, form), None, Some(public)).as_bytes());
        assert!(read(&own).is_ok(), "{form}");
        assert!(matches!(read(&others), Err(KeyError::Contradiction(_))), "{form}");
        assert!(matches!(read(&own[1..]), Err(KeyError::Contradiction(_))), "{form}");
    }
}

#[test]
fn a_seed_of_another_length_is_refused() {
    let (kem, example) = (libcrux::MlKem512, bytes(&example("ML-KEM-512"), "seed"));
    for length in [0, 32, 63, 64, 65] {
        // The implicit tag [0] around so many bytes.
        let seed = [&[0x80, length as u8][..], &vec![7; length]].concat();
        let algorithm = PrivateKeyInfoRef::try_from(&example[..]).unwrap().algorithm;
        let file = PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(&seed).unwrap()).to_der().unwrap();
        assert_eq!(secret_from_pkcs8(&kem, &file).is_ok(), length == 64, "{length}");
    }
}
