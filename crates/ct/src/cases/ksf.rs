//! Key stretching of a secret password. Its length, the salt and the cost are public.

use candor_cpu::{Cpu, secret};
use candor_primitives::ksf::{Argon2id, Memory, Params};

/// Two passes over two lanes, so that every kind of address is taken.
pub(crate) fn argon2id(cpu: Cpu) {
    let params = Params::new(64, 2, 2).expect("good parameters");
    let mut memory = Memory::new(params).expect("64 KiB");
    let password: [u8; 40] = core::array::from_fn(|i| i as u8);
    let mut expected = [0; 64];
    let derived = Argon2id::with_cpu(Cpu::portable(), params).derive(&password, &[7; 16], &mut memory, &mut expected);
    derived.expect("good inputs");
    secret::reset();

    secret::poison(&password);
    let mut tag = [0; 64];
    Argon2id::with_cpu(cpu, params).derive(&password, &[7; 16], &mut memory, &mut tag).expect("good inputs");
    secret::declassify(&tag, "result");
    assert_eq!(tag, expected, "the result is wrong, so whatever ran was not Argon2id");
}
