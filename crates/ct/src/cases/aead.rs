//! AEADs through the traits of crate `aead`: key, message and associated data are secret; nonce and lengths are public, and so is whether a tag is right.

use super::sm4::{case, unseen};
use crate::case::Case;
use candor_cpu::{Cpu, secret};
use candor_primitives::aead::{
    AeadInOut, Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, Nonce, RandomNonce, Sm4Ccm, Sm4Gcm, XChaCha20Poly1305,
};
use std::hint::black_box;

pub(super) const CASES: &[Case] = &[
    case("aead/aes-gcm@portable", ("aes-gcm", "library"), "portable", aes_gcm),
    case("aead/aes-gcm@clmul", ("aes-gcm", "aes-ni"), "clmul", aes_gcm),
    unseen(
        "aead/aes-gcm@vpclmul",
        ("aes-gcm", "vaes"),
        &["aes::gcm_prepare_vaes::with_features", "aes::gcm_vaes::with_features"],
        aes_gcm,
    ),
    unseen(
        "aead/aes-gcm@avx512",
        ("aes-gcm", "avx512"),
        &["aes::gcm_prepare_avx512::with_features", "aes::gcm_avx512::with_features"],
        aes_gcm,
    ),
    case("aead/random-nonce@clmul", ("aes-gcm", "aes-ni"), "clmul", random_nonce),
    case("aead/chacha20-poly1305@portable", ("chacha20-poly1305", "portable"), "portable", chacha20_poly1305),
    case("aead/chacha20-poly1305@avx2", ("chacha20-poly1305", "avx2"), "avx2", chacha20_poly1305),
    unseen(
        "aead/chacha20-poly1305@avx512",
        ("chacha20-poly1305", "avx512"),
        &["chacha20_poly1305::run_avx512::with_features", "chacha20_poly1305::run_avx512::short_with_features"],
        chacha20_poly1305,
    ),
    case("aead/sm4-gcm@portable", ("sm4-gcm", "portable"), "portable", sm4_gcm),
    case("aead/sm4-gcm@clmul", ("sm4-gcm", "aes-ni"), "clmul", sm4_gcm),
    case("aead/sm4-gcm@avx2", ("sm4-gcm", "avx2"), "avx2", sm4_gcm),
    unseen(
        "aead/sm4-gcm@vpclmul",
        ("sm4-gcm", "vaes"),
        &["sm4::vaes::gcm_prepare::with_features", "sm4::vaes::gcm::with_features"],
        sm4_gcm,
    ),
    unseen(
        "aead/sm4-gcm@gfni",
        ("sm4-gcm", "gfni"),
        &["sm4::gfni::gcm_prepare::with_features", "sm4::gfni::gcm::with_features"],
        sm4_gcm,
    ),
    unseen(
        "aead/sm4-gcm@avx512",
        ("sm4-gcm", "avx512"),
        &["sm4::avx512::gcm_prepare::with_features", "sm4::avx512::gcm::with_features"],
        sm4_gcm,
    ),
    case("aead/sm4-ccm@portable", ("sm4-ccm", "portable"), "portable", sm4_ccm),
    case("aead/sm4-ccm@clmul", ("sm4-ccm", "aes-ni"), "clmul", sm4_ccm),
    case("aead/sm4-ccm@avx2", ("sm4-ccm", "avx2"), "avx2", sm4_ccm),
    unseen("aead/sm4-ccm@vpclmul", ("sm4-ccm", "vaes"), &["sm4::vaes::ccm::with_features"], sm4_ccm),
    unseen("aead/sm4-ccm@gfni", ("sm4-ccm", "gfni"), &["sm4::gfni::ccm::with_features"], sm4_ccm),
    unseen("aead/sm4-ccm@avx512", ("sm4-ccm", "avx512"), &["sm4::avx512::ccm::with_features"], sm4_ccm),
];

fn aes_gcm(cpu: Cpu) {
    run(cpu, LENGTHS, Aes128Gcm::with_cpu);
    run(cpu, LENGTHS, Aes256Gcm::with_cpu);
}

fn chacha20_poly1305(cpu: Cpu) {
    run(cpu, LONGER, ChaCha20Poly1305::with_cpu);
    run(cpu, LONGER, XChaCha20Poly1305::with_cpu);
}

fn sm4_gcm(cpu: Cpu) {
    run(cpu, LENGTHS, Sm4Gcm::with_cpu);
}

fn sm4_ccm(cpu: Cpu) {
    run(cpu, LENGTHS, Sm4Ccm::with_cpu);
}

/// The nonce is the operating system's, and public.
fn random_nonce(cpu: Cpu) {
    let (key, aad, message) = (std::array::from_fn(|i| i as u8), [3; AAD], [7; 100]);
    secret::poison(&key);
    secret::poison(&aad);
    secret::poison(&message);
    let cipher = RandomNonce::new(Aes256Gcm::with_cpu(cpu, black_box(&key)));
    let mut sealed = cipher.seal(&aad, black_box(&message)).expect("a short message");
    let opened = cipher.open(&aad, black_box(&sealed)).expect("it was sealed under this key");
    sealed[40] ^= 1;
    assert!(cipher.open(&aad, black_box(&sealed)).is_err(), "a message that was changed is opened");
    secret::declassify(&opened, "result");
    assert!(opened == [7; 100], "the message is another after sealing and opening");
}

/// More than the widest arm has in flight, twice and a part of a block; and a short message, for which some arms have code of its own.
const LENGTHS: [usize; 2] = [2701, 21];
/// The same for ChaCha20-Poly1305, which takes AVX2 up to 64 bytes where there is AVX-512.
const LONGER: [usize; 2] = [2701, 75];
const AAD: usize = 45;

/// Seals, opens with a wrong tag, and opens with the right one. What was sealed stays secret, so that nothing depends on where it came from.
fn run<A: AeadInOut, const KEY: usize>(cpu: Cpu, lengths: [usize; 2], new: fn(Cpu, &[u8; KEY]) -> A) {
    let [long, short] = lengths;
    // Without associated data some modes take another way.
    for (length, aad) in [(long, AAD), (short, AAD), (short, 0)] {
        let (key, aad, nonce) = (std::array::from_fn(|i| i as u8), vec![3; aad], Nonce::<A>::default());
        let mut expected = vec![7; length];
        let sealed = new(Cpu::portable(), &key).encrypt_inout_detached(&nonce, &aad, expected.as_mut_slice().into());
        let expected_tag = sealed.expect("a short message");
        secret::arms();

        let mut data = vec![7; length];
        secret::poison(&key);
        secret::poison(&aad);
        secret::poison(&data);
        let cipher = new(cpu, black_box(&key));
        let sealed = cipher.encrypt_inout_detached(&nonce, &aad, data.as_mut_slice().into());
        let tag = sealed.expect("a short message");

        let (mut refused, mut wrong) = (data.clone(), tag.clone());
        wrong[15] ^= 1;
        let opened = cipher.decrypt_inout_detached(&nonce, &aad, refused.as_mut_slice().into(), &wrong);
        assert!(opened.is_err() && refused.iter().all(|byte| *byte == 0), "a wrong tag opens the message");
        let mut message = data.clone();
        let opened = cipher.decrypt_inout_detached(&nonce, &aad, message.as_mut_slice().into(), &tag);
        assert!(opened.is_ok(), "the right tag does not open the message");

        for bytes in [&data[..], &tag, &message] {
            secret::declassify(bytes, "result");
        }
        assert!(message.iter().all(|byte| *byte == 7), "the message is another after sealing and opening");
        assert!(data == expected && tag == expected_tag, "the result is wrong, so whatever ran was not this algorithm");
    }
}
