//! Our own ML-KEM: on every arm and with both forms of keys the bytes of libcrux and AWS-LC, and the standard's corner cases.

use candor_primitives::Cpu;
use candor_primitives::hash::{ExtendableOutput, Shake128, Update, XofReader};
use candor_primitives::kem::ml_kem::{MlKem, PreparedMlKem};
use candor_primitives::kem::{DerandomizedKem, Kem, aws_lc, libcrux};

/// A CPU for each arm.
fn cpus() -> Vec<Cpu> {
    let tiers = ["portable", "avx2"].into_iter();
    tiers
        .filter_map(|tier| {
            let cpu = Cpu::named(tier).ok();
            if cpu.is_none() {
                eprintln!("skipped: this CPU has no {tier}");
            }
            cpu
        })
        .collect()
}

/// Each byte a number that looks random and follows from the seed.
fn bytes<const N: usize>(what: &str, number: usize) -> [u8; N] {
    let mut shake = Shake128::new();
    shake.update(format!("{what} {number}").as_bytes());
    let mut bytes = [0; N];
    shake.finalize_xof().read(&mut bytes);
    bytes
}

fn public_bytes<K: Kem>(kem: &K, public: &K::Public) -> Vec<u8> {
    let mut bytes = vec![0; K::PUBLIC];
    kem.public_to_bytes(public, &mut bytes).unwrap();
    bytes
}

/// What a seed and coins lead to.
#[derive(Debug, PartialEq)]
struct Answers {
    public: Vec<u8>,
    secret: Vec<u8>,
    ciphertext: Vec<u8>,
    shared: [u8; 32],
    /// Of a ciphertext with one bit wrong.
    rejected: [u8; 32],
}

fn answers<K: DerandomizedKem>(kem: &K, number: usize) -> Answers {
    let (secret, public) = kem.generate_from(&bytes::<64>("key pair", number)).unwrap();
    let mut ciphertext = vec![0; K::CIPHERTEXT];
    let shared = kem.encapsulate_from(&public, &bytes::<32>("message", number), &mut ciphertext).unwrap();
    // The key pair that was made, and both keys read from their bytes.
    let public = public_bytes(kem, &public);
    let again = kem.public_from_bytes(&public).unwrap();
    let mut ciphertext_again = vec![0; K::CIPHERTEXT];
    let shared_again = kem.encapsulate_from(&again, &bytes::<32>("message", number), &mut ciphertext_again).unwrap();
    assert!(shared == shared_again && ciphertext == ciphertext_again);
    let encoded = kem.secret_to_bytes(&secret).unwrap().to_vec();
    let secret_again = kem.secret_from_bytes(&encoded).unwrap();
    let damaged = damaged(&ciphertext, number);
    for secret in [&secret, &secret_again] {
        assert!(kem.decapsulate(secret, &ciphertext).unwrap() == shared);
    }
    let rejected = [&secret, &secret_again].map(|secret| *kem.decapsulate(secret, &damaged).unwrap().as_bytes());
    assert_eq!(rejected[0], rejected[1]);
    Answers { public, secret: encoded, ciphertext, shared: *shared.as_bytes(), rejected: rejected[0] }
}

/// A ciphertext with one bit wrong, another for each number.
fn damaged(ciphertext: &[u8], number: usize) -> Vec<u8> {
    let mut damaged = ciphertext.to_vec();
    let bit = number * 7919 % (8 * damaged.len());
    damaged[bit / 8] ^= 1 << (bit % 8);
    damaged
}

/// How many seeds: `CANDOR_ML_KEM_SEEDS`, or 1000.
fn seeds() -> usize {
    std::env::var("CANDOR_ML_KEM_SEEDS").map_or(1000, |number| number.parse().expect("a number of seeds"))
}

fn equals_others<const K: usize>(libcrux: impl DerandomizedKem, aws_lc: impl Kem) {
    let cpus = cpus();
    for number in 0..seeds() {
        let expected = answers(&libcrux, number);
        for cpu in &cpus {
            let (ours, prepared) = (MlKem::<K>::with_cpu(*cpu), PreparedMlKem::<K>::with_cpu(*cpu));
            assert_eq!(answers(&ours, number), expected, "{ours:?}, seed {number}");
            assert_eq!(answers(&prepared, number), expected, "{prepared:?}, seed {number}");
        }
        // AWS-LC draws its own randomness, so it has no part in encapsulation.
        let theirs = aws_lc.secret_from_bytes(&expected.secret).unwrap();
        let damaged = damaged(&expected.ciphertext, number);
        assert_eq!(aws_lc.decapsulate(&theirs, &expected.ciphertext).unwrap().as_bytes(), &expected.shared);
        assert_eq!(aws_lc.decapsulate(&theirs, &damaged).unwrap().as_bytes(), &expected.rejected);
        let to = aws_lc.public_from_bytes(&expected.public).unwrap();
        let mut ciphertext = vec![0; expected.ciphertext.len()];
        let sent = aws_lc.encapsulate(&to, &mut ciphertext).unwrap();
        for cpu in &cpus {
            let ours = MlKem::<K>::with_cpu(*cpu);
            let key = ours.secret_from_bytes(&expected.secret).unwrap();
            assert!(ours.decapsulate(&key, &ciphertext).unwrap() == sent, "{ours:?}, seed {number}");
        }
    }
}

#[test]
fn ml_kem_512_is_that_of_libcrux_and_aws_lc() {
    equals_others::<2>(libcrux::MlKem512, aws_lc::MlKem512);
}

#[test]
fn ml_kem_768_is_that_of_libcrux_and_aws_lc() {
    equals_others::<3>(libcrux::MlKem768, aws_lc::MlKem768);
}

#[test]
fn ml_kem_1024_is_that_of_libcrux_and_aws_lc() {
    equals_others::<4>(libcrux::MlKem1024, aws_lc::MlKem1024);
}

/// SHAKE128 of what key pairs, encapsulations and rejections give, on inputs from SHAKE128 of nothing: the accumulated vectors of C2SP's
/// CCTV (ML-KEM/README.md), which are of a draft, as Go has them for FIPS 203 and without expanded secret keys.
fn accumulated<K: DerandomizedKem>(kem: &K, tests: usize) -> [u8; 32] {
    let (mut inputs, mut all) = (Shake128::new().finalize_xof(), Shake128::new());
    let (mut coins, mut m) = ([0; 64], [0; 32]);
    let (mut wrong, mut ciphertext) = (vec![0; K::CIPHERTEXT], vec![0; K::CIPHERTEXT]);
    for _ in 0..tests {
        inputs.read(&mut coins);
        inputs.read(&mut m);
        inputs.read(&mut wrong);
        let (secret, public) = kem.generate_from(&coins).unwrap();
        all.update(&public_bytes(kem, &public));
        let shared = kem.encapsulate_from(&public, &m, &mut ciphertext).unwrap();
        all.update(&ciphertext);
        all.update(shared.as_bytes());
        assert!(kem.decapsulate(&secret, &ciphertext).unwrap() == shared);
        all.update(kem.decapsulate(&secret, &wrong).unwrap().as_bytes());
    }
    let mut digest = [0; 32];
    all.finalize_xof().read(&mut digest);
    digest
}

/// Go's digests of the first 100 tests, of 10,000 and of a million for ML-KEM-768 (`crypto/mlkem`, `TestAccumulated`).
const ACCUMULATED_768: [(usize, &str); 3] = [
    (100, "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415"),
    (10_000, "8a518cc63da366322a8e7a818c7a0d63483cb3528d34a4cf42f35d5ad73f22fc"),
    (1_000_000, "424bf8f0e8ae99b78d788a6e2e8e9cdaf9773fc0c08a6f433507cb559edfd0f0"),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn ten_thousand_accumulated_tests_give_the_published_digest() {
    let (tests, expected) = ACCUMULATED_768[1];
    assert_eq!(hex(&accumulated(&MlKem::<3>::new(), tests)), expected);
    let (tests, expected) = ACCUMULATED_768[0];
    for cpu in cpus() {
        assert_eq!(hex(&accumulated(&MlKem::<3>::with_cpu(cpu), tests)), expected);
        assert_eq!(hex(&accumulated(&PreparedMlKem::<3>::with_cpu(cpu), tests)), expected);
    }
}

/// By command: `cargo test -p candor-primitives --test ml_kem --release -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn a_million_accumulated_tests_give_the_published_digest() {
    let (tests, expected) = ACCUMULATED_768[2];
    assert_eq!(hex(&accumulated(&MlKem::<3>::new(), tests)), expected);
}

/// Three blocks of SHAKE128 are usually enough for a polynomial of the matrix; of 300 matrices some take four.
#[test]
fn matrices_that_take_a_fourth_block_are_those_of_libcrux() {
    let mut longest = 0;
    for number in 0..300 {
        let seed = bytes::<64>("unlucky", number);
        let (_, public) = libcrux::MlKem512.generate_from(&seed).unwrap();
        let expected = public_bytes(&libcrux::MlKem512, &public);
        longest = longest.max(blocks(expected[768..].try_into().unwrap()));
        for cpu in cpus() {
            let ours = MlKem::<2>::with_cpu(cpu);
            let (_, public) = ours.generate_from(&seed).unwrap();
            assert_eq!(public_bytes(&ours, &public), expected, "seed {number}");
        }
    }
    assert_eq!(longest, 4, "no polynomial took more than the usual three blocks");
}

/// How many blocks of SHAKE128 the longest polynomial of a matrix of rank 2 takes.
fn blocks(rho: &[u8; 32]) -> usize {
    let polynomial = |indices: [u8; 2]| {
        let mut shake = Shake128::new();
        shake.update(rho);
        shake.update(&indices);
        let mut output = [0; 168 * 8];
        shake.finalize_xof().read(&mut output);
        let candidate = |bytes: &[u8; 3]| {
            let [a, b, c] = bytes.map(u16::from);
            [a | (b & 15) << 8, b >> 4 | c << 4]
        };
        let below_q = output.as_chunks().0.iter().flat_map(candidate).enumerate().filter(|(_, value)| *value < 3329);
        below_q.map(|(place, _)| place).nth(255).expect("eight blocks are enough") / 112 + 1
    };
    [[0, 0], [0, 1], [1, 0], [1, 1]].map(polynomial).into_iter().max().unwrap()
}
