//! AES-128: round keys, key stream, and the blocks that pass through.

use super::on_each;
use crate::case::{Case, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::aes::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, StreamCipher, StreamCipherSeek};
use candor_primitives::aes::{Aes128, Aes128Ctr, Aes128Decrypt};

type Key = [u8; 16];
type Blocks = [Block<Aes128>; 9];

/// Where no kernel of ours runs.
const LIBRARY: &[Leaves] = &[Leaves {
    step: "*",
    stack: 2300,
    heap: 0,
    names: &["key", "next key"],
    why: "crate `aes` leaves round keys and blocks in its stack frames",
}];

const LENGTHS: [usize; 7] = [1, 16, 80, 493, 509, 512, 1100];

pub(super) fn cases() -> Vec<Case> {
    let tiers = ["clmul", "vpclmul", "avx512"];
    let mut cases = on_each(&tiers, "aes-128/encrypt", encrypt, &[]);
    cases.extend(on_each(&tiers, "aes-128/decrypt", decrypt, &[]));
    cases.extend(on_each(&tiers, "aes-128/key-stream", key_stream, &[]));
    cases.extend(on_each(&["portable"], "aes-128/encrypt", encrypt, LIBRARY));
    cases.extend(on_each(&["portable"], "aes-128/decrypt", decrypt, LIBRARY));
    cases.extend(on_each(&["portable"], "aes-128/key-stream", key_stream, LIBRARY));
    cases
}

fn encrypt(probe: &mut Probe, cpu: Cpu) {
    let (key, next): (Key, Key) = (probe.secret("key"), probe.secret("next key"));
    let mut cipher = Some(step!(probe, "key", [cpu: Cpu = cpu, key: &Key = &key], Aes128::with_cpu(cpu, key)));
    let aes = cipher.as_mut().expect("made above");
    let mut block = [0x5a; 16];
    step!(probe, "block", [aes: &Aes128 = aes, block: &mut Key = &mut block], aes.encrypt_block(block));
    let mut blocks: Blocks = [[0x5a; 16].into(); 9];
    step!(probe, "blocks", [aes: &Aes128 = aes, blocks: &mut Blocks = &mut blocks], aes.encrypt_blocks(blocks));
    probe.public(&block);
    blocks.iter().for_each(|block| probe.public(block));
    for length in LENGTHS {
        let mut data = vec![0x5a; length];
        step!(probe, "counter mode", [aes: &Aes128 = aes, data: &mut [u8] = &mut data], aes.apply_counter_mode(&[7; 16], data));
        probe.public(&data);
    }
    step!(probe, "next key", [aes: &mut Aes128 = aes, next: &Key = &next], aes.set_key(next));
    let mut copy = Some(step!(probe, "clone", [aes: &Aes128 = aes], aes.clone()));
    step!(probe, "drop", [copy: &mut Option<Aes128> = &mut copy], *copy = None);
    step!(probe, "drop", [cipher: &mut Option<Aes128> = &mut cipher], *cipher = None);
}

fn decrypt(probe: &mut Probe, cpu: Cpu) {
    let (key, next): (Key, Key) = (probe.secret("key"), probe.secret("next key"));
    let mut cipher = Some(step!(probe, "key", [cpu: Cpu = cpu, key: &Key = &key], Aes128Decrypt::with_cpu(cpu, key)));
    let aes = cipher.as_mut().expect("made above");
    let mut block = [0x5a; 16];
    step!(probe, "block", [aes: &Aes128Decrypt = aes, block: &mut Key = &mut block], aes.decrypt_block(block));
    let mut blocks: Blocks = [[0x5a; 16].into(); 9];
    step!(probe, "blocks", [aes: &Aes128Decrypt = aes, blocks: &mut Blocks = &mut blocks], aes.decrypt_blocks(blocks));
    step!(probe, "next key", [aes: &mut Aes128Decrypt = aes, next: &Key = &next], aes.set_key(next));
    let mut copy = Some(step!(probe, "clone", [aes: &Aes128Decrypt = aes], aes.clone()));
    step!(probe, "drop", [copy: &mut Option<Aes128Decrypt> = &mut copy], *copy = None);
    step!(probe, "drop", [cipher: &mut Option<Aes128Decrypt> = &mut cipher], *cipher = None);
}

fn key_stream(probe: &mut Probe, cpu: Cpu) {
    let key: Key = probe.secret("key");
    let mut cipher =
        Some(step!(probe, "key", [cpu: Cpu = cpu, key: &Key = &key], Aes128Ctr::with_cpu(cpu, key, &[7; 16])));
    let ctr = cipher.as_mut().expect("made above");
    for length in LENGTHS {
        let mut data = vec![0x5a; length];
        step!(probe, "apply", [ctr: &mut Aes128Ctr = ctr, data: &mut [u8] = &mut data], ctr.apply_keystream(data));
        probe.public(&data);
    }
    step!(probe, "seek", [ctr: &mut Aes128Ctr = ctr], ctr.seek(5_u32));
    let mut copy = Some(step!(probe, "clone", [ctr: &Aes128Ctr = ctr], ctr.clone()));
    step!(probe, "drop", [copy: &mut Option<Aes128Ctr> = &mut copy], *copy = None);
    step!(probe, "drop", [cipher: &mut Option<Aes128Ctr> = &mut cipher], *cipher = None);
}
