//! What every KEM back end must do beyond the vectors: understand the others, and refuse what the standard refuses.

use candor_primitives::Cpu;
use candor_primitives::kem::ml_kem::{
    ML_KEM_512, ML_KEM_768, ML_KEM_1024, MlKem, MlKem512, MlKem768, MlKem1024, ParameterSet, PreparedMlKem512,
    PreparedMlKem768, PreparedMlKem1024,
};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError, aws_lc, libcrux, rustcrypto};
use proptest::prelude::*;

/// Calls a function with each back end of each level.
macro_rules! every_back_end {
    ($check:ident) => {
        $check(aws_lc::MlKem512, ML_KEM_512);
        $check(aws_lc::MlKem768, ML_KEM_768);
        $check(aws_lc::MlKem1024, ML_KEM_1024);
        $check(libcrux::MlKem512, ML_KEM_512);
        $check(libcrux::MlKem768, ML_KEM_768);
        $check(libcrux::MlKem1024, ML_KEM_1024);
        $check(rustcrypto::MlKem512, ML_KEM_512);
        $check(rustcrypto::MlKem768, ML_KEM_768);
        $check(rustcrypto::MlKem1024, ML_KEM_1024);
        $check(MlKem512::new(), ML_KEM_512);
        $check(MlKem768::new(), ML_KEM_768);
        $check(MlKem1024::new(), ML_KEM_1024);
        $check(MlKem768::with_cpu(Cpu::portable()), ML_KEM_768);
        $check(PreparedMlKem512::new(), ML_KEM_512);
        $check(PreparedMlKem768::new(), ML_KEM_768);
        $check(PreparedMlKem1024::new(), ML_KEM_1024);
    };
}

fn public_bytes<K: Kem>(kem: &K, public: &K::Public) -> Vec<u8> {
    let mut bytes = vec![0; K::PUBLIC];
    kem.public_to_bytes(public, &mut bytes).unwrap();
    bytes
}

/// `a` makes the key, `b` encapsulates to it; then the secret key itself goes over to `b`.
fn exchange<A: Kem, B: Kem>(a: A, b: B) {
    let (secret, public) = a.generate().unwrap();
    let to = b.public_from_bytes(&public_bytes(&a, &public)).unwrap();
    let mut ciphertext = vec![0; B::CIPHERTEXT];
    let sent = b.encapsulate(&to, &mut ciphertext).unwrap();
    assert_eq!(a.decapsulate(&secret, &ciphertext).unwrap(), sent);

    let moved = b.secret_from_bytes(&a.secret_to_bytes(&secret).unwrap()).unwrap();
    assert_eq!(b.decapsulate(&moved, &ciphertext).unwrap(), sent);
    assert_eq!(*b.secret_to_bytes(&moved).unwrap(), *a.secret_to_bytes(&secret).unwrap());
}

macro_rules! exchanges {
    ($($name:ident: $level:ident, $rank:literal;)+) => {
        $(#[test]
        fn $name() {
            exchange(aws_lc::$level, aws_lc::$level);
            exchange(aws_lc::$level, libcrux::$level);
            exchange(aws_lc::$level, rustcrypto::$level);
            exchange(libcrux::$level, aws_lc::$level);
            exchange(libcrux::$level, libcrux::$level);
            exchange(libcrux::$level, rustcrypto::$level);
            exchange(rustcrypto::$level, aws_lc::$level);
            exchange(rustcrypto::$level, libcrux::$level);
            exchange(rustcrypto::$level, rustcrypto::$level);
            exchange(MlKem::<$rank>::new(), aws_lc::$level);
            exchange(aws_lc::$level, MlKem::<$rank>::new());
        })+
    };
}

exchanges! {
    ml_kem_512_back_ends_understand_each_other: MlKem512, 2;
    ml_kem_768_back_ends_understand_each_other: MlKem768, 3;
    ml_kem_1024_back_ends_understand_each_other: MlKem1024, 4;
}

fn refuses_wrong_lengths<K: Kem>(kem: K, set: ParameterSet) {
    let error = |what, expected: usize, got: usize| KemError::Length { what, expected, got };
    let (secret, public) = kem.generate().unwrap();
    for length in [0, 1, set.public() - 1, set.public() + 1, set.secret()] {
        let expected = error("public key", set.public(), length);
        assert_eq!(kem.public_from_bytes(&vec![0; length]).err(), Some(expected));
        assert_eq!(kem.public_to_bytes(&public, &mut vec![0; length]), Err(expected));
    }
    for length in [0, 1, set.public(), set.secret() - 1, set.secret() + 1] {
        let expected = error("secret key", set.secret(), length);
        assert_eq!(kem.secret_from_bytes(&vec![0; length]).err(), Some(expected));
    }
    for length in [0, 1, set.ciphertext() - 1, set.ciphertext() + 1] {
        let expected = error("ciphertext", set.ciphertext(), length);
        assert_eq!(kem.encapsulate(&public, &mut vec![0; length]).err(), Some(expected));
        assert_eq!(kem.decapsulate(&secret, &vec![0; length]).err(), Some(expected));
    }
    // The right lengths are accepted.
    let encoded = public_bytes(&kem, &public);
    assert!(kem.public_from_bytes(&encoded).is_ok() && encoded.len() == set.public());
    assert!(kem.secret_from_bytes(&kem.secret_to_bytes(&secret).unwrap()).is_ok());
    let mut ciphertext = vec![0; set.ciphertext()];
    assert!(kem.encapsulate(&public, &mut ciphertext).is_ok() && kem.decapsulate(&secret, &ciphertext).is_ok());
}

#[test]
fn wrong_lengths_are_refused() {
    every_back_end!(refuses_wrong_lengths);
}

/// FIPS 203 §7.2: first, last and two other coefficients, at q − 1, at q and at the most that 12 bits hold.
fn refuses_unreduced_public_keys<K: Kem>(kem: K, set: ParameterSet) {
    let (_, public) = kem.generate().unwrap();
    let good = public_bytes(&kem, &public);
    assert!(kem.public_from_bytes(&good).is_ok());
    for at in [0, 1, 128 * set.k, 256 * set.k - 1] {
        for (value, refusal) in [(3328u16, None), (3329, Some(KemError::PublicKey)), (4095, Some(KemError::PublicKey))]
        {
            let mut changed = good.clone();
            let byte = at / 2 * 3;
            if at % 2 == 0 {
                changed[byte] = value as u8;
                changed[byte + 1] = changed[byte + 1] & 0xf0 | (value >> 8) as u8;
            } else {
                changed[byte + 1] = changed[byte + 1] & 0x0f | (value << 4) as u8;
                changed[byte + 2] = (value >> 4) as u8;
            }
            assert_eq!(kem.public_from_bytes(&changed).err(), refusal, "{} {at} {value}", K::NAME);
        }
    }
}

#[test]
fn a_public_key_with_an_unreduced_coefficient_is_refused() {
    every_back_end!(refuses_unreduced_public_keys);
}

/// FIPS 203 §7.3: neither the hash nor what is hashed may change; dk_pke and z are not covered by the check.
fn refuses_inconsistent_secret_keys<K: Kem>(kem: K, set: ParameterSet) {
    let (secret, _) = kem.generate().unwrap();
    let good = kem.secret_to_bytes(&secret).unwrap();
    assert!(kem.secret_from_bytes(&good).is_ok());
    for at in [set.hash_of_ek().start, set.hash_of_ek().end - 1, set.ek().end - 1] {
        let mut bad = good.to_vec();
        bad[at] ^= 1;
        assert_eq!(kem.secret_from_bytes(&bad).err(), Some(KemError::SecretKey), "{} {at}", K::NAME);
    }
    let mut other_z = good.to_vec();
    other_z[set.z().start] ^= 1;
    assert!(kem.secret_from_bytes(&other_z).is_ok());
}

#[test]
fn a_secret_key_with_a_wrong_hash_is_refused() {
    every_back_end!(refuses_inconsistent_secret_keys);
}

/// An unreduced encapsulation key inside a decapsulation key whose hash is right.
fn refuses_secret_keys_with_unreduced_public_keys<K: Kem>(kem: K, set: ParameterSet) {
    let (secret, _) = kem.generate().unwrap();
    let good = kem.secret_to_bytes(&secret).unwrap();
    // The first two coefficients of the public key inside: reduced in one, not in the other.
    for (coefficients, refusal) in [([0; 3], None), ([0xff; 3], Some(KemError::SecretKey))] {
        let mut changed = good.to_vec();
        changed[set.ek().start..][..3].copy_from_slice(&coefficients);
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA3_256, &changed[set.ek()]);
        changed[set.hash_of_ek()].copy_from_slice(hash.as_ref());
        assert_eq!(kem.secret_from_bytes(&changed).err(), refusal, "{}", K::NAME);
    }
}

#[test]
fn a_secret_key_with_an_unreduced_public_key_in_it_is_refused() {
    every_back_end!(refuses_secret_keys_with_unreduced_public_keys);
}

/// FIPS 203 §6.3: another secret, always the same one, and no error.
fn rejects_implicitly<K: Kem>(kem: K, set: ParameterSet) {
    let (secret, public) = kem.generate().unwrap();
    let mut ciphertext = vec![0; K::CIPHERTEXT];
    let sent = kem.encapsulate(&public, &mut ciphertext).unwrap();
    assert_eq!(kem.decapsulate(&secret, &ciphertext).unwrap(), sent);
    let c2 = 32 * set.du * set.k;
    for at in [0, c2 - 1, c2, set.ciphertext() - 1] {
        let mut flipped = ciphertext.clone();
        flipped[at] ^= 1;
        let first = kem.decapsulate(&secret, &flipped).unwrap();
        assert_ne!(first, sent, "{} byte {at}", K::NAME);
        assert_eq!(first, kem.decapsulate(&secret, &flipped).unwrap());
    }
    for byte in [0, 0xff] {
        assert_ne!(kem.decapsulate(&secret, &vec![byte; K::CIPHERTEXT]).unwrap(), sent);
    }
}

#[test]
fn a_bad_ciphertext_gives_another_secret_and_no_error() {
    every_back_end!(rejects_implicitly);
}

fn prints_nothing<K: Kem<Secret: std::fmt::Debug, Public: std::fmt::Debug>>(kem: K, _: ParameterSet) {
    let (secret, public) = kem.generate().unwrap();
    assert_eq!(format!("{secret:?} {public:?}"), "Secret(..) Public(..)");
}

#[test]
fn keys_do_not_print() {
    every_back_end!(prints_nothing);
}

fn draws_afresh<K: Kem>(kem: K, _: ParameterSet) {
    let (_, public) = kem.generate().unwrap();
    assert_ne!(public_bytes(&kem, &public), public_bytes(&kem, &kem.generate().unwrap().1));
    let (mut first, mut second) = (vec![0; K::CIPHERTEXT], vec![0; K::CIPHERTEXT]);
    assert_ne!(kem.encapsulate(&public, &mut first).unwrap(), kem.encapsulate(&public, &mut second).unwrap());
    assert_ne!(first, second);
}

#[test]
fn keys_and_encapsulations_are_fresh_each_time() {
    every_back_end!(draws_afresh);
}

/// Counts up, and remembers how many bytes were drawn.
struct Counter(u8, usize);

impl rand_core::TryRng for Counter {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("coins are drawn as bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        unreachable!("coins are drawn as bytes")
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.iter_mut().for_each(|byte| (*byte, self.0) = (self.0, self.0.wrapping_add(1)));
        self.1 += bytes.len();
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Counter {}

fn draws_its_coins_from_the_generator<K: DerandomizedKem>(kem: K) {
    let coins: Vec<u8> = (0..96).collect();
    let mut rng = Counter(0, 0);
    let (secret, public) = kem.generate_with(&mut rng).unwrap();
    let mut drawn = vec![0; K::CIPHERTEXT];
    let shared = kem.encapsulate_with(&mut rng, &public, &mut drawn).unwrap();
    assert_eq!(rng.1, 96);

    let (same, _) = kem.generate_from(&coins[..64]).unwrap();
    assert_eq!(*kem.secret_to_bytes(&secret).unwrap(), *kem.secret_to_bytes(&same).unwrap());
    let mut given = vec![0; K::CIPHERTEXT];
    assert_eq!(kem.encapsulate_from(&public, &coins[64..], &mut given).unwrap(), shared);
    assert_eq!(drawn, given);

    for length in [0, 32, 63, 65] {
        assert!(matches!(kem.generate_from(&vec![0; length]), Err(KemError::Length { expected: 64, .. })));
    }
    for length in [0, 31, 33, 64] {
        let refused = kem.encapsulate_from(&public, &vec![0; length], &mut given);
        assert!(matches!(refused, Err(KemError::Length { expected: 32, .. })));
    }
}

#[test]
fn a_generator_is_asked_for_the_coins_and_nothing_else() {
    draws_its_coins_from_the_generator(libcrux::MlKem512);
    draws_its_coins_from_the_generator(libcrux::MlKem768);
    draws_its_coins_from_the_generator(libcrux::MlKem1024);
    draws_its_coins_from_the_generator(rustcrypto::MlKem512);
    draws_its_coins_from_the_generator(rustcrypto::MlKem768);
    draws_its_coins_from_the_generator(rustcrypto::MlKem1024);
    draws_its_coins_from_the_generator(MlKem512::new());
    draws_its_coins_from_the_generator(MlKem768::new());
    draws_its_coins_from_the_generator(PreparedMlKem1024::new());
}

/// A key goes to disk as its seed and comes back as the same key; one that came in expanded form has no seed to give.
fn keys_are_saved_as_seeds<K: DerandomizedKem>(kem: K) {
    let coins: Vec<u8> = (0..64).collect();
    let (secret, _) = kem.generate_from(&coins).unwrap();
    let seed = kem.secret_to_seed(&secret).unwrap();
    assert_eq!(*seed, coins);
    let expanded = kem.secret_to_bytes(&secret).unwrap();
    assert_eq!(kem.secret_to_bytes(&kem.secret_from_seed(&seed).unwrap()).unwrap(), expanded);
    assert!(matches!(kem.secret_from_seed(&seed[..63]), Err(KemError::Length { expected: 64, got: 63, .. })));

    let imported = kem.secret_from_bytes(&expanded).unwrap();
    assert_eq!(kem.secret_to_seed(&imported).err(), Some(KemError::NoSeed));
    assert_eq!(kem.secret_to_seed(&kem.generate().unwrap().0).unwrap().len(), 64);
}

#[test]
fn keys_are_saved_and_restored_as_seeds_of_64_bytes() {
    keys_are_saved_as_seeds(libcrux::MlKem512);
    keys_are_saved_as_seeds(libcrux::MlKem768);
    keys_are_saved_as_seeds(libcrux::MlKem1024);
    keys_are_saved_as_seeds(rustcrypto::MlKem512);
    keys_are_saved_as_seeds(rustcrypto::MlKem768);
    keys_are_saved_as_seeds(rustcrypto::MlKem1024);
    keys_are_saved_as_seeds(MlKem512::new());
    keys_are_saved_as_seeds(MlKem768::new());
    keys_are_saved_as_seeds(PreparedMlKem1024::new());
}

#[test]
fn messages_say_what_was_wrong_and_hold_no_secret() {
    let wrong = KemError::Length { what: "ciphertext", expected: 768, got: 5 };
    assert_eq!(wrong.to_string(), "ciphertext is 5 bytes long; expected 768");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same coins and the same ciphertext, good or bad, give the same bytes in every back end.
    #[test]
    fn the_back_ends_are_one_function(
        coins in proptest::collection::vec(any::<u8>(), 64),
        m in any::<[u8; 32]>(),
        flip in proptest::option::of((0usize..1088, 0u8..8)),
    ) {
        let (ours, theirs) = (libcrux::MlKem768, rustcrypto::MlKem768);
        let (our_secret, our_public) = ours.generate_from(&coins).unwrap();
        let (their_secret, their_public) = theirs.generate_from(&coins).unwrap();
        let dk = ours.secret_to_bytes(&our_secret).unwrap();
        prop_assert_eq!(&*dk, &*theirs.secret_to_bytes(&their_secret).unwrap());
        prop_assert_eq!(public_bytes(&ours, &our_public), public_bytes(&theirs, &their_public));

        let (mut ciphertext, mut other) = (vec![0; 1088], vec![0; 1088]);
        let shared = ours.encapsulate_from(&our_public, &m, &mut ciphertext).unwrap();
        prop_assert_eq!(&shared, &theirs.encapsulate_from(&their_public, &m, &mut other).unwrap());
        prop_assert_eq!(&ciphertext, &other);

        if let Some((byte, bit)) = flip {
            ciphertext[byte] ^= 1 << bit;
        }
        let received = ours.decapsulate(&our_secret, &ciphertext).unwrap();
        prop_assert_eq!(received == shared, flip.is_none());
        prop_assert_eq!(&received, &theirs.decapsulate(&their_secret, &ciphertext).unwrap());
        let imported = aws_lc::MlKem768.secret_from_bytes(&dk).unwrap();
        prop_assert_eq!(&received, &aws_lc::MlKem768.decapsulate(&imported, &ciphertext).unwrap());
    }

    /// Bytes from outside: an error or a key, never a panic.
    #[test]
    fn no_bytes_make_a_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3200)) {
        fn parse<K: Kem>(kem: K, bytes: &[u8]) {
            let _ = kem.public_from_bytes(bytes);
            let _ = kem.secret_from_bytes(bytes);
            for length in [K::PUBLIC, K::SECRET] {
                let _ = kem.public_from_bytes(&bytes[..length.min(bytes.len())]);
                let _ = kem.secret_from_bytes(&bytes[..length.min(bytes.len())]);
            }
        }
        parse(aws_lc::MlKem512, &bytes);
        parse(libcrux::MlKem512, &bytes);
        parse(rustcrypto::MlKem512, &bytes);
        parse(aws_lc::MlKem1024, &bytes);
        parse(libcrux::MlKem1024, &bytes);
        parse(rustcrypto::MlKem1024, &bytes);
        parse(MlKem512::new(), &bytes);
        parse(PreparedMlKem768::new(), &bytes);
        parse(MlKem1024::new(), &bytes);
    }
}
