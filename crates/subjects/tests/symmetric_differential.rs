//! Our AEADs against OpenSSL, libgcrypt, libsodium, AWS-LC and ring, and our SM4 in its modes against OpenSSL and libgcrypt: each arm with each library that is
//! here, on messages that nobody chose. Both give the same bytes, and what one seals the other opens.
//!
//! Each run draws its seed and says it; `CANDOR_DIFFERENTIAL_SEED` repeats a run, `CANDOR_DIFFERENTIAL_ROUNDS` says how many messages each
//! pair gets.

#![cfg(feature = "peers")]

use candor_cpu::Cpu;
use candor_peers::contract::aead::{ALGORITHMS, Aead, Algorithm, TAG};
use candor_peers::contract::cipher::{Cipher, MODES, Mode};
use candor_peers::seed::Stream;
use candor_peers::{aeads, ciphers};
use candor_primitives::aead::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, Sm4Ccm, Sm4Gcm, XChaCha20Poly1305};
use candor_primitives::sm4::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, StreamCipher};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Enough for every way through the kernels; a debug build takes a second.
const ROUNDS: u64 = 100;

fn number(variable: &str) -> Option<u64> {
    let asked = std::env::var(variable).ok()?;
    Some(asked.parse().unwrap_or_else(|_| panic!("{variable} is {asked:?}, and should be a number")))
}

fn rounds() -> u64 {
    number("CANDOR_DIFFERENTIAL_ROUNDS").unwrap_or(ROUNDS)
}

/// The seed of this run.
static SEED: LazyLock<u64> = LazyLock::new(|| {
    let drawn = || getrandom::u64().expect("the system has random numbers");
    number("CANDOR_DIFFERENTIAL_SEED").unwrap_or_else(drawn)
});

/// What the inputs of a round are drawn from.
fn drawn_in(round: u64, purpose: &str) -> Stream {
    Stream::new(SEED.wrapping_add(round), purpose)
}

/// Fewer than `most` random bytes.
fn bytes(random: &mut Stream, most: u64) -> Vec<u8> {
    let mut bytes = vec![0; (random.word() % most) as usize];
    random.fill(&mut bytes);
    bytes
}

/// Of a message: mostly short, where the ends of kernels are; some longer than what any has in flight.
fn most(round: u64) -> u64 {
    if round % 4 == 3 { 9000 } else { 700 }
}

/// This CPU's tiers, the widest first.
fn cpus() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().filter_map(|tier| Cpu::named(tier.name).ok())
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
        /// With a key, on each arm of this CPU.
        fn $name(algorithm: Algorithm, key: &[u8]) -> Vec<Ours> {
            let mut arms = BTreeSet::new();
            match algorithm {
                $(Algorithm::$cipher => cpus()
                    .map(|cpu| $cipher::with_cpu(cpu, key.try_into().expect("a key of its length")))
                    .filter(|cipher| arms.insert(cipher.arm()))
                    .map(|cipher| {
                        let (arm, other) = (cipher.arm(), cipher.clone());
                        Ours {
                            arm,
                            seal: Box::new(move |nonce, aad, data| {
                                let nonce = nonce.try_into().expect("a nonce of its length");
                                cipher.seal_in_place(nonce, aad, data).expect("a short message")
                            }),
                            open: Box::new(move |nonce, aad, data, tag| {
                                let nonce = nonce.try_into().expect("a nonce of its length");
                                other.open_in_place(nonce, aad, data, tag).is_ok()
                            }),
                        }
                    })
                    .collect(),)+
            }
        }
    };
}

ours!(ours: Aes128Gcm Aes256Gcm ChaCha20Poly1305 Sm4Gcm Sm4Ccm XChaCha20Poly1305);

/// What is sent, and the nonce.
#[derive(Clone, Copy)]
struct Sealed<'a> {
    nonce: &'a [u8],
    aad: &'a [u8],
    data: &'a [u8],
    tag: &'a [u8],
}

/// What must be refused: nonce, associated data, ciphertext and tag, with one bit of one of them the other way, or a byte fewer or more.
fn twists(random: &mut Stream, sealed: Sealed<'_>) -> Vec<(&'static str, [Vec<u8>; 4])> {
    let whole = [sealed.nonce, sealed.aad, sealed.data, sealed.tag].map(<[u8]>::to_vec);
    let mut twists = Vec::new();
    for (part, what) in
        ["another nonce", "other associated data", "another ciphertext", "another tag"].into_iter().enumerate()
    {
        let bits = 8 * whole[part].len() as u64;
        if bits > 0 {
            let mut twisted = whole.clone();
            let flipped = (random.word() % bits) as usize;
            twisted[part][flipped / 8] ^= 1 << (flipped % 8);
            twists.push((what, twisted));
        }
    }
    for (part, fewer, more) in
        [(1, "less associated data", "more associated data"), (2, "less ciphertext", "more ciphertext")]
    {
        let mut twisted = whole.clone();
        if twisted[part].pop().is_some() {
            twists.push((fewer, twisted));
        }
        let mut twisted = whole.clone();
        twisted[part].push(0);
        twists.push((more, twisted));
    }
    twists
}

/// Every pair agrees; gives how many comparisons there were.
fn compare(algorithm: Algorithm, peer: &str, theirs: &mut dyn Aead) -> u64 {
    let mut compared = 0;
    for round in 0..rounds() {
        let mut random = drawn_in(round, algorithm.name());
        let mut key = vec![0; algorithm.key()];
        random.fill(&mut key);
        let mut nonce = vec![0; algorithm.nonce()];
        random.fill(&mut nonce);
        let message = bytes(&mut random, most(round));
        let aad = bytes(&mut random, if round % 8 == 5 { 3000 } else { 80 });
        theirs.set_key(&key).unwrap_or_else(|_| panic!("{peer} takes keys of {}", algorithm.title()));
        let mut expected = [message.as_slice(), &[0; TAG]].concat();
        theirs.seal(&nonce, &aad, &mut expected);
        for ours in ours(algorithm, &key) {
            let told = format!(
                "{} on {} and {peer}, round {round} of seed {}, {} bytes beside {}",
                algorithm.title(),
                ours.arm,
                *SEED,
                message.len(),
                aad.len()
            );
            let mut data = message.clone();
            let tag = (ours.seal)(&nonce, &aad, &mut data);
            assert!([data.as_slice(), &tag].concat() == expected, "{told}: other bytes");
            assert!(theirs.open(&nonce, &aad, &mut [data.as_slice(), &tag].concat()), "{told}: they refuse ours");
            for (what, twisted) in twists(&mut random, Sealed { nonce: &nonce, aad: &aad, data: &data, tag: &tag }) {
                let [nonce, aad, mut refused, wrong] = twisted;
                let wrong = wrong.as_slice().try_into().expect("a tag of its length");
                assert!(!(ours.open)(&nonce, &aad, &mut refused, wrong), "{told}: we open with {what}");
                assert!(refused.iter().all(|&byte| byte == 0), "{told}: what we refuse for {what} is not wiped");
            }
            assert!((ours.open)(&nonce, &aad, &mut data, &tag), "{told}: we refuse theirs");
            assert!(data == message, "{told}: opened to another message");
            compared += 1;
        }
    }
    compared
}

#[test]
fn each_arm_of_an_aead_gives_the_bytes_of_each_library() {
    for &algorithm in ALGORITHMS {
        let peers = aeads(algorithm);
        if peers.is_empty() {
            eprintln!("skipped: no library with {} is on this machine", algorithm.title());
        }
        for (name, mut theirs) in peers {
            let compared = compare(algorithm, &name, theirs.as_mut());
            assert!(compared >= rounds(), "{name}: {compared} comparisons");
            println!("{compared:>9}  {}  {name}  seed {}", algorithm.title(), *SEED);
        }
    }
}

/// Encrypts or decrypts whole blocks in one piece, or in two that meet after `cut` blocks.
fn crypt(cpu: Cpu, mode: Mode, key: &[u8; 16], iv: &[u8; 16], data: &mut [u8], cut: usize) {
    let (begin, rest) = data.split_at_mut(16 * cut);
    match mode {
        Mode::Ctr => {
            let mut cipher = Sm4Ctr::with_cpu(cpu, key, iv);
            cipher.apply_keystream(begin);
            cipher.apply_keystream(rest);
        }
        Mode::CbcEncrypt => {
            let mut cipher = Sm4CbcEnc::with_cpu(cpu, key, iv);
            cipher.encrypt_blocks(Array::slice_as_chunks_mut(begin).0);
            cipher.encrypt_blocks(Array::slice_as_chunks_mut(rest).0);
        }
        Mode::CbcDecrypt => {
            let mut cipher = Sm4CbcDec::with_cpu(cpu, key, iv);
            cipher.decrypt_blocks(Array::slice_as_chunks_mut(begin).0);
            cipher.decrypt_blocks(Array::slice_as_chunks_mut(rest).0);
        }
    }
}

/// As above. Some counters wrap within the message: at 2^32, at 2^64 or at 2^128.
fn compare_cipher(mode: Mode, peer: &str, theirs: &mut dyn Cipher) -> u64 {
    let mut compared = 0;
    for round in 0..rounds() {
        let mut random = drawn_in(round, mode.name());
        let (key, mut iv) = (random.array(), random.array::<16>());
        match round % 8 {
            0 => iv[12..15].fill(0xff),
            2 => iv[8..15].fill(0xff),
            4 => iv[..15].fill(0xff),
            _ => {}
        }
        let mut message = bytes(&mut random, most(round));
        message.truncate(message.len() / 16 * 16);
        theirs.set_key(&key).unwrap_or_else(|_| panic!("{peer} takes keys of {}", mode.title()));
        let mut expected = message.clone();
        theirs.crypt(&iv, &mut expected);
        let mut arms = BTreeSet::new();
        for cpu in cpus() {
            let arm = Sm4::with_cpu(cpu, &key).arm();
            if !arms.insert(arm) {
                continue;
            }
            for cut in [0, (random.word() % (message.len() as u64 / 16 + 1)) as usize] {
                let mut data = message.clone();
                crypt(cpu, mode, &key, &iv, &mut data, cut);
                assert!(
                    data == expected,
                    "{} on {arm} and {peer}, round {round} of seed {}, {} bytes cut after {cut} blocks: other bytes",
                    mode.name(),
                    *SEED,
                    message.len()
                );
            }
            compared += 1;
        }
    }
    compared
}

#[test]
fn each_arm_of_sm4_gives_the_bytes_of_each_library() {
    for mode in MODES {
        let peers = ciphers(mode);
        if peers.is_empty() {
            eprintln!("skipped: no library with {} is on this machine", mode.title());
        }
        for (name, mut theirs) in peers {
            let compared = compare_cipher(mode, &name, theirs.as_mut());
            assert!(compared >= rounds(), "{name}: {compared} comparisons");
            println!("{compared:>9}  {}  {name}  seed {}", mode.name(), *SEED);
        }
    }
}
