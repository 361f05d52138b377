//! Our own ML-KEM: on every arm and with both forms of keys the bytes of libcrux and AWS-LC, and the standard's corner cases.

use candor_primitives::Cpu;
use candor_primitives::hash::{ExtendableOutput, Shake128, Update, XofReader};
use candor_primitives::kem::ml_kem::{MlKem, PreparedMlKem};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError, aws_lc, libcrux};

/// A CPU for each arm.
fn cpus() -> Vec<Cpu> {
    let tiers = ["portable", "avx2", "avx512"].into_iter();
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

/// A batch's results are those of its operations one by one: for every size, each key another one, every third ciphertext with a bit wrong.
fn batches_are_one_by_one<K: DerandomizedKem>(kem: &K) {
    const MOST: usize = 17;
    let seeds: Vec<_> = (0..MOST).map(|number| bytes::<64>("batch", number)).collect();
    let coins: Vec<_> = (0..MOST).map(|number| bytes::<32>("coins of a batch", number)).collect();
    let pairs: Vec<_> = seeds.iter().map(|seed| kem.generate_from(seed).unwrap()).collect();
    let mut sent = Vec::new();
    for (number, ((_, public), coins)) in pairs.iter().zip(&coins).enumerate() {
        let mut ciphertext = vec![0; K::CIPHERTEXT];
        let shared = kem.encapsulate_from(public, coins, &mut ciphertext).unwrap();
        let arrives = if number % 3 == 1 { damaged(&ciphertext, number) } else { ciphertext.clone() };
        sent.push((ciphertext, shared, arrives));
    }
    for size in 0..=MOST {
        // Not always the same keys in the same lanes.
        let chosen: Vec<_> = (0..size).map(|place| (5 * size + 3 * place) % MOST).collect();
        let made = kem.generate_many_from(&chosen.iter().map(|i| seeds[*i].as_slice()).collect::<Vec<_>>()).unwrap();
        assert_eq!(made.len(), size);
        for (i, (secret, public)) in chosen.iter().zip(&made) {
            assert_eq!(public_bytes(kem, public), public_bytes(kem, &pairs[*i].1), "{size} key pairs");
            assert_eq!(kem.secret_to_bytes(secret).unwrap(), kem.secret_to_bytes(&pairs[*i].0).unwrap());
            assert_eq!(kem.secret_to_seed(secret).unwrap().as_slice(), seeds[*i]);
            // What was prepared belongs to the key as well.
            assert!(kem.decapsulate(secret, &sent[*i].0).unwrap() == sent[*i].1, "{size} key pairs");
            let mut ciphertext = vec![0; K::CIPHERTEXT];
            assert!(kem.encapsulate_from(public, &coins[*i], &mut ciphertext).unwrap() == sent[*i].1);
            assert_eq!(ciphertext, sent[*i].0, "{size} key pairs");
        }

        let mut ciphertexts = vec![vec![0xa5; K::CIPHERTEXT]; size];
        let mut rooms: Vec<_> = ciphertexts.iter_mut().map(Vec::as_mut_slice).collect();
        let to: Vec<_> = chosen.iter().map(|i| &pairs[*i].1).collect();
        let with_coins: Vec<_> = chosen.iter().map(|i| coins[*i].as_slice()).collect();
        let shared = kem.encapsulate_many_from(&to, &with_coins, &mut rooms).unwrap();
        assert_eq!(shared.len(), size);
        for ((i, shared), ciphertext) in chosen.iter().zip(&shared).zip(&ciphertexts) {
            assert_eq!(*ciphertext, sent[*i].0, "{size} encapsulations");
            assert!(*shared == sent[*i].1, "{size} encapsulations");
        }

        let with: Vec<_> = chosen.iter().map(|i| &pairs[*i].0).collect();
        let arrive: Vec<_> = chosen.iter().map(|i| sent[*i].2.as_slice()).collect();
        let found = kem.decapsulate_many(&with, &arrive).unwrap();
        assert_eq!(found.len(), size);
        for (i, found) in chosen.iter().zip(&found) {
            assert_eq!(*found == sent[*i].1, i % 3 != 1, "{size} decapsulations");
            assert!(*found == kem.decapsulate(&pairs[*i].0, &sent[*i].2).unwrap(), "{size} decapsulations");
        }
    }
    batches_with_randomness(kem);
    batches_of_other_lengths(kem, &pairs[0]);
}

/// Fresh keys are different ones, and what is encapsulated to them arrives.
fn batches_with_randomness<K: DerandomizedKem>(kem: &K) {
    let (secrets, publics): (Vec<_>, Vec<_>) = kem.generate_many(6).unwrap().into_iter().unzip();
    let mut ciphertexts = vec![vec![0; K::CIPHERTEXT]; 6];
    let mut rooms: Vec<_> = ciphertexts.iter_mut().map(Vec::as_mut_slice).collect();
    let sent = kem.encapsulate_many(&publics.iter().collect::<Vec<_>>(), &mut rooms).unwrap();
    let arrive: Vec<_> = ciphertexts.iter().map(Vec::as_slice).collect();
    let found = kem.decapsulate_many(&secrets.iter().collect::<Vec<_>>(), &arrive).unwrap();
    for i in 0..6 {
        assert!(sent[i] == found[i]);
        assert!((0..i).all(|j| sent[i] != sent[j] && public_bytes(kem, &publics[i]) != public_bytes(kem, &publics[j])));
    }
}

/// Lists of unequal lengths, and a member of the wrong length, wherever it stands, are errors of the whole batch.
fn batches_of_other_lengths<K: DerandomizedKem>(kem: &K, (secret, public): &(K::Secret, K::Public)) {
    let long = vec![7; K::CIPHERTEXT];
    let (coins, ciphertext) = (&long[..32], long.as_slice());
    let unequal = |what, got| KemError::Batch { what, keys: 6, got };
    let (to, with) = ([public; 6], [secret; 6]);
    let encapsulate = |coins: &[&[u8]], lengths: &[usize]| {
        let mut ciphertexts: Vec<_> = lengths.iter().map(|length| vec![0; *length]).collect();
        let mut rooms: Vec<_> = ciphertexts.iter_mut().map(Vec::as_mut_slice).collect();
        kem.encapsulate_many_from(&to, coins, &mut rooms).err()
    };
    assert_eq!(encapsulate(&[coins; 6], &[K::CIPHERTEXT; 5]), Some(unequal("ciphertexts", 5)));
    assert_eq!(encapsulate(&[coins; 7], &[K::CIPHERTEXT; 6]), Some(unequal("coins", 7)));
    assert_eq!(kem.decapsulate_many(&with, &[ciphertext; 7]).err(), Some(unequal("ciphertexts", 7)));
    for place in 0..6 {
        let is_length = |error| matches!(error, Some(KemError::Length { .. }));
        let (mut list, mut lengths) = ([coins; 6], [K::CIPHERTEXT; 6]);
        list[place] = &coins[1..];
        lengths[place] += 1;
        assert!(is_length(encapsulate(&list, &[K::CIPHERTEXT; 6])) && is_length(encapsulate(&[coins; 6], &lengths)));
        let mut ciphertexts = [ciphertext; 6];
        ciphertexts[place] = &ciphertext[1..];
        assert!(is_length(kem.decapsulate_many(&with, &ciphertexts).err()));
        let (seed, mut seeds) = ([7; 64], [[7; 64].as_slice(); 6]);
        seeds[place] = &seed[1..];
        assert!(is_length(kem.generate_many_from(&seeds).err()));
    }
}

#[test]
fn batches_of_every_size_are_their_operations_one_by_one() {
    for cpu in cpus() {
        batches_are_one_by_one(&MlKem::<2>::with_cpu(cpu));
        batches_are_one_by_one(&MlKem::<3>::with_cpu(cpu));
        batches_are_one_by_one(&MlKem::<4>::with_cpu(cpu));
        batches_are_one_by_one(&PreparedMlKem::<2>::with_cpu(cpu));
        batches_are_one_by_one(&PreparedMlKem::<3>::with_cpu(cpu));
        batches_are_one_by_one(&PreparedMlKem::<4>::with_cpu(cpu));
    }
    // What a back end has by default.
    batches_are_one_by_one(&libcrux::MlKem768);
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
