//! What is refused, beside what is not.

use super::stuck::Stuck;
use super::{Numbers, arms, key};
use candor_primitives::hash::{Digest, Sha256, Sha512};
use candor_primitives::rsa::{Pkcs1v15, Pss, Rsa, RsaError, Scheme, Signature, Size};
use num_bigint::BigUint;
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::{Keypair, RandomizedSigner, SignatureEncoding, Signer, Verifier};

#[test]
fn moduli_of_three_sizes_are_accepted_and_no_others() {
    for rsa in arms() {
        let read = |modulus: &[u8]| rsa.public_from_parts(modulus, &[1, 0, 1]).map(|public| public.size());
        for size in Size::ALL {
            let good = vec![0xff; size.bytes()];
            assert_eq!(read(&good), Ok(size));
            assert_eq!(read(&[&[0, 0], &good[..]].concat()), Ok(size));
            let mut even = good.clone();
            even[size.bytes() - 1] = 0xfe;
            let mut short = good.clone();
            short[0] = 0x7f;
            for bad in [even, short, good[1..].to_vec(), [&[1], &good[..]].concat(), vec![0; size.bytes()]] {
                assert_eq!(read(&bad), Err(RsaError::Modulus));
            }
        }
        for bytes in [0, 1, 128, 255, 257, 320, 640, 1024] {
            assert_eq!(read(&vec![0xff; bytes]), Err(RsaError::Modulus), "{bytes}");
        }
    }
}

#[test]
fn odd_public_exponents_from_3_to_64_bits_are_accepted_and_no_others() {
    let modulus = vec![0xff; 256];
    let read = |exponent: &[u8]| Rsa::new().public_from_parts(&modulus, exponent).map(|public| public.exponent());
    assert_eq!(read(&[3]), Ok(3));
    assert_eq!(read(&[0, 0, 1, 0, 1]), Ok(65537));
    assert_eq!(read(&[0xff; 8]), Ok(u64::MAX));
    for bad in [&[][..], &[0], &[1], &[2], &[4], &[1, 0, 0], &[0xff; 9], &[1, 0, 0, 0, 0, 0, 0, 0, 1]] {
        assert_eq!(read(bad), Err(RsaError::Exponent), "{bad:?}");
    }
}

/// A number of a file, and a small one more.
fn more(number: &[u8], by: u32) -> Vec<u8> {
    (BigUint::from_bytes_be(number) + by).to_bytes_be()
}

#[test]
fn parts_that_belong_together_are_accepted_and_tampered_ones_refused() {
    for (rsa, size) in arms().into_iter().flat_map(|rsa| Size::ALL.map(|size| (rsa, size))) {
        let good = Numbers::of(size);
        assert!(rsa.secret_from_parts(&good.parts()).is_ok());
        let refused = |tamper: &dyn Fn(&mut Numbers), error| {
            let mut bad = Numbers::of(size);
            tamper(&mut bad);
            assert_eq!(rsa.secret_from_parts(&bad.parts()).err(), Some(error));
        };
        let one = RsaError::SecretKey;
        refused(&|bad| bad.private_exponent = more(&bad.private_exponent, 2), one);
        refused(&|bad| bad.exponents[0] = more(&bad.exponents[0], 1), one);
        refused(&|bad| bad.exponents[1] = more(&bad.exponents[1], 1), one);
        refused(&|bad| bad.coefficient = more(&bad.coefficient, 1), one);
        refused(&|bad| bad.primes[0] = more(&bad.primes[0], 2), one);
        refused(&|bad| bad.primes[1] = more(&bad.primes[1], 2), one);
        refused(&|bad| bad.primes[1] = bad.primes[0].clone(), one);
        refused(&|bad| bad.modulus = more(&bad.modulus, 2), one);
        refused(&|bad| bad.public_exponent = vec![3], one);
        refused(&|bad| bad.public_exponent = vec![1], RsaError::Exponent);
        // Multiples of what they are reduced by are other numbers with the same rest.
        let sum = |a: &[u8], b: &[u8]| (BigUint::from_bytes_be(a) + BigUint::from_bytes_be(b)).to_bytes_be();
        refused(&|bad| bad.exponents[0] = sum(&bad.exponents[0], &more(&bad.primes[0], 0)), one);
        refused(&|bad| bad.coefficient = sum(&bad.coefficient, &bad.primes[0].clone()), one);
        // Primes of other sizes whose product is the modulus.
        refused(&|bad| bad.primes = [bad.modulus.clone(), vec![1]], one);
        // The other way round all is as right, with the other coefficient.
        let mut turned = Numbers::of(size);
        turned.primes.reverse();
        turned.exponents.reverse();
        assert_eq!(rsa.secret_from_parts(&turned.parts()).err(), Some(one));
        let [p, q] = turned.primes.each_ref().map(|prime| BigUint::from_bytes_be(prime));
        turned.coefficient = q.modpow(&(&p - 2_u8), &p).to_bytes_be();
        assert!(rsa.secret_from_parts(&turned.parts()).is_ok());
    }
}

#[test]
fn a_square_of_one_prime_is_no_modulus() {
    let good = Numbers::of(Size::Bits2048);
    let p = BigUint::from_bytes_be(&good.primes[0]);
    let square = (&p * &p).to_bytes_be();
    let mut bad = Numbers::of(Size::Bits2048);
    bad.primes[1] = bad.primes[0].clone();
    bad.exponents[1] = bad.exponents[0].clone();
    bad.private_exponent = bad.exponents[0].clone();
    bad.coefficient = vec![1];
    bad.modulus = square;
    // The square must be a modulus, or something else is refused.
    assert!(Rsa::new().public_from_parts(&bad.modulus, &bad.public_exponent).is_ok());
    // Two checks refuse it: that the primes differ, and that there is a coefficient, as no multiple of p is 1 modulo p.
    assert_eq!(Rsa::new().secret_from_parts(&bad.parts()).err(), Some(RsaError::SecretKey));
}

/// Parts that fit together, with a number that is no prime: nothing comes out.
#[test]
fn a_key_whose_prime_is_none_gives_no_signature() {
    let good = Numbers::of(Size::Bits2048);
    let q = BigUint::from_bytes_be(&good.primes[1]);
    let e = BigUint::from(65537_u32);
    let one = BigUint::from(1_u8);
    // An odd number that 65537 has an inverse for, and that has an inverse for q.
    let mut p = BigUint::from_bytes_be(&good.primes[0]) + 2_u8;
    let inverse = |modulus: &BigUint| {
        // (1 + k·m)/e
        let rest = modulus % &e;
        let k = (&e - rest.modpow(&(&e - 2_u8), &e)) % &e;
        (&one + k * modulus) / &e
    };
    while (&p - &one) % &e == BigUint::from(0_u8) {
        p += 2_u8;
    }
    let lambda = (&p - &one) * (&q - &one);
    let mut bad = Numbers::of(Size::Bits2048);
    bad.private_exponent = inverse(&lambda).to_bytes_be();
    bad.exponents = [inverse(&(&p - &one)).to_bytes_be(), good.exponents[1].clone()];
    bad.modulus = (&p * &q).to_bytes_be();
    bad.primes[0] = p.to_bytes_be();
    bad.coefficient = q.modinv(&p).expect("they have no common divisor").to_bytes_be();
    for rsa in arms() {
        let key = rsa.secret_from_parts(&bad.parts()).expect("the parts fit together");
        assert_eq!(key.sign::<Pss<Sha256>>(b"message").err(), Some(RsaError::Fault));
    }
}

fn signatures<S: Scheme>() {
    for (rsa, size) in arms().into_iter().flat_map(|rsa| [Size::Bits2048, Size::Bits3072].map(|size| (rsa, size))) {
        let secret = key(rsa, size);
        let public = secret.public_key();
        let signature = secret.sign::<S>(b"message").unwrap();
        assert_eq!(public.verify(b"message", &signature), Ok(()));
        assert_eq!(public.verify(b"messagf", &signature), Err(RsaError::Signature));
        for at in (0..size.bytes()).step_by(17) {
            let mut bytes = signature.as_bytes().to_vec();
            bytes[at] ^= 0x10;
            let changed = Signature::<S>::from_bytes(&bytes).unwrap();
            assert_eq!(public.verify(b"message", &changed), Err(RsaError::Signature), "byte {at}");
        }
        for bad in [&signature.as_bytes()[1..], &[signature.as_bytes(), &[0]].concat(), &[]] {
            assert_eq!(Signature::<S>::from_bytes(bad), Err(RsaError::Signature));
        }
        // The modulus more is the same number, written otherwise, where that fits: in one of some messages.
        let above = |signature: &Signature<S>| {
            let sum = BigUint::from_bytes_be(signature.as_bytes()) + BigUint::from_bytes_be(&public.modulus());
            Signature::<S>::from_bytes(&sum.to_bytes_be()).ok()
        };
        let signed = |number: u32| (number.to_be_bytes(), secret.sign::<S>(&number.to_be_bytes()).unwrap());
        let fits =
            (0..1000).map(signed).find_map(|(message, signature)| Some((message, above(&signature)?, signature)));
        let (message, above, signature_of_it) = fits.expect("a signature that is short enough");
        assert_eq!(public.verify(&message, &signature_of_it), Ok(()));
        assert_eq!(public.verify(&message, &above), Err(RsaError::Signature));
        let of_other_size = Signature::<S>::from_bytes(&[0; 512]).unwrap();
        assert_eq!(public.verify(b"message", &of_other_size), Err(RsaError::Signature));
        assert_eq!(
            public.verify(b"message", &Signature::<S>::from_bytes(&vec![0; size.bytes()]).unwrap()),
            Err(RsaError::Signature)
        );
    }
}

#[test]
fn a_changed_signature_message_or_key_is_refused() {
    signatures::<Pss<Sha256>>();
    signatures::<Pkcs1v15<Sha512>>();
}

#[test]
fn digests_of_another_length_are_refused() {
    let secret = key(Rsa::new(), Size::Bits2048);
    let digest = Sha256::digest(b"message");
    let signature = secret.sign_digest::<Pss<Sha256>>(&digest).unwrap();
    assert_eq!(secret.public_key().verify_digest(&digest, &signature), Ok(()));
    assert_eq!(secret.public_key().verify(b"message", &signature), Ok(()));
    assert_eq!(secret.public_key().verify_digest(&digest[1..], &signature), Err(RsaError::Digest));
    assert_eq!(secret.sign_digest::<Pss<Sha512>>(&digest).err(), Some(RsaError::Digest));
    let signature = secret.sign_digest_with::<Pss<Sha256>>(&digest, &mut super::rng()).unwrap();
    assert_eq!(secret.public_key().verify(b"message", &signature), Ok(()));
    assert_eq!(secret.sign_digest_with::<Pss<Sha512>>(&digest, &mut super::rng()).err(), Some(RsaError::Digest));
}

#[test]
fn ciphertexts_are_refused_by_one_error_whatever_is_wrong() {
    for rsa in arms() {
        let secret = key(rsa, Size::Bits2048);
        let public = secret.public_key();
        let sealed = public.encrypt_oaep::<Sha256>(b"text", b"label").unwrap();
        assert_eq!(*secret.decrypt_oaep::<Sha256>(&sealed, b"label").unwrap(), b"text");
        let refused = |sealed: &[u8]| {
            assert_eq!(secret.decrypt_oaep::<Sha256>(sealed, b"label").err(), Some(RsaError::Decryption));
        };
        assert_eq!(secret.decrypt_oaep::<Sha256>(&sealed, b"").err(), Some(RsaError::Decryption));
        assert_eq!(secret.decrypt_oaep::<Sha512>(&sealed, b"label").err(), Some(RsaError::Decryption));
        for at in (0..sealed.len()).step_by(31) {
            let mut bad = sealed.clone();
            bad[at] ^= 1;
            refused(&bad);
        }
        refused(&sealed[1..]);
        refused(&[&[0], &sealed[..]].concat());
        refused(&[]);
        refused(&[0; 256]);
        refused(&public.modulus());
        refused(&[0xff; 256]);
        let above = (BigUint::from_bytes_be(&sealed) + BigUint::from_bytes_be(&public.modulus())).to_bytes_be();
        refused(&above);
    }
}

#[test]
fn messages_up_to_the_longest_are_encrypted_and_no_longer_ones() {
    let secret = key(Rsa::new(), Size::Bits2048);
    let public = secret.public_key();
    let longest = public.longest_message::<Sha256>();
    assert_eq!(longest, 190);
    for length in [0, 1, longest - 1, longest] {
        let text = vec![1; length];
        let sealed = public.encrypt_oaep::<Sha256>(&text, b"").unwrap();
        assert_eq!(*secret.decrypt_oaep::<Sha256>(&sealed, b"").unwrap(), text);
        let text = vec![0; length];
        let sealed = public.encrypt_oaep::<Sha256>(&text, b"").unwrap();
        assert_eq!(*secret.decrypt_oaep::<Sha256>(&sealed, b"").unwrap(), text);
    }
    assert_eq!(public.encrypt_oaep::<Sha256>(&vec![1; longest + 1], b"").err(), Some(RsaError::MessageLength));
}

#[test]
fn a_generator_that_is_stuck_makes_no_key_and_no_two_signatures_alike_unless_they_are() {
    for byte in [0, 0xff] {
        let made = Rsa::new().generate_with(Size::Bits2048, &mut Stuck(byte));
        assert_eq!(made.err(), Some(RsaError::Generator));
    }
    // A salt that repeats, and a blinding that everybody knows, leave signatures right.
    let secret = key(Rsa::new(), Size::Bits2048);
    let signature = secret.sign_with::<Pss<Sha256>>(b"one", &mut Stuck(7)).unwrap();
    assert_eq!(secret.public_key().verify(b"one", &signature), Ok(()));
    // A blinding of zero is none.
    let fresh = key(Rsa::new(), Size::Bits2048);
    assert_eq!(fresh.sign_with::<Pss<Sha256>>(b"one", &mut Stuck(0)).err(), Some(RsaError::Fault));
}

#[test]
fn the_traits_of_crate_signature_do_what_the_methods_do() {
    type S = Signature<Pss<Sha256>>;
    let secret = key(Rsa::new(), Size::Bits2048);
    let public = secret.verifying_key();
    assert_eq!(&public, secret.public_key());
    let signature: S = Signer::try_sign(&secret, b"message").unwrap();
    assert!(Verifier::verify(&public, b"message", &signature).is_ok());
    assert!(Verifier::verify(&public, b"other", &signature).is_err());
    let signature: S = secret.try_sign_with_rng(&mut super::rng(), b"message").unwrap();
    assert!(Verifier::verify(&public, b"message", &signature).is_ok());
    let digest = Sha256::digest(b"message");
    let signature: S = secret.sign_prehash(&digest).unwrap();
    assert!(public.verify_prehash(&digest, &signature).is_ok());
    assert!(public.verify_prehash(&[0; 32], &signature).is_err());
    let signature: S = secret.sign_prehash_with_rng(&mut super::rng(), &digest).unwrap();
    assert!(public.verify_prehash(&digest, &signature).is_ok());
    let bytes = SignatureEncoding::to_bytes(&signature);
    assert_eq!(S::try_from(bytes.as_slice()).unwrap(), signature);
    assert!(S::try_from(&bytes[1..]).is_err());
}
