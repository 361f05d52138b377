//! NIST's vectors (CAVP, FIPS 186-3): signatures with what they were made from, and signatures to verify.

use super::{Numbers, arms};
use candor_primitives::hash::{Sha256, Sha384, Sha512};
use candor_primitives::rsa::{Pkcs1v15, Pss, Scheme, Signature};
use candor_test_support::vectors::{self, bytes};
use serde_json::Value;
use std::convert::Infallible;

/// A generator that gives a salt first, and then a counter's bytes.
struct Salted {
    salt: Option<Vec<u8>>,
    counter: u8,
}

impl rand_core::TryRng for Salted {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        match self.salt.take() {
            Some(salt) => out.copy_from_slice(&salt),
            None => out.fill_with(|| {
                self.counter = self.counter.wrapping_add(1);
                self.counter
            }),
        }
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Salted {}

/// Calls `$run` with the scheme of a vector's hash.
macro_rules! with_hash {
    ($scheme:ident, $test:expr, $run:ident($($argument:expr),*)) => {
        match $test["hash"].as_str() {
            Some("sha256") => $run::<$scheme<Sha256>>($($argument),*),
            Some("sha384") => $run::<$scheme<Sha384>>($($argument),*),
            Some("sha512") => $run::<$scheme<Sha512>>($($argument),*),
            other => panic!("no hash {other:?}"),
        }
    };
}

/// A signature of the vector's message, on each arm.
fn signed<S: Scheme>(key: &Numbers, test: &Value) {
    for rsa in arms() {
        let key = rsa.secret_from_parts(&key.parts()).unwrap();
        let mut rng = Salted { salt: test.get("salt").map(|_| bytes(test, "salt")), counter: 0 };
        let signature = key.sign_with::<S>(&bytes(test, "message"), &mut rng).unwrap();
        assert_eq!(signature.as_bytes(), bytes(test, "signature"), "{}", rsa.arm());
        assert_eq!(key.public_key().verify(&bytes(test, "message"), &signature), Ok(()), "{}", rsa.arm());
    }
}

/// Whether the vector's signature is its key's, which must be as the vector says.
fn verified<S: Scheme>(modulus: &[u8], test: &Value) -> bool {
    let expected = test["valid"].as_bool().unwrap();
    for rsa in arms() {
        let key = rsa.public_from_parts(modulus, &bytes(test, "exponent")).unwrap();
        // Some are longer or shorter than the modulus, and none as soon as they are read.
        let signature = Signature::<S>::from_bytes(&bytes(test, "signature"));
        let is_valid = signature.and_then(|signature| key.verify(&bytes(test, "message"), &signature)).is_ok();
        assert_eq!(is_valid, expected, "{} {}", rsa.arm(), test["reason"]);
    }
    expected
}

#[test]
fn signatures_by_pkcs1v15_are_those_of_siggen15() {
    let file = vectors::load("rsa.json");
    let mut count = 0;
    for group in vectors::list(&file, "sign-pkcs1v15") {
        let key = Numbers::from_pkcs1(&bytes(group, "key"));
        for test in vectors::list(group, "tests") {
            with_hash!(Pkcs1v15, test, signed(&key, test));
            count += 1;
        }
    }
    assert_eq!(count, 60);
}

#[test]
fn signatures_by_pss_with_the_salt_of_siggenpss_are_its_own() {
    let file = vectors::load("rsa.json");
    let mut count = 0;
    for group in vectors::list(&file, "sign-pss") {
        let key = Numbers::from_pkcs1(&bytes(group, "key"));
        for test in vectors::list(group, "tests") {
            with_hash!(Pss, test, signed(&key, test));
            count += 1;
        }
    }
    assert_eq!(count, 20);
}

#[test]
fn signatures_of_sigver15_and_sigverpss_are_judged_as_there() {
    let file = vectors::load("rsa.json");
    let (mut valid, mut invalid) = (0, 0);
    for group in vectors::list(&file, "verify-pkcs1v15") {
        for test in vectors::list(group, "tests") {
            let is_valid = with_hash!(Pkcs1v15, test, verified(&bytes(group, "modulus"), test));
            *if is_valid { &mut valid } else { &mut invalid } += 1;
        }
    }
    assert_eq!((valid, invalid), (18, 90));
    for group in vectors::list(&file, "verify-pss") {
        for test in vectors::list(group, "tests") {
            let is_valid = with_hash!(Pss, test, verified(&bytes(group, "modulus"), test));
            *if is_valid { &mut valid } else { &mut invalid } += 1;
        }
    }
    assert_eq!((valid, invalid), (27, 135));
}
