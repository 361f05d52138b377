//! HQC: keys, encapsulations, decapsulations, and the code by itself.

use super::on_each;
use crate::case::Case;
use crate::probe::{Probe, step};
use candor_codes::hqc::{Code, Hqc1, Level1, Secret, SymbolProduct};
use candor_cpu::Cpu;
use candor_primitives::hash::{Digest, Sha3_256};
use candor_primitives::kem::{DerandomizedKem, Kem};

type Public = <Hqc1 as Kem>::Public;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = on_each(&["portable", "avx2", "vpclmul", "avx512"], "hqc-1", kem, &[]);
    cases.extend(on_each(&["portable", "avx2"], "hqc-code", code, &[]));
    cases.extend(on_each(&["portable", "clmul"], "hqc-code/singly", code_of_single_products, &[]));
    cases
}

fn kem(probe: &mut Probe, cpu: Cpu) {
    let (seed, message): ([u8; 32], [u8; 16]) = (probe.secret("seed"), probe.secret("message"));
    let kem = Hqc1::with_cpu(cpu);
    let (key, public) =
        step!(probe, "generate", [kem: &Hqc1 = &kem, seed: &[u8; 32] = &seed], kem.generate_from(seed)).expect("a key");
    let mut bytes = vec![0; Hqc1::PUBLIC];
    kem.public_to_bytes(&public, &mut bytes).expect("as long as a key");
    probe.public(&bytes);
    // A parsed key holds its hash as well (specification, section 3.4.2).
    probe.public(&Sha3_256::digest([&bytes[..], &[1]].concat()));
    let mut coins = [9; 32];
    coins[..16].copy_from_slice(&message);
    let mut ciphertext = vec![0; Hqc1::CIPHERTEXT];
    let shared = step!(probe, "encapsulate", [kem: &Hqc1 = &kem, public: &Public = &public, coins: &[u8; 32] = &coins, ciphertext: &mut [u8] = &mut ciphertext], {
        kem.encapsulate_from(public, coins, ciphertext)
    }).expect("a ciphertext");
    probe.know("shared secret", shared.as_bytes());
    probe.public(&ciphertext);
    let mut made = Some(key);
    let key = made.as_ref().expect("made above");
    let found =
        step!(probe, "decapsulate", [kem: &Hqc1 = &kem, key: &Secret<Level1> = key, ciphertext: &[u8] = &ciphertext], {
            kem.decapsulate(key, ciphertext)
        })
        .expect("a secret");
    assert!(shared == found, "the secrets differ");
    step!(probe, "drop", [made: &mut Option<Secret<Level1>> = &mut made], *made = None);
}

fn code(probe: &mut Probe, cpu: Cpu) {
    encode_and_decode(probe, Hqc1::with_cpu(cpu).code());
}

/// With symbols multiplied one by one, whose decoding goes deepest; by PCLMULQDQ where that is.
fn code_of_single_products(probe: &mut Probe, cpu: Cpu) {
    let kem = Hqc1::with_cpu(cpu);
    let clmul = kem.with_symbol_product(SymbolProduct::Clmul);
    encode_and_decode(
        probe,
        clmul.or_else(|| kem.with_symbol_product(SymbolProduct::Loop)).expect("any CPU has it").code(),
    );
}

fn encode_and_decode(probe: &mut Probe, code: Code) {
    let message: [u8; 16] = probe.secret("message");
    let mut word = vec![0; code.words()];
    step!(probe, "encode", [code: &Code = &code, message: &[u8] = &message, word: &mut [u64] = &mut word], code.encode(message, word));
    word[..12].fill(0);
    let mut found = [0; 16];
    step!(probe, "decode", [code: &Code = &code, word: &[u64] = &word, found: &mut [u8] = &mut found], code.decode(word, found));
    assert!(found == message, "the message differs");
}
