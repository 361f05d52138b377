//! Many messages at once, every tier of this machine: the same as one by one by RustCrypto's crates.

use candor_cpu::{Cpu, Microarchitecture};
use candor_primitives::hash::{Batch, BatchError, Digest};
use digest::{ExtendableOutput, XofReader};

fn tiers() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().map(|tier| Cpu::named(tier.name).expect("a tier of this machine"))
}

/// Messages of the given lengths, all different.
fn messages(lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    lengths
        .into_iter()
        .enumerate()
        .map(|(n, length)| (0..length).map(|i| (i * 7 + n * 31 + i / 256) as u8).collect())
        .collect()
}

fn xof(mut hash: impl ExtendableOutput, message: &[u8], length: usize) -> Vec<u8> {
    hash.update(message);
    let mut output = vec![0; length];
    hash.finalize_xof().read(&mut output);
    output
}

/// All functions on the messages; outputs of SHAKE get longer from message to message.
fn agrees_with_the_oracles(messages: &[Vec<u8>]) {
    let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let count = slices.len();
    let lengths = |n: usize| n * 67 % 500;
    for cpu in tiers() {
        let batch = Batch::with_cpu(cpu);
        let [mut sha256, mut sm3, mut sha3_256] = [(); 3].map(|()| vec![[0; 32]; count]);
        let mut sha3_512 = vec![[0; 64]; count];
        batch.sha256_into(&slices, &mut sha256).unwrap();
        batch.sm3_into(&slices, &mut sm3).unwrap();
        batch.sha3_256_into(&slices, &mut sha3_256).unwrap();
        batch.sha3_512_into(&slices, &mut sha3_512).unwrap();
        let [mut shake128, mut shake256]: [Vec<Vec<u8>>; 2] =
            [(); 2].map(|()| (0..count).map(|n| vec![0; lengths(n)]).collect());
        let mut outputs: Vec<&mut [u8]> = shake128.iter_mut().map(Vec::as_mut_slice).collect();
        batch.shake128_into(&slices, &mut outputs).unwrap();
        let mut outputs: Vec<&mut [u8]> = shake256.iter_mut().map(Vec::as_mut_slice).collect();
        batch.shake256_into(&slices, &mut outputs).unwrap();
        for (n, message) in slices.iter().enumerate() {
            let place = || format!("{cpu:?}, message {n} of {count}, {} bytes", message.len());
            assert_eq!(sha256[n][..], sha2::Sha256::digest(message)[..], "SHA-256, {}", place());
            assert_eq!(sm3[n][..], sm3::Sm3::digest(message)[..], "SM3, {}", place());
            assert_eq!(sha3_256[n][..], sha3::Sha3_256::digest(message)[..], "SHA3-256, {}", place());
            assert_eq!(sha3_512[n][..], sha3::Sha3_512::digest(message)[..], "SHA3-512, {}", place());
            assert_eq!(shake128[n], xof(shake::Shake128::default(), message, lengths(n)), "SHAKE128, {}", place());
            assert_eq!(shake256[n], xof(shake::Shake256::default(), message, lengths(n)), "SHAKE256, {}", place());
        }
    }
}

#[test]
fn lists_of_0_to_40_equal_messages() {
    for count in 0..=40 {
        agrees_with_the_oracles(&messages(vec![200; count]));
    }
}

#[test]
fn every_length_to_300_in_one_list() {
    agrees_with_the_oracles(&messages(0..=300));
}

#[test]
fn one_long_message_among_short_ones() {
    agrees_with_the_oracles(&messages([1, 5000, 64, 0, 55, 56, 136, 135, 3, 1000, 2, 63, 119, 120, 128, 72, 71, 9]));
    agrees_with_the_oracles(&messages([5000, 1]));
}

#[test]
fn arrays_and_lists_give_the_same() {
    let messages = messages([10, 20, 30]);
    let [a, b, c] = [0, 1, 2].map(|n| messages[n].as_slice());
    for cpu in tiers() {
        let batch = Batch::with_cpu(cpu);
        let mut digests = [[0; 32]; 3];
        batch.sha256_into(&[a, b, c], &mut digests).unwrap();
        assert_eq!(batch.sha256([a, b, c]), digests);
        let long: [[u8; 300]; 3] = batch.shake128([a, b, c]);
        assert_eq!(long[2][..], xof(shake::Shake128::default(), c, 300));
    }
}

#[test]
fn unequal_lists_are_refused_and_nothing_is_written() {
    let mut digests = [[7; 32]; 2];
    let refused = Batch::new().sm3_into(&[b"a", b"b", b"c"], &mut digests);
    assert_eq!(refused, Err(BatchError { messages: 3, outputs: 2 }));
    assert_eq!(digests, [[7; 32]; 2]);
    assert_eq!(Batch::new().sm3_into(&[b"a", b"b"], &mut digests), Ok(()));
    assert!(digests.iter().all(|digest| *digest != [7; 32]));
}

#[test]
fn without_a_tier_by_name_the_table_of_arms_is_asked() {
    let Ok(wide) = Cpu::named("avx512") else {
        eprintln!("skipped: this CPU has one arm for SHA-256 in batches of any size");
        return;
    };
    let arms = |name: &str| {
        let batch = Batch::with_cpu(wide.choosing_as(Microarchitecture::named(name).unwrap()));
        [6, 7].map(|messages| batch.sha256_arm(messages))
    };
    assert_eq!(arms("unknown"), ["sha", "avx512"]);
    assert_eq!(arms("zen4"), ["sha", "sha"]);
    assert_eq!([4, 5, 7].map(|messages| Batch::with_cpu(wide).sha256_arm(messages)), ["sha", "avx512", "avx512"]);
}

#[test]
fn the_arm_is_the_tiers() {
    assert_eq!(Batch::with_cpu(Cpu::portable()).sha256_arm(8), "one-by-one");
    for (tier, sha256, others) in [
        ("sha", "sha", "one-by-one"),
        ("avx2", "avx2", "avx2"),
        ("vpclmul", "sha", "avx2"),
        ("avx512", "avx512", "avx512"),
    ] {
        if let Ok(cpu) = Cpu::named(tier) {
            assert_eq!(
                [
                    Batch::with_cpu(cpu).sha256_arm(8),
                    Batch::with_cpu(cpu).sm3_arm(8),
                    Batch::with_cpu(cpu).keccak_arm(8)
                ],
                [sha256, others, others],
                "{tier}"
            );
        }
    }
}
