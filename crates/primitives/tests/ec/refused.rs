//! What is refused, beside what is not.

use super::stuck::Stuck;
use super::{arms, key, length, less, more, of_each_curve, order_and_prime, rng};
use candor_primitives::ec::{Ec, EcError, EcdsaCurve, NamedCurve, P256, P384, Secp256k1, Signature};
use candor_test_support::vectors;
use proptest::prelude::*;
use signature::hazmat::{PrehashSigner, PrehashVerifier};
use signature::{Keypair, RandomizedSigner, SignatureEncoding, Signer, Verifier};

fn secret_keys<C: NamedCurve>() {
    let [n, p] = order_and_prime::<C>();
    let zero = vec![0; length::<C>()];
    for ec in arms::<C>() {
        for good in [more(&zero, 1), less(&n, 1), less(&n, 2)] {
            assert_eq!(ec.secret_from_slice(&good).unwrap().to_bytes().as_ref(), good);
        }
        for bad in [zero.clone(), n.clone(), more(&n, 1), p.clone(), vec![0xff; length::<C>()]] {
            assert_eq!(ec.secret_from_slice(&bad).err(), Some(EcError::SecretKey), "{bad:x?}");
        }
        for bad in [&zero[1..], &[], &[zero.as_slice(), &[1]].concat()] {
            assert_eq!(ec.secret_from_slice(bad).err(), Some(EcError::SecretKey), "{bad:x?}");
        }
    }
}

#[test]
fn secret_keys_from_1_to_n_less_1_are_accepted_and_no_others() {
    of_each_curve!(secret_keys);
}

fn public_keys<C: NamedCurve>() {
    for ec in arms::<C>() {
        for byte in 1..20 {
            let public = key(ec, byte).public_key().clone();
            assert_eq!(ec.public_from_bytes(public.to_bytes().as_ref()).as_ref(), Ok(&public));
            assert_eq!(ec.public_from_bytes(public.to_compressed_bytes().as_ref()).as_ref(), Ok(&public));
        }
        let good = key(ec, 7).public_key().to_bytes().as_ref().to_vec();
        let refused =
            |bytes: &[u8]| assert_eq!(ec.public_from_bytes(bytes).err(), Some(EcError::PublicKey), "{bytes:x?}");
        for at in 1..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            refused(&bad);
        }
        for tag in (0..=255).filter(|tag| *tag != 4) {
            refused(&[&[tag], &good[1..]].concat());
        }
        refused(&[]);
        refused(&[0]);
        refused(&good[..good.len() - 1]);
        refused(&[good.as_slice(), &[0]].concat());
        refused(&[vec![2], vec![0xff; length::<C>()]].concat());
    }
}

#[test]
fn public_keys_are_points_in_sec1s_forms_and_nothing_else() {
    of_each_curve!(public_keys);
}

fn large_coordinates<C: NamedCurve>() {
    let [_, p] = order_and_prime::<C>();
    let zero = vec![0; length::<C>()];
    for ec in arms::<C>() {
        let read = |parts: &[&[u8]]| ec.public_from_bytes(&parts.concat());
        let mut found = 0;
        // Half of all x have a point.
        for small in 0..30 {
            let (x, above) = (more(&zero, small), more(&p, small));
            assert_eq!(read(&[&[2], &above]), Err(EcError::PublicKey));
            let Ok(point) = read(&[&[2], &x]) else { continue };
            found += 1;
            let bytes = point.to_bytes();
            let y = &bytes.as_ref()[1 + x.len()..];
            assert!(read(&[&[4], &x, y]).is_ok());
            assert_eq!(read(&[&[4], &above, y]), Err(EcError::PublicKey));
        }
        assert!((5..25).contains(&found), "{found}");
    }
}

#[test]
fn coordinates_of_p_and_above_are_refused_though_they_are_those_of_a_point_modulo_p() {
    of_each_curve!(large_coordinates);
}

fn signatures<C: EcdsaCurve>() {
    for ec in arms::<C>() {
        let (secret, other) = (key(ec, 9), key(ec, 8));
        let signature = secret.sign(b"message").unwrap();
        let verify = |message: &[u8], signature: &Signature<C>| secret.public_key().verify(message, signature);
        assert_eq!(verify(b"message", &signature), Ok(()));
        assert_eq!(verify(b"messagf", &signature), Err(EcError::Signature));
        assert_eq!(other.public_key().verify(b"message", &signature), Err(EcError::Signature));
        for at in 0..2 * length::<C>() {
            let mut bytes = signature.to_bytes().as_ref().to_vec();
            bytes[at] ^= 0x10;
            let verified = Signature::from_bytes(&bytes).and_then(|changed| verify(b"message", &changed));
            assert!(matches!(verified, Err(EcError::Signature | EcError::SignatureForm)), "byte {at}");
        }
        // n − s verifies as well: ECDSA has two signatures for each.
        let [n, _] = order_and_prime::<C>();
        let mut bytes = signature.to_bytes().as_ref().to_vec();
        let s = &mut bytes[length::<C>()..];
        s.copy_from_slice(&subtracted(&n, s));
        assert_eq!(verify(b"message", &Signature::from_bytes(&bytes).unwrap()), Ok(()));
    }
}

/// a − b.
fn subtracted(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut difference: Vec<u8> = a
        .iter()
        .zip(b)
        .rev()
        .map(|(a, b)| {
            let difference = i16::from(*a) - i16::from(*b) - borrow;
            borrow = i16::from(difference < 0);
            difference as u8
        })
        .collect();
    difference.reverse();
    difference
}

#[test]
fn a_changed_signature_message_or_key_is_refused() {
    of_each_curve!(signatures);
}

fn ranges<C: EcdsaCurve>() {
    let form = |r: &[u8], s: &[u8]| Signature::<C>::from_bytes(&[r, s].concat());
    let [n, _] = order_and_prime::<C>();
    let zero = vec![0; length::<C>()];
    let one = more(&zero, 1);
    for good in [one.clone(), less(&n, 1)] {
        assert!(form(&good, &one).is_ok() && form(&one, &good).is_ok());
    }
    for bad in [zero, n, vec![0xff; length::<C>()]] {
        assert_eq!(form(&bad, &one), Err(EcError::SignatureForm));
        assert_eq!(form(&one, &bad), Err(EcError::SignatureForm));
    }
    for wrong in [0, 1, 2 * length::<C>() - 1, 2 * length::<C>() + 1, 3 * length::<C>()] {
        assert_eq!(Signature::<C>::from_bytes(&vec![1; wrong]), Err(EcError::SignatureForm));
    }
}

#[test]
fn r_and_s_from_1_to_n_less_1_are_accepted_and_no_others() {
    of_each_curve!(ranges);
}

fn forms<C: EcdsaCurve>() {
    let signature = Signature::<C>::from_bytes(&vec![0x81; 2 * length::<C>()]).unwrap();
    let der = signature.to_der();
    assert_eq!(Signature::from_der(&der), Ok(signature));
    let refused = |der: &[u8]| assert_eq!(Signature::<C>::from_der(der), Err(EcError::SignatureForm), "{der:x?}");
    for length in 0..der.len() {
        refused(&der[..length]);
    }
    refused(&[der.as_slice(), &[0]].concat());
    let small = |r: &[u8], s: &[u8]| {
        [&[0x30, (r.len() + s.len() + 4) as u8, 2, r.len() as u8], r, &[2, s.len() as u8], s].concat()
    };
    assert!(Signature::<C>::from_der(&small(&[1], &[2])).is_ok());
    refused(&small(&[0, 1], &[2])); // a zero too many
    refused(&small(&[0x81], &[2])); // negative
    refused(&small(&[0], &[2]));
    refused(&small(&[1], &[0]));
    refused(&small(&[], &[2]));
    refused(&small(&vec![1; length::<C>() + 1], &[2])); // longer than the order
    refused(&[0x30, 0x81, 6, 2, 1, 1, 2, 1, 2]); // a length in two bytes where one does
    refused(&[0x30, 9, 2, 1, 1, 2, 1, 2, 2, 1, 3]); // a third number
}

#[test]
fn signatures_in_der_are_read_if_they_are_der() {
    of_each_curve!(forms);
}

fn stuck<C: EcdsaCurve>() {
    let ec = Ec::<C>::new();
    for byte in [0, 0xff] {
        assert_eq!(ec.generate_with(&mut Stuck(byte)).err(), Some(EcError::Generator));
    }
    let secret = ec.generate_with(&mut Stuck(7)).unwrap();
    assert_eq!(secret.to_bytes().as_ref(), vec![7; length::<C>()]);
    let sign = |message: &[u8]| secret.sign_with(message, &mut Stuck(0)).to_bytes().as_ref().to_vec();
    // The same r for two messages would give the key away.
    assert_eq!(sign(b"one"), sign(b"one"));
    assert_ne!(sign(b"one")[..length::<C>()], sign(b"two")[..length::<C>()]);
}

#[test]
fn a_generator_that_is_stuck_makes_no_key_out_of_range_and_repeats_no_nonce() {
    of_each_curve!(stuck);
}

fn traits<C: EcdsaCurve>() {
    let secret = Ec::<C>::new().generate().unwrap();
    let public = secret.verifying_key();
    for signature in
        [Signer::sign(&secret, b"m"), secret.sign_with_rng(&mut rng(), b"m"), secret.sign_with(b"m", &mut rng())]
    {
        assert!(Verifier::verify(&public, b"m", &signature).is_ok());
        assert!(Verifier::verify(&public, b"n", &signature).is_err());
        assert_eq!(Signature::try_from(SignatureEncoding::to_bytes(&signature).as_slice()).unwrap(), signature);
    }
    let digest = [5; 48];
    let signature = PrehashSigner::sign_prehash(&secret, &digest).unwrap();
    assert!(PrehashVerifier::verify_prehash(&public, &digest, &signature).is_ok());
    assert!(PrehashVerifier::verify_prehash(&public, &[6; 48], &signature).is_err());
    assert!(PrehashSigner::<Signature<C>>::sign_prehash(&secret, &digest[..15]).is_err());
    let peer = Ec::<C>::new().generate().unwrap();
    assert_eq!(secret.agree(peer.public_key()).as_bytes(), peer.agree(&public).as_bytes());
}

#[test]
fn the_traits_of_crate_signature_do_the_same() {
    of_each_curve!(traits);
}

/// A signature and a public key of a curve in each of their forms.
fn encodings<C: EcdsaCurve>() -> Vec<Vec<u8>> {
    let secret = key(Ec::<C>::new(), 7);
    let (public, signature) = (secret.public_key(), secret.sign_deterministic(b"message"));
    vec![
        public.to_bytes().as_ref().to_vec(),
        public.to_compressed_bytes().as_ref().to_vec(),
        signature.to_bytes().as_ref().to_vec(),
        signature.to_der(),
    ]
}

/// Whatever a decoder reads is written as the same bytes. How many decoders read these.
fn come_back<C: EcdsaCurve>(bytes: &[u8]) -> usize {
    let mut written = Vec::new();
    if let Ok(public) = Ec::<C>::new().public_from_bytes(bytes) {
        let compressed = public.to_compressed_bytes().as_ref().to_vec();
        written.push(if compressed.len() == bytes.len() { compressed } else { public.to_bytes().as_ref().to_vec() });
    }
    written.extend(Signature::<C>::from_bytes(bytes).map(|signature| signature.to_bytes().as_ref().to_vec()));
    written.extend(Signature::<C>::from_der(bytes).map(|signature| signature.to_der()));
    assert!(written.iter().all(|written| written == bytes), "{written:x?} {bytes:x?}");
    written.len()
}

fn good_come_back<C: EcdsaCurve>() {
    for bytes in encodings::<C>() {
        assert_eq!(come_back::<C>(&bytes), 1, "{bytes:x?}");
    }
}

#[test]
fn each_good_encoding_is_read_by_its_decoder_alone() {
    of_each_curve!(good_come_back);
}

proptest! {
    #[test]
    fn damaged_encodings_are_refused_or_come_back(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        length in prop_oneof![3 => Just(usize::MAX), 1 => 0..110_usize],
    ) {
        let damaged = |mut bytes: Vec<u8>| {
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes.truncate(length);
            bytes
        };
        prop_assert!(come_back::<P256>(&damaged(encodings::<P256>().swap_remove(which))) <= 1);
        prop_assert!(come_back::<P384>(&damaged(encodings::<P384>().swap_remove(which))) <= 1);
        prop_assert!(come_back::<Secp256k1>(&damaged(encodings::<Secp256k1>().swap_remove(which))) <= 1);
    }
}

fn edges<C: EcdsaCurve>() {
    let file = vectors::load("curve-edges.json");
    let mut found = 0;
    for vector in file.as_array().unwrap().iter().filter(|vector| vector["curve"] == C::NAME) {
        for ec in arms::<C>() {
            let public = ec.public_from_bytes(&vectors::bytes(vector, "public")).unwrap();
            let signature = Signature::from_bytes(&vectors::bytes(vector, "signature")).unwrap();
            let verified = public.verify_digest(&vectors::bytes(vector, "digest"), &signature);
            assert_eq!(verified.is_ok(), vector["valid"].as_bool().unwrap(), "{vector}");
        }
        found += 1;
    }
    assert_eq!(found, 10);
}

#[test]
fn an_x_of_n_or_more_gives_r_and_a_sum_past_p_does_not() {
    of_each_curve!(edges);
}
