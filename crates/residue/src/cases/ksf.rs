//! Argon2id: the password, the blocks made from it, the key.

use super::on_each;
use crate::case::Case;
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::ksf::{Argon2id, Memory, Params};

pub(super) fn cases() -> Vec<Case> {
    on_each(&["portable", "avx2", "avx512"], "ksf/argon2id", argon2id, &[])
}

fn argon2id(probe: &mut Probe, cpu: Cpu) {
    let params = Params::new(64, 2, 2).expect("good parameters");
    let password: [u8; 40] = probe.secret("password");
    let argon2 = Argon2id::with_cpu(cpu, params);
    let mut memory = Some(Memory::new(params).expect("64 KiB"));
    let mut key = [0; 100];
    let used = memory.as_mut().expect("made above");
    step!(probe, "derive", [argon2: &Argon2id = &argon2, password: &[u8; 40] = &password, used: &mut Memory = used, key: &mut [u8; 100] = &mut key], {
        argon2.derive(password, &[7; 16], used, key).expect("good inputs");
    });
    step!(probe, "free", [memory: &mut Option<Memory> = &mut memory], *memory = None);
}
