//! Our AEADs against OpenSSL and libgcrypt, each arm with each library that is here, on messages that nobody chose: what one seals the other
//! opens, and gives the same bytes. `CANDOR_AEAD_ROUNDS` says how many messages each pair gets.

#![cfg(feature = "peers")]

use candor_cpu::Cpu;
use candor_peers::aeads;
use candor_peers::contract::aead::{Aead, Algorithm, TAG};
use candor_peers::seed::Stream;
use candor_primitives::aead::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, Sm4Ccm, Sm4Gcm};
use std::collections::BTreeSet;

/// Enough for every way through the kernels; a debug build takes a second.
const ROUNDS: usize = 100;

fn rounds() -> usize {
    let asked = std::env::var("CANDOR_AEAD_ROUNDS").ok();
    asked.map_or(ROUNDS, |asked| asked.parse().expect("CANDOR_AEAD_ROUNDS is a number"))
}

/// Nonce, associated data, message; gives the tag.
type Seal = dyn Fn(&[u8], &[u8], &mut [u8]) -> [u8; TAG];
/// Nonce, associated data, ciphertext, tag; says whether it is right.
type Open = dyn Fn(&[u8], &[u8], &mut [u8], &[u8; TAG]) -> bool;

/// One of ours: seals in place and gives the tag; opens in place or refuses.
struct Ours {
    arm: &'static str,
    seal: Box<Seal>,
    open: Box<Open>,
}

macro_rules! ours {
    ($name:ident: $($cipher:ident)+) => {
        /// With a key, on each arm of this CPU; none where we lack the algorithm.
        fn $name(algorithm: Algorithm, key: &[u8]) -> Vec<Ours> {
            let cpus = Cpu::tiers().filter_map(|tier| Cpu::named(tier.name).ok());
            let mut arms = BTreeSet::new();
            match algorithm {
                $(Algorithm::$cipher => cpus
                    .map(|cpu| $cipher::with_cpu(cpu, key.try_into().expect("a key of its length")))
                    .filter(|cipher| arms.insert(cipher.arm()))
                    .map(|cipher| {
                        let (arm, other) = (cipher.arm(), cipher.clone());
                        let nonce_of = |nonce: &[u8]| nonce.try_into().expect("12 bytes");
                        Ours {
                            arm,
                            seal: Box::new(move |nonce, aad, data| {
                                cipher.seal_in_place(&nonce_of(nonce), aad, data).expect("a short message")
                            }),
                            open: Box::new(move |nonce, aad, data, tag| {
                                other.open_in_place(&nonce_of(nonce), aad, data, tag).is_ok()
                            }),
                        }
                    })
                    .collect(),)+
                _ => Vec::new(),
            }
        }
    };
}

ours!(ours: Aes128Gcm Aes256Gcm ChaCha20Poly1305 Sm4Gcm Sm4Ccm);

/// Every pair agrees; gives how many comparisons there were.
fn compare(algorithm: Algorithm, peer: &str, theirs: &mut dyn Aead) -> usize {
    let mut compared = 0;
    for round in 0..rounds() {
        let mut random = Stream::new(round as u64, algorithm.name());
        let mut key = vec![0; algorithm.key()];
        random.fill(&mut key);
        let nonce: [u8; 12] = random.array();
        // Mostly short, where the ends of kernels are; some longer than what any has in flight.
        let most = if round % 4 == 3 { 9000 } else { 700 };
        let mut message = vec![0; (random.word() % most) as usize];
        let mut aad = vec![0; (random.word() % 80) as usize];
        random.fill(&mut message);
        random.fill(&mut aad);
        theirs.set_key(&key).unwrap_or_else(|_| panic!("{peer} takes keys of {}", algorithm.title()));
        let mut expected = [message.as_slice(), &[0; TAG]].concat();
        theirs.seal(&nonce, &aad, &mut expected);
        for ours in ours(algorithm, &key) {
            let told =
                format!("{} on {} and {peer}, round {round}, {} bytes", algorithm.title(), ours.arm, message.len());
            let mut data = message.clone();
            let tag = (ours.seal)(&nonce, &aad, &mut data);
            assert!([data.as_slice(), &tag].concat() == expected, "{told}: other bytes");
            assert!(theirs.open(&nonce, &aad, &mut [data.as_slice(), &tag].concat()), "{told}: they refuse ours");
            let flipped = (random.word() % 128) as usize;
            let mut wrong = tag;
            wrong[flipped / 8] ^= 1 << (flipped % 8);
            assert!(!(ours.open)(&nonce, &aad, &mut data.clone(), &wrong), "{told}: we open a wrong tag");
            assert!((ours.open)(&nonce, &aad, &mut data, &tag), "{told}: we refuse theirs");
            assert!(data == message, "{told}: opened to another message");
            compared += 1;
        }
    }
    compared
}

#[test]
fn each_arm_gives_the_bytes_of_each_library() {
    for algorithm in
        [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305, Algorithm::Sm4Gcm, Algorithm::Sm4Ccm]
    {
        let peers = aeads(algorithm);
        if peers.is_empty() {
            eprintln!("skipped: no library in C with {} is on this machine", algorithm.title());
        }
        for (name, mut theirs) in peers {
            let compared = compare(algorithm, &name, theirs.as_mut());
            assert!(compared >= rounds(), "{name}: {compared} comparisons");
            println!("{compared:>7}  {}  {name}", algorithm.title());
        }
    }
}
