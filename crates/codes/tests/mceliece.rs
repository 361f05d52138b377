//! Classic McEliece through its public interface, beside crate `pq-mceliece`.

use candor_codes::mceliece::*;
use candor_cpu::Cpu;
use candor_primitives::hash::{ExtendableOutput, Shake256, Update, XofReader};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use candor_test_support::random::Random;
use pq_mceliece::Algorithm;
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;

/// Runs a test with sets and what `pq-mceliece` calls them.
macro_rules! with_sets {
    ($($test:ident: $($set:ident $other:ident),+;)+) => {
        $(
            #[test]
            fn $test() {
                $(sets::$test::<$set>(Algorithm::$other);)+
            }
        )+
    };
}

with_sets! {
    a_key_pair_is_the_other_s_from_the_same_seed:
        Set348864 McEliece348864, Set460896f McEliece460896f, Set6960119 McEliece6960119;
    each_decapsulates_what_the_other_encapsulates:
        Set348864f McEliece348864f, Set6960119f McEliece6960119f, Set8192128f McEliece8192128f;
    a_ciphertext_that_carries_no_error_gives_the_implicit_secret_that_the_other_gives:
        Set348864f McEliece348864f, Set6688128f McEliece6688128f;
    keys_and_ciphertexts_of_another_length_are_errors: Set348864f McEliece348864f;
    changed_secret_keys_are_errors: Set348864 McEliece348864, Set348864f McEliece348864f;
    a_key_comes_back_from_its_bytes_and_from_its_seed: Set348864 McEliece348864, Set348864f McEliece348864f;
}

mod sets {
    use super::*;

    pub(crate) fn a_key_pair_is_the_other_s_from_the_same_seed<S: ParameterSet>(other: Algorithm) {
        let (kem, secret, public) = pair::<S>(5);
        let (their_public, their_secret) = other.generate_keypair_from_seed([5; 32]).unwrap();
        assert!(bytes_of(&kem, &public) == their_public.value());
        assert!(kem.secret_to_bytes(&secret).unwrap()[..] == *their_secret.value());
    }

    pub(crate) fn each_decapsulates_what_the_other_encapsulates<S: ParameterSet>(other: Algorithm) {
        let (kem, secret, public) = pair::<S>(1);
        let their_public = other.encapsulation_key_from_bytes(&bytes_of(&kem, &public)).unwrap();
        let their_secret = other.decapsulation_key_from_bytes(&kem.secret_to_bytes(&secret).unwrap()).unwrap();
        for tier in Cpu::tiers() {
            let kem = Mceliece::<S>::with_cpu(Cpu::named(tier.name).unwrap());
            let mut ciphertext = vec![0; Mceliece::<S>::CIPHERTEXT];
            let shared = kem.encapsulate(&public, &mut ciphertext).unwrap();
            let theirs = their_secret.decapsulate(&other.ciphertext_from_bytes(&ciphertext).unwrap()).unwrap();
            assert_eq!(theirs.value(), shared.as_bytes(), "{kem:?}");
            assert!(kem.decapsulate(&secret, &ciphertext).unwrap() == shared, "{kem:?}");
            let (ciphertext, theirs) = their_public.encapsulate(Numbers(Random::new(2))).unwrap();
            assert_eq!(kem.decapsulate(&secret, ciphertext.value()).unwrap().as_bytes(), theirs.value(), "{kem:?}");
        }
    }

    pub(crate) fn a_ciphertext_that_carries_no_error_gives_the_implicit_secret_that_the_other_gives<S: ParameterSet>(
        other: Algorithm,
    ) {
        let mut random = Random::new(3);
        let (kem, secret, public) = pair::<S>(2);
        let theirs = other.decapsulation_key_from_bytes(&kem.secret_to_bytes(&secret).unwrap()).unwrap();
        let mut good = vec![0; Mceliece::<S>::CIPHERTEXT];
        let mut seen = vec![kem.encapsulate(&public, &mut good).unwrap()];
        let flipped = |at: usize, mask| {
            let mut bad = good.clone();
            bad[at] ^= mask;
            bad
        };
        let last = good.len() - 1;
        for bad in
            [flipped(0, 1), flipped(last / 2, 0x10), flipped(last, 0x80), random.bytes(good.len()), vec![0; good.len()]]
        {
            let found = kem.decapsulate(&secret, &bad).unwrap();
            assert!(!seen.contains(&found));
            let expected = theirs.decapsulate(&other.ciphertext_from_bytes(&bad).unwrap()).unwrap();
            assert_eq!(found.as_bytes(), expected.value());
            let mut error = vec![0; Mceliece::<S>::ERROR];
            assert!(!bool::from(kem.decode(&secret, &bad, &mut error).unwrap()));
            seen.push(found);
        }
        let mut error = vec![0; Mceliece::<S>::ERROR];
        assert!(bool::from(kem.decode(&secret, &good, &mut error).unwrap()));
        let weight: u32 = error.iter().map(|byte| byte.count_ones()).sum();
        assert_eq!(weight, if Mceliece::<S>::CIPHERTEXT == 96 { 64 } else { 128 });
        assert!(kem.decapsulate(&secret, &good).unwrap() == seen[0], "the undamaged one");
        let mut steps = 0;
        assert!(kem.decapsulate_in_steps(&secret, &good, || steps += 1).unwrap() == seen[0]);
        assert_eq!(steps, Mceliece::<S>::STEPS.len());
        assert!(kem.decapsulate_in_steps(&secret, &good[1..], || ()).is_err(), "too short");
    }

    pub(crate) fn keys_and_ciphertexts_of_another_length_are_errors<S: ParameterSet>(_: Algorithm) {
        let (kem, secret, public) = pair::<S>(3);
        let length = |what, expected, got| KemError::Length { what, expected, got };
        for bytes in [0, 1, Mceliece::<S>::PUBLIC - 1, Mceliece::<S>::PUBLIC + 1] {
            let wrong = length("public key", Mceliece::<S>::PUBLIC, bytes);
            assert_eq!(kem.public_from_bytes(&vec![0; bytes]).err(), Some(wrong));
            assert_eq!(kem.public_to_bytes(&public, &mut vec![0; bytes]), Err(wrong));
        }
        for bytes in [0, 32, Mceliece::<S>::SECRET - 1, Mceliece::<S>::SECRET + 1] {
            let wrong = length("secret key", Mceliece::<S>::SECRET, bytes);
            assert_eq!(kem.secret_from_bytes(&vec![0; bytes]).err(), Some(wrong));
        }
        let mut ciphertext = vec![0; Mceliece::<S>::CIPHERTEXT];
        for count in [0, 31, 33] {
            let wrong = length("seed of the key pair", 32, count);
            assert_eq!(kem.generate_from(&vec![1; count]).err(), Some(wrong));
            assert_eq!(kem.secret_from_seed(&vec![1; count]).err(), Some(wrong));
            let wrong = length("randomness of the encapsulation", 32, count);
            assert_eq!(kem.encapsulate_from(&public, &vec![1; count], &mut ciphertext).err(), Some(wrong));
        }
        for count in [0, ciphertext.len() - 1, ciphertext.len() + 1] {
            let wrong = length("ciphertext", ciphertext.len(), count);
            assert_eq!(kem.decapsulate(&secret, &vec![1; count]).err(), Some(wrong));
            assert_eq!(kem.encapsulate(&public, &mut vec![0; count]).err(), Some(wrong));
            assert_eq!(kem.encapsulate_from(&public, &[1; 32], &mut vec![0; count]).err(), Some(wrong));
            assert_eq!(kem.decode(&secret, &vec![0; count], &mut vec![0; Mceliece::<S>::ERROR]).err(), Some(wrong));
        }
        let wrong = length("error vector", Mceliece::<S>::ERROR, 7);
        assert_eq!(kem.decode(&secret, &ciphertext, &mut [0; 7]).err(), Some(wrong));
        let wrong = length("secret key", Mceliece::<S>::SECRET, 8);
        assert_eq!(kem.secret_from_trusted_bytes(&[0; 8]).err(), Some(wrong));
        let shared = kem.encapsulate_from(&public, &[1; 32], &mut ciphertext).unwrap();
        assert!(kem.decapsulate(&secret, &ciphertext).unwrap() == shared, "the right lengths");
    }

    pub(crate) fn changed_secret_keys_are_errors<S: ParameterSet>(_: Algorithm) {
        let (kem, secret, public) = pair::<S>(4);
        let bytes = kem.secret_to_bytes(&secret).unwrap();
        let mut ciphertext = vec![0; Mceliece::<S>::CIPHERTEXT];
        let shared = kem.encapsulate_from(&public, &[1; 32], &mut ciphertext).unwrap();
        assert!(kem.secret_from_bytes(&bytes).is_ok());
        let trusted = kem.secret_from_trusted_bytes(&bytes).unwrap();
        assert!(kem.secret_to_bytes(&trusted).unwrap() == bytes);
        // A byte of each part: δ, c, g, the control bits, s.
        for at in [0, 32, 39, 40, 40 + 127, 40 + 128, bytes.len() - 437, bytes.len() - 436, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 0x20;
            assert_eq!(kem.secret_from_bytes(&changed).err(), Some(KemError::SecretKey), "byte {at}");
            // Trusted, it is no error.
            let trusted = kem.secret_from_trusted_bytes(&changed).unwrap();
            let found = kem.decapsulate(&trusted, &ciphertext).unwrap();
            // δ and c are not read, s only if there is no error vector, and a control bit matters where there is an error beside it.
            if at == 40 {
                assert!(found != shared, "another polynomial");
            } else if at < 40 || at > bytes.len() - 437 {
                assert!(found == shared, "byte {at}");
            }
        }
    }

    pub(crate) fn a_key_comes_back_from_its_bytes_and_from_its_seed<S: ParameterSet>(_: Algorithm) {
        let (kem, secret, public) = pair::<S>(6);
        let bytes = kem.secret_to_bytes(&secret).unwrap();
        let seed = kem.secret_to_seed(&secret).unwrap();
        let (again, same) = kem.generate_from(&seed).unwrap();
        assert!(kem.secret_to_bytes(&again).unwrap() == bytes);
        assert!(kem.secret_to_bytes(&kem.secret_from_seed(&seed).unwrap()).unwrap() == bytes);
        assert!(bytes_of(&kem, &same) == bytes_of(&kem, &public.clone()));
        let read = kem.public_from_bytes(&bytes_of(&kem, &public)).unwrap();
        assert!(bytes_of(&kem, &read) == bytes_of(&kem, &public));
        assert!(!format!("{secret:?}{public:?}{kem:?}").is_empty());
    }
}

/// T of 6960119 has 5413 columns and its ciphertexts 1547 bits: three and five bits of the last bytes stay zero.
#[test]
fn bits_beyond_a_matrix_are_an_error_and_beyond_a_ciphertext_no_ciphertext() {
    let (kem, secret, public) = pair::<Set6960119f>(7);
    let key = bytes_of(&kem, &public);
    for row in [0, 1546] {
        for bit in 0..8 {
            let mut changed = key.clone();
            changed[row * 677 + 676] ^= 1 << bit;
            let expected = (bit >= 5).then_some(KemError::PublicKey);
            assert_eq!(kem.public_from_bytes(&changed).err(), expected, "row {row}, bit {bit}");
        }
    }
    let mut ciphertext = vec![0; Mceliece6960119f::CIPHERTEXT];
    let shared = kem.encapsulate(&public, &mut ciphertext).unwrap();
    for bit in 0..8 {
        let mut changed = ciphertext.clone();
        changed[193] ^= 1 << bit;
        let found = kem.decapsulate(&secret, &changed).unwrap();
        assert!(found != shared, "bit {bit}");
        assert!(kem.decapsulate(&secret, &changed).unwrap() == found, "the same each time");
    }
    assert!(kem.decapsulate(&secret, &ciphertext).unwrap() == shared);
    // Bits beyond are those of the error's first columns of T. Two that exchange a one and a zero of the error leave a word that can be decoded.
    let first_columns = |coins: u8| {
        let mut ciphertext = vec![0; Mceliece6960119f::CIPHERTEXT];
        kem.encapsulate_from(&public, &[coins; 32], &mut ciphertext).unwrap();
        let mut error = vec![0; Mceliece6960119f::ERROR];
        kem.decode(&secret, &ciphertext, &mut error).unwrap();
        (ciphertext, error[193] >> 3)
    };
    let (mut changed, ones) = (0..=255).map(first_columns).find(|(_, ones)| ones.count_ones() == 1).unwrap();
    let one = ones.trailing_zeros();
    changed[193] |= 1 << (3 + one) | 1 << (3 + (one + 1) % 5);
    let bytes = kem.secret_to_bytes(&secret).unwrap();
    let mut hash = Shake256::new();
    [&[0], &bytes[bytes.len() - Mceliece6960119f::ERROR..], &changed].into_iter().for_each(|part| hash.update(part));
    let mut implicit = [0; 32];
    hash.finalize_xof().read(&mut implicit);
    assert_eq!(kem.decapsulate(&secret, &changed).unwrap().as_bytes(), &implicit);
}

#[test]
fn fresh_keys_and_secrets_differ_from_call_to_call() {
    let kem = Mceliece348864f::new();
    let [(_, one), (_, other)] = [(); 2].map(|()| kem.generate().unwrap());
    assert!(bytes_of(&kem, &one) != bytes_of(&kem, &other));
    let mut ciphertexts = [[0; Mceliece348864f::CIPHERTEXT]; 2];
    let [first, second] = ciphertexts.each_mut().map(|ciphertext| kem.encapsulate(&one, ciphertext).unwrap());
    assert!(first != second && ciphertexts[0] != ciphertexts[1]);
}

#[test]
fn a_generator_that_always_says_the_same_is_an_error() {
    struct Constant;
    impl TryRng for Constant {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(0)
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(0)
        }
        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
            bytes.fill(0);
            Ok(())
        }
    }
    impl TryCryptoRng for Constant {}
    let (kem, _, public) = pair::<Set348864f>(8);
    let mut ciphertext = [0; Mceliece348864f::CIPHERTEXT];
    assert_eq!(kem.encapsulate_with(&mut Constant, &public, &mut ciphertext).err(), Some(KemError::Randomness));
}

fn pair<S: ParameterSet>(seed: u8) -> (Mceliece<S>, Secret<S>, Public<S>) {
    let kem = Mceliece::<S>::new();
    let (secret, public) = kem.generate_from(&[seed; 32]).unwrap();
    (kem, secret, public)
}

fn bytes_of<S: ParameterSet>(kem: &Mceliece<S>, public: &Public<S>) -> Vec<u8> {
    let mut bytes = vec![0; Mceliece::<S>::PUBLIC];
    kem.public_to_bytes(public, &mut bytes).unwrap();
    bytes
}

/// The tests' numbers as a generator.
struct Numbers(Random);

impl TryRng for Numbers {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.word() as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.word())
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.copy_from_slice(&self.0.bytes(bytes.len()));
        Ok(())
    }
}

impl TryCryptoRng for Numbers {}
