//! SM4 through its public types: key and data are secret; the first counter block and the initialisation vector are public.
//!
//! More blocks than the widest arm has in flight, and a few more, so that whole batches, groups and the last blocks are all there.

use crate::case::{Case, Expect};
use candor_cpu::{Cpu, secret};
use candor_primitives::hash::digest::common::InnerInit;
use candor_primitives::mac::{CmacSm4, Mac};
use candor_primitives::sm4::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, StreamCipher};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};
use std::hint::black_box;

const BYTES: usize = 83 * 16;

pub(super) const CASES: &[Case] = &[
    case("sm4/blocks@portable", ("sm4", "portable"), "portable", blocks),
    case("sm4/key-stream@portable", ("sm4-ctr", "portable"), "portable", key_stream),
    case("sm4/chains@portable", ("sm4-cbc", "portable"), "portable", chains),
    case("sm4/cmac@portable", ("sm4", "portable"), "portable", cmac),
    case("sm4/blocks@clmul", ("sm4", "aes-ni"), "clmul", blocks),
    case("sm4/key-stream@clmul", ("sm4-ctr", "aes-ni"), "clmul", key_stream),
    case("sm4/chains@clmul", ("sm4-cbc", "aes-ni"), "clmul", chains),
    case("sm4/cmac@clmul", ("sm4", "aes-ni"), "clmul", cmac),
    case("sm4/blocks@avx2", ("sm4", "avx2"), "avx2", blocks),
    case("sm4/key-stream@avx2", ("sm4-ctr", "avx2"), "avx2", key_stream),
    case("sm4/chains@avx2", ("sm4-cbc", "avx2"), "avx2", chains),
    case("sm4/cmac@avx2", ("sm4", "avx2"), "avx2", cmac),
    unseen(
        "sm4/blocks@vpclmul",
        ("sm4", "vaes"),
        &["sm4::vaes::expand::with_features", "sm4::vaes::block::with_features", "sm4::vaes::blocks::with_features"],
        blocks,
    ),
    unseen("sm4/key-stream@vpclmul", ("sm4-ctr", "vaes"), &["sm4::vaes::counter_mode::with_features"], key_stream),
    unseen(
        "sm4/chains@vpclmul",
        ("sm4-cbc", "vaes"),
        &["sm4::vaes::cbc_encrypt::with_features", "sm4::vaes::cbc_decrypt::with_features"],
        chains,
    ),
    unseen(
        "sm4/blocks@gfni",
        ("sm4", "gfni"),
        &["sm4::gfni::expand::with_features", "sm4::gfni::block::with_features", "sm4::gfni::blocks::with_features"],
        blocks,
    ),
    unseen("sm4/key-stream@gfni", ("sm4-ctr", "gfni"), &["sm4::gfni::counter_mode::with_features"], key_stream),
    unseen(
        "sm4/chains@gfni",
        ("sm4-cbc", "gfni"),
        &["sm4::gfni::cbc_encrypt::with_features", "sm4::gfni::cbc_decrypt::with_features"],
        chains,
    ),
    unseen(
        "sm4/blocks@avx512",
        ("sm4", "avx512"),
        &[
            "sm4::avx512::expand::with_features",
            "sm4::avx512::block::with_features",
            "sm4::avx512::blocks::with_features",
        ],
        blocks,
    ),
    unseen("sm4/key-stream@avx512", ("sm4-ctr", "avx512"), &["sm4::avx512::counter_mode::with_features"], key_stream),
    unseen(
        "sm4/chains@avx512",
        ("sm4-cbc", "avx512"),
        &["sm4::avx512::cbc_encrypt::with_features", "sm4::avx512::cbc_decrypt::with_features"],
        chains,
    ),
];

/// On an arm that valgrind runs.
pub(super) const fn case(
    name: &'static str,
    ran: (&'static str, &'static str),
    tier: &'static str,
    run: fn(Cpu),
) -> Case {
    Case { name, ran, tier, kernel: None, expect: Expect::Clean, run }
}

/// On one that it can't run.
pub(super) const fn unseen(
    name: &'static str,
    ran: (&'static str, &'static str),
    reads: &'static [&'static str],
    run: fn(Cpu),
) -> Case {
    let tier = if let b"vaes" = ran.1.as_bytes() { "vpclmul" } else { ran.1 };
    Case {
        tier,
        ..super::unseen(name, ran, "valgrind 3.19 knows neither VAES on 256 bits nor GFNI nor AVX-512", reads, run)
    }
}

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

/// Of whole blocks and of a part of one, which crate `cmac` masks with different keys.
fn cmac(cpu: Cpu) {
    run(cpu, |cpu, key, data| {
        for length in [BYTES, BYTES - 3] {
            let mut mac = CmacSm4::inner_init(Sm4::with_cpu(cpu, key));
            mac.update(&data[..21]);
            mac.update(&data[21..length]);
            data[..16].copy_from_slice(&mac.finalize().into_bytes());
        }
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
