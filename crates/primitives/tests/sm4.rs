//! SM4 on every arm of this machine: the standard's examples, and RustCrypto's `sm4`, `ctr` and `cbc` as oracles.

use candor_cpu::Cpu;
use candor_primitives::sm4::cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, IvState, KeyInit, KeyIvInit,
    StreamCipher, StreamCipherSeek,
};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};
use candor_test_support::vectors;
use proptest::prelude::*;

type OracleCtr = ctr::Ctr128BE<sm4::Sm4>;

/// The tiers, each arm once.
fn cpus() -> impl Iterator<Item = Cpu> {
    let mut seen = Vec::new();
    Cpu::tiers().map(|tier| Cpu::named(tier.name).unwrap()).filter(move |cpu| {
        let arm = Sm4::with_cpu(*cpu, &[0; 16]).arm();
        let new = !seen.contains(&arm);
        seen.push(arm);
        new
    })
}

/// Bytes that differ from place to place.
fn pattern<const N: usize>(seed: u8) -> [u8; N] {
    std::array::from_fn(|i| (i as u8).wrapping_mul(151).wrapping_add(seed) ^ (i >> 8) as u8)
}

fn iterated(cpu: Cpu, vector: &serde_json::Value) -> [u8; 16] {
    let cipher = Sm4::with_cpu(cpu, &vectors::array(vector, "key"));
    let mut block = vectors::array(vector, "plaintext");
    for _ in 0..vector["times"].as_u64().unwrap() {
        cipher.encrypt_block(&mut block);
    }
    block
}

#[test]
fn the_standards_example_on_every_arm() {
    let vectors = vectors::load("sm4.json");
    let vector = &vectors::list(&vectors, "blocks")[0];
    for cpu in cpus() {
        let mut found = iterated(cpu, vector);
        assert_eq!(found, vectors::array(vector, "ciphertext"), "{cpu:?}");
        Sm4::with_cpu(cpu, &vectors::array(vector, "key")).decrypt_block(&mut found);
        assert_eq!(found, vectors::array(vector, "plaintext"), "{cpu:?}");
    }
}

/// A million encryptions, one of the result of another.
#[test]
fn the_standards_million_iterations_on_every_accelerated_arm() {
    let vectors = vectors::load("sm4.json");
    let vector = &vectors::list(&vectors, "blocks")[1];
    assert_eq!(vector["times"], 1_000_000);
    for cpu in cpus().filter(|cpu| Sm4::with_cpu(*cpu, &[0; 16]).arm() != "portable") {
        assert_eq!(iterated(cpu, vector), vectors::array(vector, "ciphertext"), "{cpu:?}");
    }
}

/// By itself, since it takes as long as all other tests together.
#[test]
fn the_standards_million_iterations_on_the_portable_arm() {
    let vectors = vectors::load("sm4.json");
    let vector = &vectors::list(&vectors, "blocks")[1];
    assert_eq!(iterated(Cpu::portable(), vector), vectors::array(vector, "ciphertext"));
}

#[test]
fn any_number_of_blocks_agrees_with_the_oracle_both_ways() {
    let key = pattern(3);
    let oracle = sm4::Sm4::new(&key.into());
    let plain: [u8; 16 * 200] = pattern(7);
    for cpu in cpus() {
        let cipher = Sm4::with_cpu(cpu, &key);
        for count in 0..200 {
            let mut expected =
                plain.as_chunks::<16>().0[..count].iter().map(|block| (*block).into()).collect::<Vec<_>>();
            let mut found = expected.clone();
            oracle.encrypt_blocks(&mut expected);
            BlockCipherEncrypt::encrypt_blocks(&cipher, &mut found);
            assert_eq!(found, expected, "{count} blocks, {cpu:?}");
            BlockCipherDecrypt::decrypt_blocks(&cipher, &mut found);
            assert_eq!(found.as_flattened_bytes(), &plain[..16 * count], "{count} blocks, {cpu:?}");
        }
    }
}

/// Blocks as one piece.
trait Flattened {
    fn as_flattened_bytes(&self) -> Vec<u8>;
}

impl<B: AsRef<[u8]>> Flattened for Vec<B> {
    fn as_flattened_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|block| block.as_ref().to_vec()).collect()
    }
}

#[test]
fn key_streams_of_every_length_agree_with_the_oracle() {
    let (key, first) = (pattern(1), pattern(2));
    let mut stream = [0; 4096];
    OracleCtr::new(&key.into(), &first.into()).apply_keystream(&mut stream);
    for cpu in cpus() {
        for length in 0..=4096 {
            let mut found = vec![0; length];
            Sm4Ctr::with_cpu(cpu, &key, &first).apply_keystream(&mut found);
            assert!(found == stream[..length], "{length} bytes, {cpu:?}");
        }
    }
}

#[test]
fn counters_wrap_around_as_the_oracle_says() {
    let key = pattern(9);
    for before in 0..70_u128 {
        // At the ends of 32 and of 128 bits.
        for end in [1 << 32, 1 << 64, 0_u128] {
            let first = end.wrapping_sub(before).to_be_bytes();
            let mut expected = [0x5a; 16 * 75 + 3];
            OracleCtr::new(&key.into(), &first.into()).apply_keystream(&mut expected);
            for cpu in cpus() {
                let mut found = [0x5a; 16 * 75 + 3];
                Sm4Ctr::with_cpu(cpu, &key, &first).apply_keystream(&mut found);
                assert!(found == expected, "{before} blocks before the end, {cpu:?}");
            }
        }
    }
}

#[test]
fn a_key_stream_ends_before_it_repeats() {
    let mut cipher = Sm4Ctr::new(&[0; 16], &[0; 16]);
    cipher.seek(u64::MAX - 31);
    let mut data = [0; 16];
    assert!(cipher.try_apply_keystream(&mut data).is_ok());
    assert!(cipher.try_apply_keystream(&mut data).is_err());
    assert!(cipher.try_seek(u64::MAX - 20).is_ok());
    assert!(cipher.try_seek(u64::MAX).is_err());
}

#[test]
fn chains_of_any_number_of_blocks_agree_with_the_oracle() {
    let (key, iv) = (pattern(4), pattern(5));
    let plain: [u8; 16 * 150] = pattern(6);
    for cpu in cpus() {
        for count in 0..150 {
            let mut expected =
                plain.as_chunks::<16>().0[..count].iter().map(|block| (*block).into()).collect::<Vec<_>>();
            let mut found = expected.clone();
            let mut oracle = cbc::Encryptor::<sm4::Sm4>::new(&key.into(), &iv.into());
            oracle.encrypt_blocks(&mut expected);
            let mut cipher = Sm4CbcEnc::with_cpu(cpu, &key, &iv);
            // In two calls, so that the chain goes on from one to the next.
            let (front, back) = found.split_at_mut(count / 3);
            cipher.encrypt_blocks(front);
            cipher.encrypt_blocks(back);
            assert_eq!(found, expected, "{count} blocks, {cpu:?}");
            assert_eq!(cipher.iv_state(), oracle.iv_state());
            let mut back = Sm4CbcDec::with_cpu(cpu, &key, &iv);
            let (first, rest) = found.split_at_mut(count / 3);
            back.decrypt_blocks(first);
            back.decrypt_blocks(rest);
            assert_eq!(found.as_flattened_bytes(), &plain[..16 * count], "{count} blocks, {cpu:?}");
        }
    }
}

proptest! {
    #[test]
    fn keys_agree_with_the_oracle(key: [u8; 16], plain: [u8; 16]) {
        let mut expected = plain.into();
        sm4::Sm4::new(&key.into()).encrypt_block(&mut expected);
        for cpu in cpus() {
            let mut found = plain;
            Sm4::with_cpu(cpu, &key).encrypt_block(&mut found);
            prop_assert_eq!(found, <[u8; 16]>::from(expected), "{:?}", cpu);
        }
    }

    #[test]
    fn a_key_stream_does_not_depend_on_how_it_is_taken(
        key: [u8; 16],
        first: [u8; 16],
        pieces in prop::collection::vec(0_usize..150, 1..8),
        from in 0_usize..3000,
    ) {
        let whole: usize = pieces.iter().sum();
        let mut expected = vec![0; from + whole];
        OracleCtr::new(&key.into(), &first.into()).apply_keystream(&mut expected);
        for cpu in cpus() {
            let mut cipher = Sm4Ctr::with_cpu(cpu, &key, &first);
            cipher.seek(from);
            let mut found = vec![0; whole];
            let mut rest = &mut found[..];
            for piece in &pieces {
                let (now, later) = rest.split_at_mut(*piece);
                cipher.apply_keystream(now);
                rest = later;
            }
            prop_assert_eq!(&found, &expected[from..], "{:?}", cpu);
            prop_assert_eq!(cipher.current_pos::<usize>(), from + whole);
            let mut again = vec![0; from];
            cipher.set_first(&first);
            cipher.apply_keystream(&mut again);
            prop_assert_eq!(&again, &expected[..from], "{:?}", cpu);
        }
    }
}
