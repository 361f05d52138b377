//! AES-128 through its public types, and CMAC over it: key and data are secret, the first counter block is public.
//!
//! Nine blocks in a row, so that the kernel of eight runs and the one for single blocks as well; a key stream in pieces, so that a block is
//! kept between two calls.

use candor_cpu::{Cpu, secret};
use candor_primitives::aes::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, StreamCipher, StreamCipherSeek};
use candor_primitives::aes::{Aes128, Aes128Ctr, Aes128Decrypt};
use candor_primitives::hash::digest::common::InnerInit;
use candor_primitives::mac::{CmacAes128, CmacAes256, KeyInit, Mac};
use std::hint::black_box;

const BYTES: usize = 9 * 16;

pub(crate) fn encrypt_blocks(cpu: Cpu) {
    run(cpu, |cpu, key, data| {
        let cipher = Aes128::with_cpu(cpu, key);
        in_blocks(data, |blocks| cipher.encrypt_blocks(blocks));
        cipher.encrypt_block(data.first_chunk_mut().expect("nine blocks have a first"));
    });
}

pub(crate) fn decrypt_blocks(cpu: Cpu) {
    run(cpu, |cpu, key, data| {
        let cipher = Aes128Decrypt::with_cpu(cpu, key);
        in_blocks(data, |blocks| cipher.decrypt_blocks(blocks));
        cipher.decrypt_block(data.first_chunk_mut().expect("nine blocks have a first"));
    });
}

pub(crate) fn key_stream(cpu: Cpu) {
    run(cpu, |cpu, key, data| {
        let mut cipher = Aes128Ctr::with_cpu(cpu, key, &[0xff; 16]);
        let (begin, rest) = data.split_at_mut(21);
        cipher.apply_keystream(begin);
        cipher.apply_keystream(rest);
        cipher.seek(5_u32);
        cipher.apply_keystream(begin);
    });
}

/// Of whole blocks and of a part of one, which crate `cmac` masks with different keys; with AES-256 too, which is crate `aes`'s on every tier.
pub(crate) fn cmac(cpu: Cpu) {
    fn tag<M: Mac>(mut mac: M, message: &[u8]) -> [u8; 16] {
        let (begin, rest) = message.split_at(21);
        mac.update(begin);
        mac.update(rest);
        mac.finalize().into_bytes()[..].try_into().expect("a tag has 16 bytes")
    }
    run(cpu, |cpu, key, data| {
        let mut long = [0; 32];
        long[..16].copy_from_slice(key);
        for length in [BYTES, BYTES - 3] {
            let short = tag(CmacAes128::inner_init(Aes128::with_cpu(cpu, key)), &data[..length]);
            let long = tag(CmacAes256::new(&long.into()), &data[..length]);
            data[..16].copy_from_slice(&short);
            data[16..32].copy_from_slice(&long);
        }
    });
}

/// Has `crypt` work on the data as blocks.
fn in_blocks(data: &mut [u8; BYTES], crypt: impl FnOnce(&mut [Block<Aes128>])) {
    let mut blocks: Vec<Block<Aes128>> = data.as_chunks().0.iter().map(|block: &[u8; 16]| (*block).into()).collect();
    crypt(&mut blocks);
    for (to, block) in data.as_chunks_mut::<16>().0.iter_mut().zip(blocks) {
        *to = block.into();
    }
}

fn run(cpu: Cpu, work: impl Fn(Cpu, &[u8; 16], &mut [u8; BYTES])) {
    let key: [u8; 16] = std::array::from_fn(|i| i as u8);
    let mut expected = [7; BYTES];
    work(Cpu::portable(), &key, &mut expected);
    secret::arms();

    let mut found = [7; BYTES];
    secret::poison(&key);
    secret::poison(&found);
    work(cpu, black_box(&key), &mut found);
    secret::declassify(&found, "result");
    assert!(found == expected, "the result is wrong, so whatever ran was not AES");
}
