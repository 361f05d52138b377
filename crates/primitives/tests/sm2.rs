//! SM2 on every arm of this machine: RustCrypto's `sm2` as oracle both ways, OpenSSL's program with keys as PEM, and everything that must be
//! refused beside what must not.

mod stuck;

use candor_cpu::Cpu;
use candor_primitives::sm2::{
    DEFAULT_ID, DecodePrivateKey, DecodePublicKey, EcError, EncodePrivateKey, EncodePublicKey, Exchange, Format,
    LineEnding, PublicKey, Role, SecretKey, Signature, Sm2, Sm2Error,
};
use candor_test_support::openssl::OpenSsl;
use candor_test_support::vectors;
use proptest::prelude::*;
use signature::{RandomizedSigner, SignatureEncoding, Signer, Verifier};
use sm2::dsa;
use sm2::pke::{DecryptingKey, EncryptingKey, Mode};
use std::path::Path;
use std::sync::LazyLock;
use stuck::Stuck;

const ID: &str = "1234567812345678";
/// n, the order of the group.
const N: [u8; 32] = *b"\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x72\x03\xdf\x6b\x21\xc6\x05\x2b\x53\xbb\xf4\x09\x39\xd5\x41\x23";
/// p, the field's modulus.
const P: [u8; 32] = *b"\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff";

/// SM2 on each arm.
fn arms() -> Vec<Sm2> {
    let mut arms: Vec<Sm2> = Cpu::tiers().map(|tier| Sm2::with_cpu(Cpu::named(tier.name).unwrap())).collect();
    arms.dedup_by_key(|sm2| sm2.arm());
    arms
}

/// A number less a small one.
fn less(mut number: [u8; 32], small: u8) -> [u8; 32] {
    number[31] -= small;
    number
}

/// A number and a small one.
fn more(mut number: [u8; 32], small: u8) -> [u8; 32] {
    number.iter_mut().rev().fold(small, |carry, byte| {
        let (sum, above) = byte.overflowing_add(carry);
        *byte = sum;
        u8::from(above)
    });
    number
}

fn key(sm2: Sm2, byte: u8) -> SecretKey {
    sm2.secret_from_bytes(&[byte; 32]).unwrap()
}

/// Whatever holds for a secret key must hold on each arm and for the oracle.
fn agree_with_the_oracle(scalar: &[u8; 32], message: &[u8]) {
    let theirs = dsa::SigningKey::from_bytes(ID, &(*scalar).into()).unwrap();
    let decrypting = DecryptingKey::from_bytes(&(*scalar).into()).unwrap();
    let encrypting = EncryptingKey::new_with_mode(
        sm2::PublicKey::from_sec1_bytes(&theirs.verifying_key().to_sec1_bytes()).unwrap(),
        Mode::C1C3C2,
    );
    let from_them = encrypting.encrypt(&mut rng(), message).unwrap();
    let signed_by_them: dsa::Signature = theirs.sign(message);
    for sm2 in arms() {
        let ours = sm2.secret_from_bytes(scalar).unwrap();
        assert_eq!(ours.public_key().to_bytes(), *theirs.verifying_key().to_sec1_bytes());
        let signing = ours.signing_key(DEFAULT_ID).unwrap();
        let signed = signing.sign(message).unwrap();
        theirs.verifying_key().verify(message, &dsa::Signature::from_slice(&signed.to_bytes()).unwrap()).unwrap();
        let signature = Signature::from_bytes(&signed_by_them.to_bytes()).unwrap();
        assert_eq!(signing.verifying_key().verify(message, &signature), Ok(()));
        let ciphertext = ours.public_key().encrypt(message, Format::C1C3C2).unwrap();
        assert_eq!(decrypting.decrypt(&ciphertext).unwrap(), message);
        assert_eq!(ours.decrypt(&from_them, Format::C1C3C2).unwrap().as_slice(), message);
    }
}

/// The operating system's randomness, for the oracle.
fn rng() -> rand_core::UnwrapErr<getrandom::SysRng> {
    rand_core::UnwrapErr(getrandom::SysRng)
}

#[test]
fn keys_at_the_ends_of_the_range_do_what_rustcryptos_do() {
    // With n − 6 the last sum of a multiple is of two equal points.
    let small = [1, 2, 64, 65, 127].map(|byte| more([0; 32], byte));
    for scalar in small.into_iter().chain([2, 3, 6, 7, 35].map(|byte| less(N, byte))) {
        agree_with_the_oracle(&scalar, b"message digest");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_key_and_message_do_what_rustcryptos_do(mut scalar in any::<[u8; 32]>(), message in prop::collection::vec(any::<u8>(), 1..200)) {
        scalar[3] &= 0x7f; // below n
        agree_with_the_oracle(&scalar, &message);
    }

    #[test]
    fn bytes_near_good_ones_are_refused_or_read_as_they_are_written(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        length in prop_oneof![3 => Just(usize::MAX), 1 => 0..140_usize],
    ) {
        let good = encodings();
        let mut bytes = which.get(&good).clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(length);
        prop_assert!(accepted(&bytes, &good) <= 1);
    }
}

/// A signature, a public key and a ciphertext in each of their forms.
fn encodings() -> Vec<Vec<u8>> {
    static MADE: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let secret = key(Sm2::new(), 7);
        let (public, signature) =
            (secret.public_key(), secret.signing_key(DEFAULT_ID).unwrap().sign(b"message").unwrap());
        let mut made: Vec<Vec<u8>> =
            FORMATS.iter().map(|format| public.encrypt(b"an offer", *format).unwrap()).collect();
        made.extend([public.to_bytes().to_vec(), public.to_compressed_bytes().to_vec()]);
        made.extend([signature.to_bytes().to_vec(), signature.to_der()]);
        made
    });
    MADE.clone()
}

const FORMATS: [Format; 3] = [Format::Asn1, Format::C1C3C2, Format::C1C2C3];

/// How many decoders accept these bytes. What they read must be written as the same bytes, and a message only come of the ciphertexts that were made.
fn accepted(bytes: &[u8], good: &[Vec<u8>]) -> usize {
    let mut written: Vec<Vec<u8>> = Vec::new();
    written.extend(Signature::from_bytes(bytes).map(|signature| signature.to_bytes().to_vec()));
    written.extend(Signature::from_der(bytes).map(|signature| signature.to_der()));
    let public = Sm2::new().public_from_bytes(bytes);
    written.extend(public.map(|public| match bytes.len() {
        65 => public.to_bytes().to_vec(),
        _ => public.to_compressed_bytes().to_vec(),
    }));
    assert!(written.iter().all(|written| written == bytes), "{written:x?} {bytes:x?}");
    let opened = FORMATS.iter().filter(|format| key(Sm2::new(), 7).decrypt(bytes, **format).is_ok()).count();
    assert!(opened == 0 || good.iter().any(|good| good == bytes), "{bytes:x?}");
    written.len() + opened
}

#[test]
fn each_good_encoding_is_accepted_by_its_decoder_alone_and_so_are_other_numbers_in_it() {
    let good = encodings();
    for (at, bytes) in good.iter().enumerate() {
        assert_eq!(accepted(bytes, &good), 1, "{at}");
    }
    let [.., signature, der] = &good[..] else { unreachable!() };
    for encoding in [signature, der] {
        let mut other = encoding.clone();
        *other.last_mut().unwrap() ^= 1;
        assert_eq!(accepted(&other, &good), 1);
    }
}

#[test]
fn secret_keys_from_1_to_n_less_2_are_accepted_and_no_others() {
    for sm2 in arms() {
        let one = std::array::from_fn(|at| u8::from(at == 31));
        for good in [one, less(N, 2), less(N, 3)] {
            assert_eq!(*sm2.secret_from_bytes(&good).unwrap().to_bytes(), good);
        }
        for bad in [[0; 32], less(N, 1), N, P, [0xff; 32]] {
            assert_eq!(sm2.secret_from_bytes(&bad).err(), Some(EcError::SecretKey));
        }
    }
}

#[test]
fn public_keys_are_points_in_sec1s_forms_and_nothing_else() {
    for sm2 in arms() {
        for byte in 1..20 {
            let public = key(sm2, byte).public_key().clone();
            assert_eq!(sm2.public_from_bytes(&public.to_bytes()).as_ref(), Ok(&public));
            assert_eq!(sm2.public_from_bytes(&public.to_compressed_bytes()).as_ref(), Ok(&public));
        }
        let good = key(sm2, 7).public_key().to_bytes();
        let refused =
            |bytes: &[u8]| assert_eq!(sm2.public_from_bytes(bytes).err(), Some(EcError::PublicKey), "{bytes:x?}");
        for at in 1..65 {
            let mut bad = good;
            bad[at] ^= 1;
            refused(&bad);
        }
        for tag in (0..=255).filter(|tag| *tag != 4) {
            refused(&[&[tag], &good[1..]].concat());
        }
        refused(&[]);
        refused(&[0]);
        refused(&good[..64]);
        refused(&[good.as_slice(), &[0]].concat());
        refused(&[[2].as_slice(), &[0xff; 32]].concat());
    }
}

/// The x of a point whose y is 1: a root of x³ − 3x + b − 1.
const X_OF_1: [u8; 32] = *b"\x9c\x17\x04\x3e\xff\xe1\xa8\x05\xa7\x4a\x9a\x5e\x70\xb9\xd6\x59\x70\x5d\x32\x42\x09\x4a\x56\x6d\xc0\x16\xf4\x93\x11\x17\x8d\x1f";

#[test]
fn coordinates_of_p_and_above_are_refused_though_they_are_those_of_a_point_modulo_p() {
    for sm2 in arms() {
        let read = |parts: &[&[u8]]| sm2.public_from_bytes(&parts.concat());
        let refused = |parts: &[&[u8]]| assert_eq!(read(parts), Err(EcError::PublicKey), "{parts:x?}");
        for small in [0, 1, 7] {
            let (x, above) = (more([0; 32], small), more(P, small));
            let point = read(&[&[2], &x]).unwrap().to_bytes();
            assert!(read(&[&[4], &x, &point[33..]]).is_ok());
            refused(&[&[4], &above, &point[33..]]);
            refused(&[&[2], &above]);
        }
        assert!(read(&[&[4], &X_OF_1, &more([0; 32], 1)]).is_ok());
        refused(&[&[4], &X_OF_1, &more(P, 1)]);
    }
}

#[test]
fn an_x_without_a_point_is_refused_compressed() {
    // Half of all x have no point.
    let found = (1..=40).map(|x| {
        let bytes: [u8; 33] = std::array::from_fn(|at| [2, x][usize::from(at == 32)] * u8::from(at == 0 || at == 32));
        Sm2::new().public_from_bytes(&bytes).map(|public| assert_eq!(public.to_compressed_bytes(), bytes)).is_ok()
    });
    let accepted = found.filter(|accepted| *accepted).count();
    assert!((8..32).contains(&accepted), "{accepted}");
}

#[test]
fn a_changed_signature_message_identity_or_key_is_refused() {
    for sm2 in arms() {
        let signing = key(sm2, 9).signing_key(DEFAULT_ID).unwrap();
        let verifying = signing.verifying_key();
        let signature = signing.sign(b"message").unwrap();
        assert_eq!(verifying.verify(b"message", &signature), Ok(()));
        assert_eq!(verifying.verify(b"messagf", &signature), Err(Sm2Error::Signature));
        let public = key(sm2, 9).public_key().clone();
        for (public, id) in [(public, b"".as_slice()), (key(sm2, 8).public_key().clone(), DEFAULT_ID)] {
            assert_eq!(public.verifying_key(id).unwrap().verify(b"message", &signature), Err(Sm2Error::Signature));
        }
        for at in 0..64 {
            let mut bytes = signature.to_bytes();
            bytes[at] ^= 0x10;
            let verified = Signature::from_bytes(&bytes).and_then(|changed| verifying.verify(b"message", &changed));
            assert!(matches!(verified, Err(Sm2Error::Signature | Sm2Error::SignatureForm)), "byte {at}");
        }
    }
}

#[test]
fn r_and_s_from_1_to_n_less_1_are_accepted_and_no_others() {
    let form = |r: [u8; 32], s: [u8; 32]| Signature::from_bytes(&[r, s].concat());
    let one = std::array::from_fn(|at| u8::from(at == 31));
    for good in [one, less(N, 1)] {
        assert!(form(good, one).is_ok() && form(one, good).is_ok());
    }
    for bad in [[0; 32], N, [0xff; 32]] {
        assert_eq!(form(bad, one), Err(Sm2Error::SignatureForm));
        assert_eq!(form(one, bad), Err(Sm2Error::SignatureForm));
    }
    // r + s = n, which §7.1 refuses at B5: no message has it.
    for sm2 in arms() {
        let verifying = key(sm2, 9).public_key().verifying_key(DEFAULT_ID).unwrap();
        assert_eq!(verifying.verify(b"message", &form(one, less(N, 1)).unwrap()), Err(Sm2Error::Signature));
    }
    assert_eq!(Signature::from_bytes(&[1; 63]), Err(Sm2Error::SignatureForm));
    assert_eq!(Signature::from_bytes(&[1; 65]), Err(Sm2Error::SignatureForm));
    assert_eq!(Signature::from_bytes(&[1; 96]), Err(Sm2Error::SignatureForm));
}

#[test]
fn signatures_in_der_are_read_if_they_are_der() {
    let signature = Signature::from_bytes(&[0x81; 64]).unwrap();
    let der = signature.to_der();
    assert_eq!(Signature::from_der(&der), Ok(signature));
    let refused = |der: &[u8]| assert_eq!(Signature::from_der(der), Err(Sm2Error::SignatureForm), "{der:x?}");
    for length in 0..der.len() {
        refused(&der[..length]);
    }
    refused(&[der.as_slice(), &[0]].concat());
    let small = |r: &[u8], s: &[u8]| {
        [&[0x30, (r.len() + s.len() + 4) as u8, 2, r.len() as u8], r, &[2, s.len() as u8], s].concat()
    };
    assert!(Signature::from_der(&small(&[1], &[2])).is_ok());
    refused(&small(&[0, 1], &[2])); // a zero too many
    refused(&small(&[0x81], &[2])); // negative
    refused(&small(&[0], &[2]));
    refused(&small(&[], &[2]));
    refused(&[0x30, 0x81, 6, 2, 1, 1, 2, 1, 2]); // a length in two bytes where one does
    refused(&[0x30, 9, 2, 1, 1, 2, 1, 2, 2, 1, 3]); // a third number
}

#[test]
fn an_x_of_n_or_more_gives_r_and_a_sum_past_p_does_not() {
    let file = vectors::load("curve-edges.json");
    let edges: Vec<_> = file.as_array().unwrap().iter().filter(|vector| vector["curve"] == "SM2").collect();
    assert_eq!(edges.len(), 10);
    for (sm2, vector) in arms().into_iter().flat_map(|sm2| edges.iter().map(move |vector| (sm2, vector))) {
        let public = sm2.public_from_bytes(&vectors::bytes(vector, "public")).unwrap();
        let signature = Signature::from_bytes(&vectors::bytes(vector, "signature")).unwrap();
        let digest = vectors::array(vector, "digest");
        let verified = public.verifying_key(DEFAULT_ID).unwrap().verify_digest(&digest, &signature);
        assert_eq!(verified.is_ok(), vector["valid"].as_bool().unwrap(), "{vector}");
    }
}

#[test]
fn identities_have_up_to_8191_bytes() {
    let public = key(Sm2::new(), 3).public_key().clone();
    assert!(public.identity_digest(&[7; 8191]).is_ok());
    assert_eq!(public.identity_digest(&[7; 8192]), Err(Sm2Error::Identity));
    assert_eq!(key(Sm2::new(), 3).signing_key(&[7; 8192]).err(), Some(Sm2Error::Identity));
}

#[test]
fn a_changed_ciphertext_is_refused_in_every_form() {
    for sm2 in arms() {
        let secret = key(sm2, 5);
        for format in FORMATS {
            let good = secret.public_key().encrypt(b"an offer of 32 bytes and a bit more", format).unwrap();
            assert_eq!(secret.decrypt(&good, format).unwrap().as_slice(), b"an offer of 32 bytes and a bit more");
            assert_eq!(key(sm2, 6).decrypt(&good, format), Err(Sm2Error::Ciphertext));
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 1;
                let error = secret.decrypt(&bad, format).expect_err("changed");
                assert!(matches!(error, Sm2Error::Ciphertext | Sm2Error::CiphertextForm), "byte {at}");
                assert!(secret.decrypt(&good[..at], format).is_err());
            }
            assert!(secret.decrypt(&[good.as_slice(), &[0]].concat(), format).is_err());
        }
        // The parts in another order.
        let old = secret.public_key().encrypt(b"an offer", Format::C1C2C3).unwrap();
        assert_eq!(secret.decrypt(&old, Format::C1C3C2), Err(Sm2Error::Ciphertext));
        // No message, and a point that is not on the curve.
        assert_eq!(secret.public_key().encrypt(b"", Format::Asn1), Err(Sm2Error::Length));
        assert_eq!(secret.decrypt(&old[..97], Format::C1C3C2), Err(Sm2Error::CiphertextForm));
        let mut off = old.clone();
        off[1..33].copy_from_slice(&P);
        assert_eq!(secret.decrypt(&off, Format::C1C2C3), Err(Sm2Error::CiphertextForm));
    }
}

#[test]
fn an_exchange_gives_both_sides_one_key_and_nobody_else() {
    for sm2 in arms() {
        let (a, b, mallory) = (key(sm2, 1), key(sm2, 2), key(sm2, 3));
        let run = |peer_of_b: &PublicKey, id: &[u8]| {
            let from_a = Exchange::new(Role::Initiator, &a, b"a").unwrap();
            let from_b = Exchange::new(Role::Responder, &b, b"b").unwrap();
            let (to_b, to_a) = (from_a.ephemeral().clone(), from_b.ephemeral().clone());
            let a = from_a.agree(b.public_key(), b"b", &to_a, 48).unwrap();
            (a, from_b.agree(peer_of_b, id, &to_b, 48).unwrap())
        };
        let (of_a, of_b) = run(a.public_key(), b"a");
        let (to_b, to_a) = (*of_a.confirmation(), *of_b.confirmation());
        assert_eq!(of_a.confirmed_by(&to_a).unwrap(), of_b.confirmed_by(&to_b).unwrap());
        for (peer, id) in [(mallory.public_key(), b"a".as_slice()), (a.public_key(), b"m")] {
            let (of_a, of_b) = run(peer, id);
            let to_b = *of_a.confirmation();
            assert_eq!(of_b.confirmed_by(&to_b), Err(Sm2Error::Exchange));
        }
        // A side's own confirmation sent back to it.
        let (of_a, _) = run(a.public_key(), b"a");
        let own = *of_a.confirmation();
        assert_eq!(of_a.confirmed_by(&own), Err(Sm2Error::Exchange));
        let exchange = Exchange::new(Role::Initiator, &a, b"a").unwrap();
        assert_eq!(exchange.agree(b.public_key(), b"b", b.public_key(), 0).err(), Some(Sm2Error::Length));
    }
}

#[test]
fn the_traits_of_crate_signature_do_the_same() {
    let signing = key(Sm2::new(), 4).signing_key(DEFAULT_ID).unwrap();
    let verifying = signing.verifying_key();
    for signature in
        [Signer::sign(&signing, b"m"), signing.sign_with_rng(&mut rng(), b"m"), signing.sign_with(b"m", &mut rng())]
    {
        assert!(Verifier::verify(&verifying, b"m", &signature).is_ok());
        assert!(Verifier::verify(&verifying, b"n", &signature).is_err());
        assert_eq!(Signature::try_from(SignatureEncoding::to_bytes(&signature).as_slice()).unwrap(), signature);
    }
    let made = Sm2::new().generate_with(&mut rng()).unwrap();
    let ciphertext = made.public_key().encrypt_with(b"m", Format::Asn1, &mut rng()).unwrap();
    assert_eq!(made.decrypt(&ciphertext, Format::Asn1).unwrap().as_slice(), b"m");
}

#[test]
fn a_generator_that_is_stuck_makes_no_key_out_of_range_and_repeats_no_nonce() {
    let sm2 = Sm2::new();
    for byte in [0, 0xff] {
        assert_eq!(sm2.generate_with(&mut Stuck(byte)).err(), Some(EcError::Generator));
    }
    let secret = sm2.generate_with(&mut Stuck(7)).unwrap();
    assert_eq!(*secret.to_bytes(), [7; 32]);
    let encrypt = |message: &[u8]| secret.public_key().encrypt_with(message, Format::C1C3C2, &mut Stuck(0)).unwrap();
    let (one, other) = (encrypt(b"one offer"), encrypt(b"two offer"));
    assert_eq!(secret.decrypt(&one, Format::C1C3C2).unwrap().as_slice(), b"one offer");
    assert_eq!(one, encrypt(b"one offer"));
    assert_ne!(one[..65], other[..65]);
    // Of one-byte messages one in 256 needs a second nonce.
    for byte in 0..=255 {
        assert_eq!(secret.decrypt(&encrypt(&[byte]), Format::C1C3C2).unwrap().as_slice(), [byte]);
    }
}

#[test]
fn key_files_come_back_as_they_went_and_damaged_ones_are_refused() {
    let secret = key(Sm2::new(), 11);
    let der = secret.to_pkcs8_der().unwrap();
    assert_eq!(*SecretKey::from_pkcs8_der(der.as_bytes()).unwrap().to_bytes(), *secret.to_bytes());
    for at in 0..der.as_bytes().len() {
        let mut bad = der.as_bytes().to_vec();
        bad[at] ^= 1;
        // Each byte is structure, the number, or its public key.
        assert!(SecretKey::from_pkcs8_der(&bad).is_err(), "byte {at}");
    }
    let public = secret.public_key().to_public_key_der().unwrap();
    assert_eq!(PublicKey::from_public_key_der(public.as_bytes()).as_ref(), Ok(secret.public_key()));
    for at in 0..public.as_bytes().len() {
        let mut bad = public.as_bytes().to_vec();
        bad[at] ^= 1;
        assert!(PublicKey::from_public_key_der(&bad).is_err(), "byte {at}");
    }
}

/// OpenSSL's program, if it knows SM2.
fn openssl(test: &str) -> Option<OpenSsl> {
    OpenSsl::find("SM2", &Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sm2-{test}")))
}

#[test]
fn openssl_and_we_verify_and_decrypt_each_others_with_keys_as_pem() {
    let Some(openssl) = openssl("both-ways") else { return };
    // Its key.
    assert!(openssl.run("genpkey -algorithm SM2 -out theirs.pem"));
    assert!(openssl.run("pkey -in theirs.pem -pubout -out theirs-public.pem"));
    let theirs = SecretKey::from_pkcs8_pem(&openssl.text("theirs.pem")).unwrap();
    let public = PublicKey::from_public_key_pem(&openssl.text("theirs-public.pem")).unwrap();
    assert_eq!(theirs.public_key(), &public);
    // Ours.
    let ours = Sm2::new().generate().unwrap();
    openssl.write("ours.pem", ours.to_pkcs8_pem(LineEnding::LF).unwrap().as_bytes());
    openssl.write("ours-public.pem", ours.public_key().to_public_key_pem(LineEnding::LF).unwrap());
    openssl.write("message", b"a message for OpenSSL");
    const SIGN: &str = "pkeyutl -rawin -digest sm3 -pkeyopt distid:1234567812345678 -in message";
    // We sign with ours, it verifies; another message is refused.
    openssl.write("signature", ours.signing_key(DEFAULT_ID).unwrap().sign(b"a message for OpenSSL").unwrap().to_der());
    let verify = format!("{SIGN} -verify -pubin -inkey ours-public.pem -sigfile signature");
    assert!(openssl.run(&verify));
    openssl.write("message", b"another message");
    assert!(!openssl.run(&verify));
    // It signs with ours, we verify.
    assert!(openssl.run(&format!("{SIGN} -sign -inkey ours.pem -out signature")));
    let signature = Signature::from_der(&openssl.read("signature")).unwrap();
    let verifying = ours.public_key().verifying_key(DEFAULT_ID).unwrap();
    assert_eq!(verifying.verify(b"another message", &signature), Ok(()));
    assert_eq!(verifying.verify(b"a message", &signature), Err(Sm2Error::Signature));
    // Ciphertexts, both ways.
    assert!(openssl.run("pkeyutl -encrypt -pubin -inkey ours-public.pem -in message -out ciphertext"));
    assert_eq!(ours.decrypt(&openssl.read("ciphertext"), Format::Asn1).unwrap().as_slice(), b"another message");
    openssl.write("ciphertext", public.encrypt(b"an answer", Format::Asn1).unwrap());
    assert!(openssl.run("pkeyutl -decrypt -inkey theirs.pem -in ciphertext -out answer"));
    assert_eq!(openssl.read("answer"), b"an answer");
    let mut changed = openssl.read("ciphertext");
    *changed.last_mut().unwrap() ^= 1;
    openssl.write("ciphertext", &changed);
    assert!(!openssl.run("pkeyutl -decrypt -inkey theirs.pem -in ciphertext -out answer"));
}

#[test]
fn a_key_on_another_curve_is_refused_as_a_file() {
    let Some(openssl) = openssl("curve") else { return };
    assert!(openssl.run("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.pem"));
    assert!(openssl.run("pkey -in other.pem -pubout -out other-public.pem"));
    assert!(SecretKey::from_pkcs8_pem(&openssl.text("other.pem")).is_err());
    assert!(PublicKey::from_public_key_pem(&openssl.text("other-public.pem")).is_err());
}
