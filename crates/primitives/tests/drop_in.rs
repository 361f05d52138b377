//! RustCrypto's generic crates take our hashes and ciphers as they are, and compute with them what they compute with RustCrypto's own.

use candor_primitives::Cpu;
use candor_primitives::aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit,
    StreamCipher, StreamCipherSeek,
};
use candor_primitives::aes::{Aes128, Aes128Ctr, Aes128Decrypt};
use candor_primitives::hash::digest::common::hazmat::SerializableState;
use candor_primitives::hash::digest::const_oid::AssociatedOid;
use candor_primitives::hash::{
    Blake2b256, Blake2b512, Digest, ExtendableOutput, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Shake128, Shake256,
    Sm3, Update, XofReader,
};
use digest::typenum::U12;
use hmac::{Hmac, Mac, SimpleHmac};
use proptest::prelude::*;

#[test]
fn object_identifiers_are_those_of_rustcrypto() {
    assert_eq!(Sha256::OID, sha2::Sha256::OID);
    assert_eq!(Sha384::OID, sha2::Sha384::OID);
    assert_eq!(Sha512::OID, sha2::Sha512::OID);
    assert_eq!(Sha3_256::OID, sha3::Sha3_256::OID);
    assert_eq!(Sha3_512::OID, sha3::Sha3_512::OID);
    assert_eq!(Sm3::OID, sm3::Sm3::OID);
}

/// RFC 7693, Appendix C, and FIPS 202's OIDs at NIST, which the oracles do not have.
#[test]
fn object_identifiers_are_those_of_the_standards() {
    assert_eq!(Blake2b256::OID.to_string(), "1.3.6.1.4.1.1722.12.2.1.8");
    assert_eq!(Blake2b512::OID.to_string(), "1.3.6.1.4.1.1722.12.2.1.16");
    assert_eq!(Shake128::OID.to_string(), "2.16.840.1.101.3.4.2.11");
    assert_eq!(Shake256::OID.to_string(), "2.16.840.1.101.3.4.2.12");
}

#[test]
fn hmac_takes_our_hashes() {
    let mut ours = Hmac::<Sm3>::new_from_slice(b"key").unwrap();
    Mac::update(&mut ours, b"message");
    let mut theirs = Hmac::<sm3::Sm3>::new_from_slice(b"key").unwrap();
    Mac::update(&mut theirs, b"message");
    assert_eq!(ours.finalize().into_bytes(), theirs.finalize().into_bytes());

    let mut ours = SimpleHmac::<Sha3_256>::new_from_slice(b"key").unwrap();
    Mac::update(&mut ours, b"message");
    let mut theirs = SimpleHmac::<sha3::Sha3_256>::new_from_slice(b"key").unwrap();
    Mac::update(&mut theirs, b"message");
    assert_eq!(ours.finalize().into_bytes(), theirs.finalize().into_bytes());
}

#[test]
fn hkdf_takes_our_hashes() {
    let (mut ours, mut theirs) = ([0; 100], [0; 100]);
    hkdf::Hkdf::<Sha384>::new(Some(b"salt"), b"secret").expand(b"info", &mut ours).unwrap();
    hkdf::Hkdf::<sha2::Sha384>::new(Some(b"salt"), b"secret").expand(b"info", &mut theirs).unwrap();
    assert_eq!(ours, theirs);
}

#[test]
fn pbkdf2_takes_our_hashes() {
    let (mut ours, mut theirs) = ([0; 40], [0; 40]);
    pbkdf2::pbkdf2_hmac::<Sha256>(b"password", b"salt", 3, &mut ours);
    pbkdf2::pbkdf2_hmac::<sha2::Sha256>(b"password", b"salt", 3, &mut theirs);
    assert_eq!(ours, theirs);
}

/// PKCS#1 v1.5 puts the hash's object identifier into what it signs.
#[test]
fn rsa_signs_and_verifies_over_our_hashes() {
    use rsa::pkcs1v15::{SigningKey, VerifyingKey};
    use rsa::signature::{Keypair, SignatureEncoding, Signer, Verifier};
    let mut rng = rand_core::UnwrapErr(getrandom::SysRng);
    let key = rsa::RsaPrivateKey::new(&mut rng, 1024).unwrap();

    let ours = SigningKey::<Sha256>::new(key.clone());
    let theirs = SigningKey::<sha2::Sha256>::new(key.clone());
    assert_eq!(ours.sign(b"message").to_bytes(), theirs.sign(b"message").to_bytes());

    let ours = SigningKey::<Sm3>::new(key.clone());
    let theirs: VerifyingKey<sm3::Sm3> = SigningKey::<sm3::Sm3>::new(key).verifying_key();
    let signature = ours.sign(b"message");
    assert!(theirs.verify(b"message", &signature).is_ok());
    assert!(theirs.verify(b"massage", &signature).is_err());
}

#[test]
fn ecdsa_signs_and_verifies_over_our_hashes() {
    use p256::ecdsa::signature::{DigestSigner, DigestVerifier};
    use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
    let key = SigningKey::from_bytes(&[7; 32].into()).unwrap();
    let ours: Signature = key.sign_digest(|hash: &mut Sha256| Update::update(hash, b"message"));
    let theirs: Signature = key.sign_digest(|hash: &mut sha2::Sha256| Update::update(hash, b"message"));
    assert_eq!(ours, theirs);
    let public = VerifyingKey::from(&key);
    let verify = |message: &'static [u8]| {
        public.verify_digest(
            |hash: &mut Sha256| {
                Update::update(hash, message);
                Ok(())
            },
            &theirs,
        )
    };
    assert!(verify(b"message").is_ok());
    assert!(verify(b"massage").is_err());
}

#[test]
fn aes_gcm_takes_our_aes() {
    use aes_gcm::AesGcm;
    use aes_gcm::aead::{AeadInOut, KeyInit};
    let ours = AesGcm::<Aes128, U12>::new(&[1; 16].into());
    let theirs = AesGcm::<aes::Aes128, U12>::new(&[1; 16].into());
    let mut text =
        *b"a text of more than eight blocks of sixteen bytes, so that some of them go to the cipher together, \
        and some of them alone, which is why it goes on and on for a while";
    let plain = text;
    let tag = ours.encrypt_inout_detached(&[2; 12].into(), b"header", (&mut text[..]).into()).unwrap();
    let mut damaged = text;
    damaged[0] ^= 1;
    assert!(theirs.decrypt_inout_detached(&[2; 12].into(), b"header", (&mut damaged[..]).into(), &tag).is_err());
    theirs.decrypt_inout_detached(&[2; 12].into(), b"header", (&mut text[..]).into(), &tag).unwrap();
    assert_eq!(text, plain);
}

/// 21 blocks: two times eight at once, and five alone.
#[test]
fn cbc_takes_our_aes_in_both_directions() {
    let plain: Vec<Array<u8, _>> = (0..21).map(|n| Array([n; 16])).collect();
    let (mut ours, mut theirs) = (plain.clone(), plain.clone());
    cbc::Encryptor::<Aes128>::new(&[1; 16].into(), &[2; 16].into()).encrypt_blocks(&mut ours);
    cbc::Encryptor::<aes::Aes128>::new(&[1; 16].into(), &[2; 16].into()).encrypt_blocks(&mut theirs);
    assert_eq!(ours, theirs);
    cbc::Decryptor::<Aes128Decrypt>::new(&[1; 16].into(), &[2; 16].into()).decrypt_blocks(&mut ours);
    assert_eq!(ours, plain);
}

/// A tier for each arm of AES that this machine has.
fn cpus() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().map(|tier| Cpu::named(tier.name).expect("a tier of this machine"))
}

#[test]
fn blocks_together_are_blocks_one_by_one() {
    for cpu in cpus() {
        let cipher = Aes128::with_cpu(cpu, &[3; 16]);
        let plain: Vec<Array<u8, _>> = (0..19).map(|n| Array([n; 16])).collect();
        let mut together = plain.clone();
        cipher.encrypt_blocks(&mut together);
        for (plain, block) in plain.iter().zip(&together) {
            let mut alone = plain.0;
            cipher.encrypt_block(&mut alone);
            assert_eq!(alone, block.0, "{cpu:?}");
        }
        let mut back = together;
        let inverse = Aes128Decrypt::with_cpu(cpu, &[3; 16]);
        inverse.decrypt_blocks(&mut back);
        assert_eq!(back, plain, "{cpu:?}");
    }
}

#[test]
fn a_key_stream_ends_before_its_counter_repeats() {
    let mut cipher = Aes128Ctr::new(&[1; 16], &[0xff; 16]);
    let end = 16 * u64::from(u32::MAX);
    assert!(cipher.try_seek(end + 1).is_err());
    assert!(cipher.try_seek(end - 5).is_ok());
    assert_eq!(cipher.current_pos::<u64>(), end - 5);
    let mut data = [0; 6];
    assert!(cipher.try_apply_keystream(&mut data).is_err());
    assert_eq!(data, [0; 6]);
    assert!(cipher.try_apply_keystream(&mut data[..5]).is_ok());
    assert_ne!(data, [0; 6]);
    assert!(cipher.try_apply_keystream(&mut data[..1]).is_err());
}

proptest! {
    /// Ours as a stream cipher, and crate `ctr` over our block cipher, both against crate `ctr` over crate `aes`.
    #[test]
    fn the_stream_cipher_is_ctr32_in_any_pieces(
        key: [u8; 16], iv: [u8; 16], blocks_to_the_wrap in prop::option::of(0u32..60),
        pieces in prop::collection::vec(0usize..200, 1..8), seek in 0u64..3000,
    ) {
        // A random counter would never wrap around.
        let mut iv = iv;
        if let Some(blocks) = blocks_to_the_wrap {
            iv[12..].copy_from_slice(&blocks.wrapping_neg().to_be_bytes());
        }
        let length = pieces.iter().sum();
        let (mut expected, mut generic) = (vec![0x5a; length], vec![0x5a; length]);
        let mut theirs = ctr::Ctr32BE::<aes::Aes128>::new(&key.into(), &iv.into());
        theirs.apply_keystream(&mut expected);
        ctr::Ctr32BE::<Aes128>::new(&key.into(), &iv.into()).apply_keystream(&mut generic);
        prop_assert_eq!(&generic, &expected);
        for cpu in cpus() {
            let mut found = vec![0x5a; length];
            let mut cipher = Aes128Ctr::with_cpu(cpu, &key, &iv);
            let mut rest = &mut found[..];
            for &piece in &pieces {
                let (head, tail) = rest.split_at_mut(piece);
                cipher.apply_keystream(head);
                rest = tail;
            }
            prop_assert_eq!(&found, &expected, "{:?}", cpu);
            prop_assert_eq!(cipher.current_pos::<u64>(), length as u64);

            let (mut far, mut expected) = ([0; 33], [0; 33]);
            cipher.seek(seek);
            prop_assert_eq!(cipher.current_pos::<u64>(), seek);
            cipher.apply_keystream(&mut far);
            theirs.seek(seek);
            theirs.apply_keystream(&mut expected);
            prop_assert_eq!(far, expected, "{:?} at {}", cpu, seek);
        }
    }
}

/// Saves and restores in the middle of a message, at every place up to beyond two blocks.
fn goes_on_where_it_was_saved<H: Digest + Clone + SerializableState>() {
    let message: Vec<u8> = (0..300).map(|n| n as u8).collect();
    let expected = H::digest(&message);
    for at in 0..message.len() {
        let mut hash = H::new();
        hash.update(&message[..at]);
        let mut restored = H::deserialize(&hash.serialize()).unwrap_or_else(|_| panic!("{at} bytes"));
        restored.update(&message[at..]);
        assert_eq!(restored.finalize(), expected, "{at} bytes");
    }
}

#[test]
fn a_saved_hash_goes_on_where_it_was_saved() {
    goes_on_where_it_was_saved::<Sha256>();
    goes_on_where_it_was_saved::<Sha384>();
    goes_on_where_it_was_saved::<Sha512>();
    goes_on_where_it_was_saved::<Sha3_256>();
    goes_on_where_it_was_saved::<Sha3_512>();
    goes_on_where_it_was_saved::<Blake2b256>();
    goes_on_where_it_was_saved::<Blake2b512>();
    goes_on_where_it_was_saved::<Sm3>();

    let mut shake = Shake128::new();
    shake.update(&[1; 200]);
    let mut restored = Shake128::deserialize(&shake.serialize()).unwrap();
    let (mut ours, mut theirs) = ([0; 50], [0; 50]);
    [&mut shake, &mut restored].into_iter().for_each(|shake| shake.update(&[2; 200]));
    shake.finalize_xof().read(&mut ours);
    restored.finalize_xof().read(&mut theirs);
    assert_eq!(ours, theirs);
}

#[test]
fn a_saved_state_that_no_hash_can_be_in_is_refused() {
    // SHA-2 and SM3: the byte after the chaining value (32) and the count of blocks (8) says how much of the block of 64 is used.
    let mut saved = Sha256::new().serialize();
    saved[40] = 63;
    assert!(Sha256::deserialize(&saved).is_ok());
    saved[40] = 64;
    assert!(Sha256::deserialize(&saved).is_err());

    // SHA-3: the last byte says how much of the block of 136 is used.
    let mut saved = Sha3_256::new().serialize();
    saved[200] = 135;
    assert!(Sha3_256::deserialize(&saved).is_ok());
    saved[200] = 136;
    assert!(Sha3_256::deserialize(&saved).is_err());

    // BLAKE2b: the first byte is the digest's length, the last says how much of the block of 128 is used, and only whole blocks
    // have been compressed.
    let good = Blake2b256::new().serialize();
    assert!(Blake2b256::deserialize(&good).is_ok());
    assert!(Blake2b512::deserialize(&good).is_err());
    for (at, accepted, refused) in [(209, 128, 129), (65, 128, 127)] {
        let mut saved = good;
        saved[at] = accepted;
        assert!(Blake2b256::deserialize(&saved).is_ok(), "{at}");
        saved[at] = refused;
        assert!(Blake2b256::deserialize(&saved).is_err(), "{at}");
    }
}
