//! SM4 through its public types: key and data are secret; the first counter block and the initialisation vector are public.
//!
//! More blocks than the widest arm has in flight, and a few more, so that whole batches, groups and the last blocks are all there.

use candor_cpu::{Cpu, secret};
use candor_primitives::sm4::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, StreamCipher};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};
use std::hint::black_box;

const BYTES: usize = 83 * 16;

pub(crate) fn blocks(cpu: Cpu) {
    run(cpu, |cpu, key, data| {
        let cipher = Sm4::with_cpu(cpu, key);
        let (blocks, _) = data.as_chunks_mut::<16>();
        cipher.encrypt_each(blocks);
        cipher.decrypt_each(&mut blocks[3..]);
        cipher.encrypt_block(&mut blocks[1]);
        cipher.decrypt_block(&mut blocks[2]);
    });
}

pub(crate) fn key_stream(cpu: Cpu) {
    run(cpu, |cpu, key, data| {
        let mut cipher = Sm4Ctr::with_cpu(cpu, key, &[0xff; 16]);
        let (begin, rest) = data.split_at_mut(21);
        cipher.apply_keystream(begin);
        cipher.apply_keystream(rest);
    });
}

pub(crate) fn chains(cpu: Cpu) {
    run(cpu, |cpu, key, data| {
        let blocks = Array::slice_as_chunks_mut(data).0;
        Sm4CbcEnc::with_cpu(cpu, key, &[5; 16]).encrypt_blocks(blocks);
        Sm4CbcDec::with_cpu(cpu, key, &[7; 16]).decrypt_blocks(blocks);
    });
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
    assert!(found == expected, "the result is wrong, so whatever ran was not SM4");
}
