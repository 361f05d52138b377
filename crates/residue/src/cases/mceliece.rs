//! Classic McEliece: keys, encapsulations, decapsulations.

use super::on_each;
use crate::case::Case;
use crate::probe::{Probe, step};
use candor_codes::mceliece::{Mceliece, ParameterSet, Secret, Set348864f, Set460896f};
use candor_cpu::Cpu;
use candor_primitives::kem::{DerandomizedKem, Kem};

type Public<S> = <Mceliece<S> as Kem>::Public;

/// Kernels are compiled for each of the two fields, so each has a set.
pub(super) fn cases() -> Vec<Case> {
    let arms = ["portable", "avx2", "avx512"];
    let mut cases = on_each(&arms, "mceliece348864f", kem::<Set348864f>, &[]);
    cases.extend(on_each(&arms, "mceliece460896f", kem::<Set460896f>, &[]));
    cases
}

fn kem<S: ParameterSet>(probe: &mut Probe, cpu: Cpu) {
    let (seed, coins): ([u8; 32], [u8; 32]) = (probe.secret("seed"), probe.secret("coins"));
    let kem = Mceliece::<S>::with_cpu(cpu);
    let (key, public) =
        step!(probe, "generate", [kem: &Mceliece<S> = &kem, seed: &[u8; 32] = &seed], kem.generate_from(seed))
            .expect("a key");
    let mut bytes = vec![0; Mceliece::<S>::PUBLIC];
    kem.public_to_bytes(&public, &mut bytes).expect("as long as a key");
    probe.public(&bytes);
    let mut ciphertext = vec![0; Mceliece::<S>::CIPHERTEXT];
    let shared = step!(probe, "encapsulate", [kem: &Mceliece<S> = &kem, public: &Public<S> = &public, coins: &[u8; 32] = &coins, ciphertext: &mut [u8] = &mut ciphertext], {
        kem.encapsulate_from(public, coins, ciphertext)
    }).expect("a ciphertext");
    probe.know("shared secret", shared.as_bytes());
    probe.public(&ciphertext);
    let mut made = Some(key);
    let key = made.as_ref().expect("made above");
    let found = step!(probe, "decapsulate", [kem: &Mceliece<S> = &kem, key: &Secret<S> = key, ciphertext: &[u8] = &ciphertext], {
        kem.decapsulate(key, ciphertext)
    })
    .expect("a secret");
    assert!(shared == found, "the secrets differ");
    step!(probe, "drop", [made: &mut Option<Secret<S>> = &mut made], *made = None);
}
