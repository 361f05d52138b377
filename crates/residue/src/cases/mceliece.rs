//! Classic McEliece: keys, encapsulations, decapsulations.

use super::on_each;
use crate::case::Case;
use crate::probe::{Probe, step};
use candor_codes::mceliece::{Mceliece348864f, Secret, Set348864f};
use candor_cpu::Cpu;
use candor_primitives::kem::{DerandomizedKem, Kem};

type Public = <Mceliece348864f as Kem>::Public;

pub(super) fn cases() -> Vec<Case> {
    on_each(&["portable", "avx2", "avx512"], "mceliece348864f", kem, &[])
}

fn kem(probe: &mut Probe, cpu: Cpu) {
    let (seed, coins): ([u8; 32], [u8; 32]) = (probe.secret("seed"), probe.secret("coins"));
    let kem = Mceliece348864f::with_cpu(cpu);
    let (key, public) =
        step!(probe, "generate", [kem: &Mceliece348864f = &kem, seed: &[u8; 32] = &seed], kem.generate_from(seed))
            .expect("a key");
    let mut bytes = vec![0; Mceliece348864f::PUBLIC];
    kem.public_to_bytes(&public, &mut bytes).expect("as long as a key");
    probe.public(&bytes);
    let mut ciphertext = vec![0; Mceliece348864f::CIPHERTEXT];
    let shared = step!(probe, "encapsulate", [kem: &Mceliece348864f = &kem, public: &Public = &public, coins: &[u8; 32] = &coins, ciphertext: &mut [u8] = &mut ciphertext], {
        kem.encapsulate_from(public, coins, ciphertext)
    }).expect("a ciphertext");
    probe.know("shared secret", shared.as_bytes());
    probe.public(&ciphertext);
    let mut made = Some(key);
    let key = made.as_ref().expect("made above");
    let found = step!(probe, "decapsulate", [kem: &Mceliece348864f = &kem, key: &Secret<Set348864f> = key, ciphertext: &[u8] = &ciphertext], {
        kem.decapsulate(key, ciphertext)
    })
    .expect("a secret");
    assert!(shared == found, "the secrets differ");
    step!(probe, "drop", [made: &mut Option<Secret<Set348864f>> = &mut made], *made = None);
}
