//! HQC through its public interface, beside the same specification in crate `hqc-kem`.

use candor_codes::hqc::{Hqc, Level, Level1, Level3, Level5, SymbolProduct, Version};
use candor_cpu::Cpu;
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use candor_test_support::random::Random;
use hqc_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, Hqc128Params, Hqc192Params, Hqc256Params, HqcKem, HqcParams,
};

/// Runs a test on each level with the parameters of `hqc-kem`.
macro_rules! at_each_level {
    ($($test:ident;)+) => {
        $(
            #[test]
            fn $test() {
                levels::$test::<Level1, Hqc128Params>(1);
                levels::$test::<Level3, Hqc192Params>(3);
                levels::$test::<Level5, Hqc256Params>(5);
            }
        )+
    };
}

at_each_level! {
    a_key_pair_is_the_other_s_from_the_same_seed;
    an_encapsulation_is_the_other_s_from_the_same_coins_and_each_decapsulates_both;
    a_corrupted_ciphertext_gives_the_implicit_secret_that_the_other_gives;
    keys_and_ciphertexts_of_another_length_are_errors;
    malformed_keys_are_errors;
    a_key_comes_back_from_its_bytes_and_from_its_seed;
    the_two_versions_make_keys_that_do_not_fit_together;
    symbols_multiplied_in_another_way_give_the_same_secret;
}

mod levels {
    use super::*;

    pub(crate) fn symbols_multiplied_in_another_way_give_the_same_secret<L: Level, P: HqcParams>(number: u64) {
        let (kem, dk, ek) = pair::<L, P>(&mut Random::new(number + 60));
        let secret = kem.secret_from_bytes(dk.as_ref()).unwrap();
        let public = kem.public_from_bytes(ek.as_ref()).unwrap();
        let mut ciphertext = vec![0; Hqc::<L>::CIPHERTEXT];
        let ours = kem.encapsulate(&public, &mut ciphertext).unwrap();
        use SymbolProduct::{Clmul, Lanes, Loop, OnePass, Taps};
        for product in [Lanes, Loop, Taps, OnePass, Clmul] {
            let Some(kem) = kem.with_symbol_product(product) else {
                println!("skipped: {product:?} on a CPU without carry-less multiplication");
                continue;
            };
            let mut steps = 0;
            let found = kem.decapsulate_in_steps(&secret, &ciphertext, || steps += 1).unwrap();
            assert!(found == ours && steps == Hqc::<L>::STEPS.len(), "{product:?}, {steps} steps");
            let mut short = ciphertext.clone();
            short.pop();
            assert!(kem.decapsulate_in_steps(&secret, &short, || ()).is_err());
        }
        assert!(Hqc::<L>::with_cpu(Cpu::portable()).with_symbol_product(Clmul).is_none());
    }

    pub(crate) fn a_key_pair_is_the_other_s_from_the_same_seed<L: Level, P: HqcParams>(number: u64) {
        let mut random = Random::new(number);
        for tier in Cpu::tiers() {
            let kem = Hqc::<L>::with_cpu(Cpu::named(tier.name).unwrap());
            let seed: [u8; 32] = random.bytes(32).try_into().unwrap();
            let (secret, public) = kem.generate_from(&seed).unwrap();
            let (ek, dk) = HqcKem::<P>::generate_key_deterministic(&seed);
            assert_eq!(bytes_of(&kem, &public), ek.as_ref(), "{kem:?}");
            assert_eq!(kem.secret_to_bytes(&secret).unwrap()[..], *dk.as_ref(), "{kem:?}");
        }
    }

    pub(crate) fn an_encapsulation_is_the_other_s_from_the_same_coins_and_each_decapsulates_both<
        L: Level,
        P: HqcParams,
    >(
        number: u64,
    ) {
        let mut random = Random::new(number + 10);
        let (kem, dk, ek) = pair::<L, P>(&mut random);
        // Read from bytes, as the other side would.
        let secret = kem.secret_from_bytes(dk.as_ref()).unwrap();
        let public = kem.public_from_bytes(ek.as_ref()).unwrap();
        for _ in 0..3 {
            let (message, salt) = (random.bytes(Hqc::<L>::ENCAPSULATE_COINS - 16), random.bytes(16));
            let mut ours = vec![0; Hqc::<L>::CIPHERTEXT];
            let shared = kem.encapsulate_from(&public, &[&message[..], &salt].concat(), &mut ours).unwrap();
            let (theirs, their_shared) =
                ek.encapsulate_deterministic(&message, &salt.try_into().unwrap()).expect("as long as a message");
            assert_eq!(ours, theirs.as_ref());
            assert_eq!(shared.as_bytes(), their_shared.as_ref());
            let theirs = Ciphertext::<P>::try_from(&ours[..]).unwrap();
            assert_eq!(dk.decapsulate(&theirs).as_ref(), shared.as_bytes());
            assert!(kem.decapsulate(&secret, theirs.as_ref()).unwrap() == shared);
        }
    }

    pub(crate) fn a_corrupted_ciphertext_gives_the_implicit_secret_that_the_other_gives<L: Level, P: HqcParams>(
        number: u64,
    ) {
        let mut random = Random::new(number + 20);
        let (kem, dk, ek) = pair::<L, P>(&mut random);
        let secret = kem.secret_from_bytes(dk.as_ref()).unwrap();
        let public = kem.public_from_bytes(ek.as_ref()).unwrap();
        let mut good = vec![0; Hqc::<L>::CIPHERTEXT];
        let shared = kem.encapsulate(&public, &mut good).unwrap();
        let mut seen = vec![shared];
        let u = Hqc::<L>::PUBLIC - 32;
        // In u, in its bits beyond xⁿ, in v, and in the salt, a bit each; and all of it.
        for (at, mask) in
            [(0, 1), (u / 2, 0x10), (u - 1, 0x80), (u, 1), (good.len() - 17, 0x40), (good.len() - 1, 1), (0, 0)]
        {
            let mut bad = good.clone();
            bad[at] ^= mask;
            if mask == 0 {
                bad = random.bytes(good.len());
            }
            let found = kem.decapsulate(&secret, &bad).unwrap();
            assert!(!seen.contains(&found), "byte {at}");
            assert_eq!(found.as_bytes(), dk.decapsulate(&Ciphertext::<P>::try_from(&bad[..]).unwrap()).as_ref());
            assert!(kem.decapsulate(&secret, &bad).unwrap() == found, "the same each time");
            seen.push(found);
        }
        assert!(kem.decapsulate(&secret, &good).unwrap() == seen[0], "the undamaged one");
    }

    pub(crate) fn keys_and_ciphertexts_of_another_length_are_errors<L: Level, P: HqcParams>(number: u64) {
        let mut random = Random::new(number + 30);
        let (kem, dk, ek) = pair::<L, P>(&mut random);
        let (secret, public) =
            (kem.secret_from_bytes(dk.as_ref()).unwrap(), kem.public_from_bytes(ek.as_ref()).unwrap());
        let long = |bytes: &[u8]| [bytes, &[0]].concat();
        let length = |what, expected, got| KemError::Length { what, expected, got };
        for bytes in [&ek.as_ref()[1..], &long(ek.as_ref()), &[]] {
            let wrong = length("public key", Hqc::<L>::PUBLIC, bytes.len());
            assert_eq!(kem.public_from_bytes(bytes).err(), Some(wrong));
            assert_eq!(kem.public_to_bytes(&public, &mut bytes.to_vec()), Err(wrong));
        }
        for bytes in [&dk.as_ref()[1..], &long(dk.as_ref()), &[]] {
            let wrong = length("secret key", Hqc::<L>::SECRET, bytes.len());
            assert_eq!(kem.secret_from_bytes(bytes).err(), Some(wrong));
        }
        for count in [0, 31, 33, 64] {
            let wrong = length("seed of the key pair", 32, count);
            assert_eq!(kem.generate_from(&vec![1; count]).err(), Some(wrong));
            assert_eq!(kem.secret_from_seed(&vec![1; count]).err(), Some(wrong));
        }
        let mut ciphertext = vec![0; Hqc::<L>::CIPHERTEXT];
        let coins = random.bytes(Hqc::<L>::ENCAPSULATE_COINS);
        for count in [0, coins.len() - 1, coins.len() + 1] {
            let wrong = length("randomness of the encapsulation", coins.len(), count);
            assert_eq!(kem.encapsulate_from(&public, &vec![1; count], &mut ciphertext).err(), Some(wrong));
        }
        for count in [0, ciphertext.len() - 1, ciphertext.len() + 1] {
            let wrong = length("ciphertext", ciphertext.len(), count);
            assert_eq!(kem.decapsulate(&secret, &vec![1; count]).err(), Some(wrong));
            assert_eq!(kem.encapsulate_from(&public, &coins, &mut vec![0; count]).err(), Some(wrong));
        }
        let shared = kem.encapsulate_from(&public, &coins, &mut ciphertext).unwrap();
        assert!(kem.decapsulate(&secret, &ciphertext).unwrap() == shared, "the right lengths");
    }

    pub(crate) fn malformed_keys_are_errors<L: Level, P: HqcParams>(number: u64) {
        let mut random = Random::new(number + 40);
        let (kem, dk, ek) = pair::<L, P>(&mut random);
        assert!(kem.public_from_bytes(ek.as_ref()).is_ok() && kem.secret_from_bytes(dk.as_ref()).is_ok());
        for bit in 0..8 {
            let mut changed = ek.as_ref().to_vec();
            *changed.last_mut().unwrap() ^= 1 << bit;
            // s has 5, 3 and 5 bits of the last byte.
            let inside = bit < if number == 3 { 3 } else { 5 };
            assert_eq!(kem.public_from_bytes(&changed).err(), (!inside).then_some(KemError::PublicKey), "bit {bit}");
        }
        // A byte of each part: h's seed, s, the seed of y and x, σ, and the seed of it all.
        let (public, all) = (Hqc::<L>::PUBLIC, Hqc::<L>::SECRET);
        for at in [0, 31, 32, public - 1, public, public + 31, public + 32, all - 33, all - 32, all - 1] {
            let mut changed = dk.as_ref().to_vec();
            changed[at] ^= 1;
            assert_eq!(kem.secret_from_bytes(&changed).err(), Some(KemError::SecretKey), "byte {at}");
        }
    }

    pub(crate) fn a_key_comes_back_from_its_bytes_and_from_its_seed<L: Level, P: HqcParams>(number: u64) {
        let mut random = Random::new(number + 50);
        let (kem, dk, ek) = pair::<L, P>(&mut random);
        let secret = kem.secret_from_bytes(dk.as_ref()).unwrap();
        let seed = kem.secret_to_seed(&secret).unwrap();
        assert_eq!(*seed, dk.as_ref()[Hqc::<L>::SECRET - 32..]);
        let again = kem.secret_from_seed(&seed).unwrap();
        assert_eq!(kem.secret_to_bytes(&again).unwrap()[..], *dk.as_ref());
        let public = kem.public_from_bytes(ek.as_ref()).unwrap();
        assert_eq!(bytes_of(&kem, &public.clone()), ek.as_ref());
        assert!(!format!("{secret:?}{public:?}{kem:?}").is_empty());
    }

    pub(crate) fn the_two_versions_make_keys_that_do_not_fit_together<L: Level, P: HqcParams>(number: u64) {
        let mut random = Random::new(number + 60);
        let (kem, dk, _) = pair::<L, P>(&mut random);
        let before = Hqc::<L>::with_version(Cpu::default(), Version::V5_0_0);
        assert_eq!(before.secret_from_bytes(dk.as_ref()).err(), Some(KemError::SecretKey));
        let (secret, _) = before.generate().unwrap();
        let bytes = before.secret_to_bytes(&secret).unwrap();
        assert_eq!(kem.secret_from_bytes(&bytes).err(), Some(KemError::SecretKey));
        assert!(before.secret_from_bytes(&bytes).is_ok());
    }
}

fn pair<L: Level, P: HqcParams>(random: &mut Random) -> (Hqc<L>, DecapsulationKey<P>, EncapsulationKey<P>) {
    let (ek, dk) = HqcKem::<P>::generate_key_deterministic(&random.bytes(32).try_into().unwrap());
    (Hqc::new(), dk, ek)
}

fn bytes_of<L: Level>(kem: &Hqc<L>, public: &<Hqc<L> as Kem>::Public) -> Vec<u8> {
    let mut bytes = vec![0; Hqc::<L>::PUBLIC];
    kem.public_to_bytes(public, &mut bytes).unwrap();
    bytes
}

/// Messages come back from words with as many bad symbols as the Reed–Solomon code bears, on every tier; with one more they don't.
#[test]
fn the_code_bears_bad_symbols_up_to_its_bound() {
    fn check<L: Level>(symbols: usize, bound: usize) {
        let mut random = Random::new(symbols as u64);
        for tier in Cpu::tiers() {
            let code = Hqc::<L>::with_cpu(Cpu::named(tier.name).unwrap()).code();
            let length = code.words() / symbols;
            for bad in 0..=bound + 1 {
                let message = random.bytes(code.message_bytes());
                let mut word = vec![0; code.words()];
                code.encode(&message, &mut word);
                // The complement is the codeword of another symbol.
                let mut order: Vec<usize> = (0..symbols).collect();
                (1..symbols).for_each(|i| order.swap(i, random.below(i + 1)));
                // One in the message itself, so that one too many shows there.
                order[..=bound].sort_by_key(|at| symbols - at);
                for at in &order[..bad] {
                    word[at * length..][..length].iter_mut().for_each(|word| *word = !*word);
                }
                let mut found = vec![0; message.len()];
                code.decode(&word, &mut found);
                assert_eq!(found == message, bad <= bound, "{code:?}, {bad} bad symbols");
            }
        }
    }
    check::<Level1>(46, 15);
    check::<Level3>(56, 16);
    check::<Level5>(90, 29);
}

#[test]
fn fresh_keys_and_secrets_differ_from_call_to_call() {
    fn check<L: Level>() {
        let kem = Hqc::<L>::new();
        let [(_, one), (_, other)] = [(); 2].map(|()| kem.generate().unwrap());
        assert_ne!(bytes_of(&kem, &one), bytes_of(&kem, &other));
        let mut ciphertexts = [(); 2].map(|()| vec![0; Hqc::<L>::CIPHERTEXT]);
        let [first, second] = ciphertexts.each_mut().map(|ciphertext| kem.encapsulate(&one, ciphertext).unwrap());
        assert!(first != second && ciphertexts[0] != ciphertexts[1]);
        // The salts, which are drawn after the messages.
        assert_ne!(ciphertexts[0][Hqc::<L>::CIPHERTEXT - 16..], ciphertexts[1][Hqc::<L>::CIPHERTEXT - 16..]);
    }
    check::<Level1>();
    check::<Level3>();
    check::<Level5>();
}
