//! RSA with a secret key and secret randomness; signatures and ciphertexts are published when they are ready.

use super::generator;
use crate::case::{Case, Expect};
use candor_cpu::{Cpu, secret};
use candor_primitives::hash::Sha256;
use candor_primitives::rsa::{EncodeRsaPrivateKey, Parts, Pkcs1v15, Pss, Rsa, SecretKey, Size};
use pkcs1::RsaPrivateKeyRef;
use pkcs1::der::Decode;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use rand_xoshiro::SplitMix64;
use std::convert::Infallible;

/// The cases of an arm that valgrind runs.
macro_rules! on {
    ($arm:literal) => {
        [
            own(concat!("rsa/keygen@", $arm), $arm, keygen),
            own(concat!("rsa/key@", $arm), $arm, key),
            own(concat!("rsa/sign@", $arm), $arm, sign),
            own(concat!("rsa/encrypt@", $arm), $arm, encrypt),
            own(concat!("rsa/decrypt@", $arm), $arm, decrypt),
        ]
    };
}

/// Those of the arm that it can't run.
macro_rules! elsewhere {
    ($($name:literal, $run:ident;)+) => {
        [$(Case {
            name: $name,
            ran: ("RSA", "avx512"),
            tier: "avx512",
            kernel: None,
            expect: Expect::Elsewhere { why: super::NO_AVX512, reads: &["rsa::ifma::*", "rsa::ifma_pair::*"] },
            run: $run,
        }),+]
    };
}

pub(super) const CASES: &[[Case; 5]] = &[
    on!("portable"),
    on!("adx"),
    elsewhere! {
        "rsa/keygen@avx512", keygen;
        "rsa/key@avx512", key;
        "rsa/sign@avx512", sign;
        "rsa/encrypt@avx512", encrypt;
        "rsa/decrypt@avx512", decrypt;
    },
];

const fn own(name: &'static str, arm: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("RSA", arm), tier: arm, kernel: None, expect: Expect::Clean, run }
}

/// Numbers that look random, the same each time, as prime numbers need them; the generators that count are not enough for that.
struct Mixed {
    random: SplitMix64,
    poisoned: bool,
}

impl TryRng for Mixed {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.random.fill_bytes(out);
        if self.poisoned {
            secret::poison(out);
        }
        Ok(())
    }
}

impl TryCryptoRng for Mixed {}

fn mixed(poisoned: bool) -> Mixed {
    Mixed { random: SplitMix64::seed_from_u64(2026), poisoned }
}

/// A key whose secret parts are poisoned.
fn poisoned(rsa: Rsa) -> SecretKey {
    secret::aside(|| {
        let der = rsa.generate_with(Size::Bits2048, &mut mixed(false)).expect("a key").to_pkcs1_der().expect("a form");
        let numbers = numbers(der.as_bytes());
        for secret in &numbers[2..] {
            secret::poison(secret);
        }
        read(rsa, &numbers)
    })
}

/// The numbers of a key in PKCS#1; the first two are public.
fn numbers(der: &[u8]) -> [Vec<u8>; 8] {
    let key = RsaPrivateKeyRef::from_der(der).expect("it was written so");
    let secret = [key.private_exponent, key.prime1, key.prime2, key.exponent1, key.exponent2, key.coefficient];
    let [d, p, q, of_p, of_q, coefficient] = secret.map(|number| number.as_bytes().to_vec());
    let [n, e] = [key.modulus, key.public_exponent].map(|number| number.as_bytes().to_vec());
    [n, e, d, p, q, of_p, of_q, coefficient]
}

fn read(rsa: Rsa, numbers: &[Vec<u8>; 8]) -> SecretKey {
    let [modulus, public_exponent, private_exponent, p, q, of_p, of_q, coefficient] = numbers;
    let parts =
        Parts { modulus, public_exponent, private_exponent, primes: [p, q], exponents: [of_p, of_q], coefficient };
    rsa.secret_from_parts(&parts).expect("a key")
}

fn keygen(cpu: Cpu) {
    let rsa = Rsa::with_cpu(cpu);
    let expected = secret::aside(|| rsa.generate_with(Size::Bits2048, &mut mixed(false)).expect("a key"));
    secret::reset();
    let made = rsa.generate_with(Size::Bits2048, &mut mixed(true)).expect("a key");
    assert!(made.public_key() == expected.public_key(), "the result is wrong, so whatever ran was not RSA");
}

fn key(cpu: Cpu) {
    let rsa = Rsa::with_cpu(cpu);
    let numbers = secret::aside(|| {
        let key = rsa.generate_with(Size::Bits2048, &mut mixed(false)).expect("a key");
        numbers(key.to_pkcs1_der().expect("a form").as_bytes())
    });
    secret::reset();
    for secret in &numbers[2..] {
        secret::poison(secret);
    }
    let made = read(rsa, &numbers);
    assert!(made.public_key().modulus() == numbers[0], "the result is wrong, so whatever ran was not RSA");
}

fn sign(cpu: Cpu) {
    let key = poisoned(Rsa::with_cpu(cpu));
    secret::reset();
    let signature = key.sign_with::<Pss<Sha256>>(b"message", &mut generator::poisoned(7)).expect("a signature");
    let verified = key.public_key().verify(b"message", &signature);
    assert!(verified.is_ok(), "the result is wrong, so whatever ran was not RSA");
    // With a pair that the key keeps, and with its square.
    for _ in 0..2 {
        let signature = key.sign::<Pkcs1v15<Sha256>>(b"message").expect("a signature");
        let verified = key.public_key().verify(b"message", &signature);
        assert!(verified.is_ok(), "the result is wrong, so whatever ran was not RSA");
    }
}

fn encrypt(cpu: Cpu) {
    let key = secret::aside(|| Rsa::with_cpu(cpu).generate_with(Size::Bits2048, &mut mixed(false)).expect("a key"));
    secret::reset();
    let text = *b"a secret text";
    secret::poison(&text);
    let sealed = key.public_key().encrypt_oaep_with::<Sha256>(&text, b"label", &mut generator::poisoned(7));
    let sealed = sealed.expect("a short message");
    secret::declassify(&text, "result");
    let opened = secret::aside(|| key.decrypt_oaep_with::<Sha256>(&sealed, b"label", &mut generator::clean(1)));
    assert!(*opened.expect("a message") == text, "the result is wrong, so whatever ran was not RSA");
}

/// A good ciphertext, and bad ones: another label, and bytes that decrypt to anything.
fn decrypt(cpu: Cpu) {
    let key = poisoned(Rsa::with_cpu(cpu));
    let sealed = secret::aside(|| {
        key.public_key().encrypt_oaep_with::<Sha256>(b"text", b"label", &mut generator::clean(7)).expect("a message")
    });
    secret::reset();
    let opened = key.decrypt_oaep_with::<Sha256>(&sealed, b"label", &mut generator::poisoned(8)).expect("a message");
    secret::declassify(&opened, "result");
    assert!(*opened == b"text", "the result is wrong, so whatever ran was not RSA");
    assert!(key.decrypt_oaep_with::<Sha256>(&sealed, b"libel", &mut generator::poisoned(9)).is_err());
    assert!(key.decrypt_oaep_with::<Sha256>(&[1; 256], b"label", &mut generator::poisoned(9)).is_err());
}
