//! AES-128 and POLYVAL: published values, and each tier against the libraries that the lowest one uses.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use candor_cpu::Cpu;
use candor_primitives::aes::{Aes128, Aes128Decrypt};
use candor_primitives::polyval::Polyval;
use polyval::universal_hash::UniversalHash;
use proptest::prelude::*;

fn cpus() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().map(|tier| Cpu::named(tier.name).unwrap())
}

fn block(hex: u128) -> [u8; 16] {
    hex.to_be_bytes()
}

/// FIPS 197, C.1.
#[test]
fn aes_gives_the_published_block_and_takes_it_back() {
    let (key, plain) = (block(0x000102030405060708090a0b0c0d0e0f), block(0x00112233445566778899aabbccddeeff));
    for cpu in cpus() {
        let mut found = plain;
        Aes128::with_cpu(cpu, &key).encrypt_block(&mut found);
        assert_eq!(found, block(0x69c4e0d86a7b0430d8cdb78070b4c55a), "{cpu:?}");
        Aes128Decrypt::with_cpu(cpu, &key).decrypt_block(&mut found);
        assert_eq!(found, plain, "{cpu:?}");
    }
}

/// RFC 8452, Appendix A.
#[test]
fn polyval_gives_the_published_hash() {
    let key = block(0x25629347589242761d31f826ba4b757b);
    let message = [block(0x4f4f95668c83dfb6401762bb2d01a262), block(0xd1a24ddd2721d006bbe45f20d3c9f362)];
    for cpu in cpus() {
        let expected = block(0xf7a3b47b846119fae5b7866cf5e5b77e);
        assert_eq!(Polyval::<1>::with_cpu(cpu, &key).hash([&message]), expected, "{cpu:?}");
        assert_eq!(Polyval::<32>::with_cpu(cpu, &key).hash([&message[..1], &message[1..]]), expected, "{cpu:?}");
    }
}

#[test]
fn polyval_of_nothing_is_zero() {
    for cpu in cpus() {
        assert_eq!(Polyval::<8>::with_cpu(cpu, &[9; 16]).hash([&[], &[]]), [0; 16], "{cpu:?}");
    }
}

proptest! {
    #[test]
    fn polyval_agrees_with_the_library(
        key: [u8; 16],
        message in prop::collection::vec(any::<[u8; 16]>(), 0..100),
        cuts: [prop::sample::Index; 2],
    ) {
        let mut library = polyval::Polyval::new(&key.into());
        message.iter().for_each(|block| library.update(&[(*block).into()]));
        let expected: [u8; 16] = library.finalize().into();
        let mut cuts = cuts.map(|cut| cut.index(message.len() + 1));
        cuts.sort();
        let parts = [&message[..cuts[0]], &message[cuts[0]..cuts[1]], &message[cuts[1]..]];
        for cpu in cpus() {
            prop_assert_eq!(Polyval::<1>::with_cpu(cpu, &key).hash(parts), expected, "1, {:?}", cpu);
            prop_assert_eq!(Polyval::<2>::with_cpu(cpu, &key).hash(parts), expected, "2, {:?}", cpu);
            prop_assert_eq!(Polyval::<8>::with_cpu(cpu, &key).hash(parts), expected, "8, {:?}", cpu);
            prop_assert_eq!(Polyval::<32>::with_cpu(cpu, &key).hash(parts), expected, "32, {:?}", cpu);
        }
    }

    #[test]
    fn counter_mode_agrees_with_the_library_one_block_at_a_time(
        key: [u8; 16],
        prefix: [u8; 12],
        // Near the end of 32 bits as often as anywhere.
        counter in prop_oneof![any::<u32>(), u32::MAX - 40..=u32::MAX],
        data in prop::collection::vec(any::<u8>(), 1..1200),
    ) {
        let cipher = aes::Aes128Enc::new(&key.into());
        let mut expected = data.clone();
        let mut last = [0; 16];
        for (index, chunk) in expected.chunks_mut(16).enumerate() {
            last[..12].copy_from_slice(&prefix);
            last[12..].copy_from_slice(&counter.wrapping_add(index as u32).to_be_bytes());
            cipher.encrypt_block((&mut last).into());
            chunk.iter_mut().zip(last).for_each(|(byte, key)| *byte ^= key);
        }
        let mut first = [0; 16];
        first[..12].copy_from_slice(&prefix);
        first[12..].copy_from_slice(&counter.to_be_bytes());
        for cpu in cpus() {
            let mut found = data.clone();
            let mut kept = [0; 16];
            Aes128::with_cpu(cpu, &key).apply_counter_mode_keeping(&first, &mut found, &mut kept);
            prop_assert_eq!((&found, kept), (&expected, last), "{:?}", cpu);
            let mut again = data.clone();
            Aes128::with_cpu(cpu, &key).apply_counter_mode(&first, &mut again);
            prop_assert_eq!(&again, &expected, "{:?}", cpu);
        }
    }

    #[test]
    fn single_blocks_agree_with_the_library(key: [u8; 16], plain: [u8; 16]) {
        let mut expected = plain;
        aes::Aes128Enc::new(&key.into()).encrypt_block((&mut expected).into());
        for cpu in cpus() {
            let mut found = plain;
            Aes128::with_cpu(cpu, &key).encrypt_block(&mut found);
            prop_assert_eq!(found, expected, "{:?}", cpu);
            Aes128Decrypt::with_cpu(cpu, &key).decrypt_block(&mut found);
            prop_assert_eq!(found, plain, "{:?}", cpu);
        }
    }
}
