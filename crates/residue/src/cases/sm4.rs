//! SM4: round keys, key stream, and the blocks that pass through.

use super::on_each;
use crate::case::{Case, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::aes::Aes128;
use candor_primitives::hash::digest::FixedOutput;
use candor_primitives::hash::digest::common::InnerInit;
use candor_primitives::mac::{CmacAes128, CmacSm4, Mac};
use candor_primitives::sm4::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, StreamCipher};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};

type Key = [u8; 16];

const TIERS: [&str; 6] = ["portable", "clmul", "avx2", "vpclmul", "gfni", "avx512"];
const LENGTHS: [usize; 6] = [1, 16, 80, 509, 1100, 2048];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = on_each(&TIERS, "sm4/blocks", blocks, &[]);
    cases.extend(on_each(&TIERS, "sm4/key-stream", key_stream, &[]));
    cases.extend(on_each(&TIERS, "sm4/chains", chains, &[]));
    cases.extend(on_each(&TIERS, "mac/cmac-sm4", cmac, CMAC));
    cases.extend(on_each(&["clmul", "avx512"], "mac/cmac-aes-128", cmac_aes, CMAC_AES));
    cases
}

/// What crate `cmac` leaves of its key, of a copy, and of the last block. How many bytes of the last block, and of that block with
/// the subkey mixed in, are still in registers' spill slots depends on how the compiler lays the build out: 20 and 24 were seen. Both
/// blocks are the bound.
const fn cmac_leaves(names: &'static [&'static str]) -> [Leaves; 3] {
    const WHY: &str = "crate `cmac` moves the round keys, copies too, and leaves some bytes of the last block";
    [
        Leaves { step: "key", stack: 256, heap: 0, names, why: WHY },
        Leaves { step: "clone", stack: 256, heap: 0, names, why: WHY },
        Leaves { step: "tag", stack: 32, heap: 0, names: &[], why: WHY },
    ]
}

const CMAC: &[Leaves] = &cmac_leaves(&[]);
/// AES's first round key is the key itself.
const CMAC_AES: &[Leaves] = &cmac_leaves(&["key"]);

fn blocks(probe: &mut Probe, cpu: Cpu) {
    let key: Key = probe.secret("key");
    let mut cipher = Some(step!(probe, "key", [cpu: Cpu = cpu, key: &Key = &key], Sm4::with_cpu(cpu, key)));
    let sm4 = cipher.as_mut().expect("made above");
    let mut block = [0x5a; 16];
    step!(probe, "encrypt", [sm4: &Sm4 = sm4, block: &mut Key = &mut block], sm4.encrypt_block(block));
    probe.public(&block);
    for count in [1, 5, 16, 83] {
        let mut blocks = vec![[0x5a; 16]; count];
        step!(probe, "encrypt each", [sm4: &Sm4 = sm4, blocks: &mut [Key] = &mut blocks], sm4.encrypt_each(blocks));
        blocks.iter().for_each(|block| probe.public(block));
        let mut blocks = vec![[0xa5; 16]; count];
        step!(probe, "decrypt each", [sm4: &Sm4 = sm4, blocks: &mut [Key] = &mut blocks], sm4.decrypt_each(blocks));
        blocks.iter().for_each(|block| probe.public(block));
    }
    let mut copy = Some(step!(probe, "clone", [sm4: &Sm4 = sm4], sm4.clone()));
    step!(probe, "drop", [copy: &mut Option<Sm4> = &mut copy], *copy = None);
    step!(probe, "drop", [cipher: &mut Option<Sm4> = &mut cipher], *cipher = None);
}

fn key_stream(probe: &mut Probe, cpu: Cpu) {
    let key: Key = probe.secret("key");
    let mut cipher =
        Some(step!(probe, "key", [cpu: Cpu = cpu, key: &Key = &key], Sm4Ctr::with_cpu(cpu, key, &[7; 16])));
    let ctr = cipher.as_mut().expect("made above");
    for length in LENGTHS {
        let mut data = vec![0x5a; length];
        step!(probe, "apply", [ctr: &mut Sm4Ctr = ctr, data: &mut [u8] = &mut data], ctr.apply_keystream(data));
        probe.public(&data);
    }
    let mut copy = Some(step!(probe, "clone", [ctr: &Sm4Ctr = ctr], ctr.clone()));
    step!(probe, "drop", [copy: &mut Option<Sm4Ctr> = &mut copy], *copy = None);
    step!(probe, "drop", [cipher: &mut Option<Sm4Ctr> = &mut cipher], *cipher = None);
}

fn chains(probe: &mut Probe, cpu: Cpu) {
    let key: Key = probe.secret("key");
    let mut encrypt = step!(probe, "key", [cpu: Cpu = cpu, key: &Key = &key], Sm4CbcEnc::with_cpu(cpu, key, &[7; 16]));
    let mut decrypt = step!(probe, "key", [cpu: Cpu = cpu, key: &Key = &key], Sm4CbcDec::with_cpu(cpu, key, &[7; 16]));
    for length in [16, 80, 1328] {
        let mut data = vec![0x5a; length];
        step!(
            probe,
            "encrypt",
            [cipher: &mut Sm4CbcEnc = &mut encrypt, data: &mut [u8] = &mut data],
            cipher.encrypt_blocks(Array::slice_as_chunks_mut(data).0)
        );
        probe.public(&data);
        let mut data = vec![0xa5; length];
        step!(
            probe,
            "decrypt",
            [cipher: &mut Sm4CbcDec = &mut decrypt, data: &mut [u8] = &mut data],
            cipher.decrypt_blocks(Array::slice_as_chunks_mut(data).0)
        );
        probe.public(&data);
    }
    let mut copy = Some(step!(probe, "clone", [encrypt: &Sm4CbcEnc = &encrypt], encrypt.clone()));
    step!(probe, "drop", [copy: &mut Option<Sm4CbcEnc> = &mut copy], *copy = None);
    let mut copy = Some(step!(probe, "clone", [decrypt: &Sm4CbcDec = &decrypt], decrypt.clone()));
    step!(probe, "drop", [copy: &mut Option<Sm4CbcDec> = &mut copy], *copy = None);
}

macro_rules! cmacs {
    ($($name:ident: $mac:ident over $cipher:ident;)+) => {$(
        fn $name(probe: &mut Probe, cpu: Cpu) {
            let (key, message): (Key, [u8; 100]) = (probe.secret("key"), probe.secret("message"));
            let mut made = Some(step!(
                probe,
                "key",
                [cpu: Cpu = cpu, key: &Key = &key],
                $mac::inner_init($cipher::with_cpu(cpu, key))
            ));
            let mac = made.as_mut().expect("made above");
            let mut copy = Some(step!(probe, "clone", [mac: &$mac = mac], mac.clone()));
            step!(probe, "drop", [copy: &mut Option<$mac> = &mut copy], *copy = None);
            step!(probe, "update", [mac: &mut $mac = mac, message: &[u8; 100] = &message], mac.update(message));
            let mut tag = [0; 16];
            step!(probe, "tag", [made: &mut Option<$mac> = &mut made, tag: &mut Key = &mut tag], {
                if let Some(mac) = made.take() {
                    mac.finalize_into(tag.into());
                }
            });
        }
    )+};
}

cmacs! {
    cmac: CmacSm4 over Sm4;
    cmac_aes: CmacAes128 over Aes128;
}
