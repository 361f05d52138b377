//! The known answers of the submission to NIST, as digests of its records.

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use candor_codes::mceliece::*;
use candor_cpu::Cpu;
use candor_primitives::hash::{Digest, ExtendableOutput, Sha256, Shake256, Update, XofReader};
use candor_primitives::kem::{DerandomizedKem, Kem};
use candor_test_support::vectors;
use rand_core::{Rng, TryCryptoRng, TryRng};
use std::convert::Infallible;
use std::fmt::Write;

/// Runs a test with each set.
macro_rules! with_each_set {
    ($test:ident: $($set:ident)+) => { $($test::<$set>(Cpu::host());)+ };
}

#[test]
fn the_first_record_of_each_set_is_the_submission_s() {
    with_each_set!(check_first: Set348864 Set460896 Set460896f Set6688128 Set6688128f Set6960119 Set6960119f Set8192128 Set8192128f);
}

#[test]
fn every_tier_gives_the_known_answers() {
    for tier in Cpu::tiers() {
        check_first::<Set348864f>(Cpu::named(tier.name).expect("a tier that this machine lists"));
    }
}

#[test]
fn ten_records_of_the_smaller_sets_are_the_submission_s() {
    with_each_set!(check_ten: Set348864 Set348864f Set460896f);
}

/// The text of the first record, as liboqs hashes it.
fn check_first<S: ParameterSet>(cpu: Cpu) {
    let record = Record::new(Mceliece::<S>::with_cpu(cpu), &seeds(1)[0]);
    let mut text = "count = 0\n".to_owned();
    for (name, bytes) in ["seed", "pk", "sk", "ct", "ss"].iter().zip(&record.0) {
        writeln!(text, "{name} = {}", vectors::hex(bytes).to_uppercase()).unwrap();
    }
    let expected = &vectors::load("mceliece.json")["first"][Mceliece::<S>::NAME];
    assert_eq!(vectors::hex(Sha256::digest(text)), *expected, "{:?}", Mceliece::<S>::with_cpu(cpu));
}

/// The bytes of ten records, one after another.
fn check_ten<S: ParameterSet>(cpu: Cpu) {
    let mut hash = Shake256::new();
    for seed in seeds(10) {
        Record::new(Mceliece::<S>::with_cpu(cpu), &seed).0.iter().for_each(|part| hash.update(part));
    }
    let mut digest = [0; 32];
    hash.finalize_xof().read(&mut digest);
    let expected = &vectors::load("mceliece.json")["ten"][Mceliece::<S>::NAME];
    assert_eq!(vectors::hex(digest), *expected, "{}", Mceliece::<S>::NAME);
}

/// Seed, public key, secret key, ciphertext and shared secret.
struct Record([Vec<u8>; 5]);

impl Record {
    fn new<S: ParameterSet>(kem: Mceliece<S>, seed: &[u8; 48]) -> Self {
        let mut random = Drbg::new(seed);
        let (secret, public) = kem.generate_with(&mut random).unwrap();
        let mut ciphertext = vec![0; Mceliece::<S>::CIPHERTEXT];
        let shared = kem.encapsulate_with(&mut random, &public, &mut ciphertext).unwrap();
        assert!(kem.decapsulate(&secret, &ciphertext).unwrap() == shared);
        let mut key = vec![0; Mceliece::<S>::PUBLIC];
        kem.public_to_bytes(&public, &mut key).unwrap();
        let secret = kem.secret_to_bytes(&secret).unwrap().to_vec();
        Self([seed.to_vec(), key, secret, ciphertext, shared.as_bytes().to_vec()])
    }
}

/// The seeds of the submission's requests.
fn seeds(count: usize) -> Vec<[u8; 48]> {
    let mut random = Drbg::new(&std::array::from_fn(|i| i as u8));
    let mut seed = [0; 48];
    (0..count)
        .map(|_| {
            random.fill_bytes(&mut seed);
            seed
        })
        .collect()
}

/// CTR_DRBG with AES-256, without derivation function (NIST SP 800-90A, section 10.2.1), as the known answers of NIST's competition use it.
struct Drbg {
    key: Aes256,
    counter: u128,
}

impl Drbg {
    fn new(entropy: &[u8; 48]) -> Self {
        let mut new = Self { key: Aes256::new(&[0; 32].into()), counter: 0 };
        new.update(entropy);
        new
    }

    fn blocks(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(16) {
            self.counter = self.counter.wrapping_add(1);
            let mut block = self.counter.to_be_bytes().into();
            self.key.encrypt_block(&mut block);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }

    fn update(&mut self, with: &[u8; 48]) {
        let mut next = [0; 48];
        self.blocks(&mut next);
        next.iter_mut().zip(with).for_each(|(next, with)| *next ^= with);
        let (key, counter) = next.split_first_chunk::<32>().unwrap();
        *self = Self { key: Aes256::new(key.into()), counter: u128::from_be_bytes(counter.try_into().unwrap()) };
    }
}

impl TryRng for Drbg {
    type Error = Infallible;

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.blocks(bytes);
        self.update(&[0; 48]);
        Ok(())
    }

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

impl TryCryptoRng for Drbg {}
