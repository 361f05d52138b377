//! Published signatures, whose nonces no public method takes, and what depends on nonces.

use super::ecdsa::number;
use super::*;
use crate::curve::Modulus;
use crate::curve::words::{Words, minus, small, to_bytes};
use crate::hash::{Digest, Sha256, Sha384, Sha512};
use candor_test_support::vectors;
use rand_core::UnwrapErr;
use std::vec::Vec;

/// A curve on each arm of this machine.
fn arms<C: NamedCurve>() -> Vec<Ec<C>> {
    let mut arms: Vec<Ec<C>> = [Cpu::host(), Cpu::portable()].map(Ec::with_cpu).into();
    arms.dedup_by_key(|ec| ec.arm());
    arms
}

/// NIST's examples (FIPS 186-4, CAVP, SigGen.txt).
fn check_published<C: EcdsaCurve>(name: &str) {
    let file = vectors::load("ecdsa.json");
    let list = file[name].as_array().unwrap();
    assert_eq!(list.len(), 15);
    for (ec, vector) in arms::<C>().iter().flat_map(|ec| list.iter().map(move |vector| (ec, vector))) {
        let number = |name| number::<C>(&vectors::bytes(vector, name));
        let secret = ec.secret_from_slice(&vectors::bytes(vector, "secret")).unwrap();
        assert_eq!(secret.public_key().to_bytes().as_ref(), vectors::bytes(vector, "public"));
        let signature = secret.sign_by(&number("digest"), &number("nonce")).unwrap();
        assert_eq!(signature.to_bytes().as_ref(), vectors::bytes(vector, "signature"));
        assert_eq!(secret.public_key().verify_digest(&vectors::bytes(vector, "digest"), &signature), Ok(()));
    }
}

#[test]
fn signatures_with_nists_nonces_are_nists() {
    check_published::<P256>("p256");
    check_published::<P384>("p384");
}

#[test]
fn signatures_without_randomness_are_those_of_rfc_6979() {
    let file = vectors::load("ecdsa.json");
    for (ec, vector) in
        arms::<P256>().iter().flat_map(|ec| file["rfc6979"].as_array().unwrap().iter().map(move |vector| (ec, vector)))
    {
        let secret = ec.secret_from_slice(&vectors::bytes(vector, "secret")).unwrap();
        let message = vector["message"].as_str().unwrap().as_bytes();
        let signature = match vector["hash"].as_str().unwrap() {
            "SHA-256" => secret.sign_deterministic(message),
            // Its digest is longer than the order.
            "SHA-512" => secret.sign_digest_deterministic::<Sha512>(&Sha512::digest(message)).unwrap(),
            other => panic!("no test for {other}"),
        };
        assert_eq!(signature.to_bytes().as_slice(), vectors::bytes(vector, "signature"));
    }
}

fn check_zeros<C: EcdsaCurve>() {
    for ec in arms::<C>() {
        let mut bytes = C::W::ZERO_BYTES;
        bytes.as_mut()[..].fill(0x42);
        let secret = ec.secret_from_bytes(&bytes).unwrap();
        let digest = small::<C::W>(9);
        assert!(secret.sign_by(&digest, &C::W::ZERO).is_none());
        for nonce in [small(1), minus(&C::Order::P, &small(1)), minus(&C::Order::P, &small(2))] {
            let signature = secret.sign_by(&digest, &nonce).unwrap();
            assert_eq!(secret.public_key().verify_digest(to_bytes(&digest).as_ref(), &signature), Ok(()));
        }
        // With k = 1, r is x(G), and s is zero for e = −r·d.
        let e = on_arm!(ec, |group: C| {
            let n = group.order;
            let r = n.reduced(&C::GENERATOR[0]);
            n.negative(&n.product(&n.enter(&r), &secret.scalar))
        });
        assert!(secret.sign_by(&e, &small(1)).is_none());
        for e in [minus(&e, &small(1)), minus(&e, &small(2))] {
            assert!(secret.sign_by(&e, &small(1)).is_some());
        }
    }
}

#[test]
fn nonces_that_make_a_zero_are_refused_and_their_neighbours_are_not() {
    check_zeros::<P256>();
    check_zeros::<P384>();
}

fn check_nonces<C: EcdsaCurve>() {
    let secret = |byte| {
        let mut bytes = C::W::ZERO_BYTES;
        bytes.as_mut().fill(byte);
        Ec::<C>::new().secret_from_bytes(&bytes).unwrap()
    };
    let one = |key, digest, fresh, count| *secret(key).ecdsa_nonce(&small(digest), &[fresh; 32], count);
    let usual = one(1, 2, 3, 0);
    assert_eq!(one(1, 2, 3, 0), usual);
    for other in [one(4, 2, 3, 0), one(1, 4, 3, 0), one(1, 2, 4, 0), one(1, 2, 3, 1)] {
        assert_ne!(other, usual);
    }
}

#[test]
fn a_nonce_depends_on_the_key_the_digest_the_randomness_and_its_number() {
    check_nonces::<P256>();
    check_nonces::<P384>();
}

/// What is counted in `nonce` is a number of 512 bits, each half where it belongs.
#[test]
fn a_nonce_is_a_hash_modulo_n() {
    let secret = Ec::<P384>::new().secret_from_bytes(&[7; 48]).unwrap();
    let digest = small::<[u64; 6]>(5);
    let mut hash = Sha512::new();
    for part in [P384::LABEL.as_slice(), &[2], &[7; 48], &[9; 32], &to_bytes(&digest)] {
        hash.update(part);
    }
    let hash: [u8; 64] = hash.finalize().into();
    let expected = hash.iter().fold([0; 6], |sum, byte| {
        // 256 times the sum, and the byte.
        let n = &<P384 as Curve>::Order::P;
        let twice = (0..8).fold(sum, |sum, _| crate::curve::modulus::shifted(sum, n, 1));
        let (sum, mut carry) = (twice, u64::from(*byte));
        let sum = sum.map(|word| {
            let (word, above) = word.overflowing_add(carry);
            carry = u64::from(above);
            word
        });
        if crate::curve::words::is_below(&sum, n) && carry == 0 { sum } else { minus(&sum, n) }
    });
    assert_eq!(*secret.ecdsa_nonce(&digest, &[9; 32], 2), expected);
}

#[test]
fn digests_of_other_lengths_than_the_orders_are_cut_or_taken_as_they_are() {
    let secret = Ec::<P256>::new().generate_with(&mut UnwrapErr(getrandom::SysRng)).unwrap();
    let long = Sha384::digest(b"message");
    let signature = secret.sign_digest(&long).unwrap();
    assert_eq!(secret.public_key().verify_digest(&long[..32], &signature), Ok(()));
    assert_eq!(secret.public_key().verify_digest(&long[1..33], &signature), Err(EcError::Signature));
    let short = &Sha256::digest(b"message")[..16];
    let signature = secret.sign_digest(short).unwrap();
    assert_eq!(secret.public_key().verify_digest(&[&[0; 16], short].concat(), &signature), Ok(()));
    assert_eq!(secret.sign_digest(&short[1..]).err(), Some(EcError::Digest));
    assert_eq!(secret.public_key().verify_digest(&short[1..], &signature), Err(EcError::Digest));
    assert_eq!(secret.sign_digest_deterministic::<Sha256>(&long).err(), Some(EcError::Digest));
}
