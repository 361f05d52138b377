//! POLYVAL: the key, its powers, and the hashes.

use super::on_each;
use crate::case::{Case, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::polyval::Polyval;

type Block = [u8; 16];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = on_each(&["clmul", "vpclmul", "avx512"], "polyval/16-powers", hash::<16>, &[]);
    cases.extend(on_each(&["clmul", "vpclmul", "avx512"], "polyval/1-power", hash::<1>, &[]));
    cases.extend(on_each(&["portable"], "polyval/16-powers", hash::<16>, LIBRARY));
    cases
}

/// Where no kernel of ours runs.
const LIBRARY: &[Leaves] = &[Leaves {
    step: "*",
    stack: 420,
    heap: 0,
    names: &["key", "next key"],
    why: "crate `polyval` leaves the key, its powers and the hash in its stack frames",
}];

fn hash<const N: usize>(probe: &mut Probe, cpu: Cpu) {
    let (key, next): (Block, Block) = (probe.secret("key"), probe.secret("next key"));
    let mut made = Some(step!(probe, "key", [cpu: Cpu = cpu, key: &Block = &key], Polyval::<N>::with_cpu(cpu, key)));
    let polyval = made.as_mut().expect("made above");
    for blocks in [1, 3, 16, 32, 33] {
        let (blocks, mut out) = (vec![[0x5a; 16]; blocks], [0; 16]);
        step!(probe, "hash", [polyval: &Polyval<N> = polyval, blocks: &[Block] = &blocks, out: &mut Block = &mut out], polyval.hash_into([blocks], out));
    }
    step!(probe, "next key", [polyval: &mut Polyval<N> = polyval, next: &Block = &next], polyval.set_key(next));
    step!(probe, "drop", [made: &mut Option<Polyval<N>> = &mut made], *made = None);
}
