//! Decapsulation by code-based KEMs step by step: where its time goes on each arm, and, of HQC, with each way to multiply in GF(2⁸).

use super::gf2::best_first;
use super::mceliece::of;
use super::ours;
use candor_codes::hqc::{self, Hqc, Hqc1, SymbolProduct};
use candor_codes::mceliece::{Mceliece, Mceliece348864};
use candor_cpu::Cpu;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_peers::contract::hqc::Level;
use candor_peers::contract::mceliece::Set;
use candor_peers::seed::Stream;
use candor_primitives::SharedSecret;
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use std::hint::black_box;

/// What the timed call does.
pub(crate) const TIMED: &str =
    "decapsulates; the key is parsed before; sixteen ciphertexts to one key in turn; the phases are its steps";

/// Ciphertexts that are worked through in turn, so that no branch predictor learns one by heart.
const INPUTS: usize = 16;

/// Decapsulates with a call after each step.
type InSteps<K> = fn(&K, &<K as Kem>::Secret, &[u8], &mut dyn FnMut()) -> Result<SharedSecret, KemError>;

/// HQC, from what is best to what is slowest: each arm, and on the best and the portable one each way to multiply symbols.
pub(crate) fn hqc(level: Level) -> Vec<Entry> {
    match level {
        Level::L1 => hqc_of::<hqc::Level1>(),
        Level::L3 => hqc_of::<hqc::Level3>(),
        Level::L5 => hqc_of::<hqc::Level5>(),
    }
}

fn hqc_of<L: hqc::Level>() -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut arms = best_first(|cpu| Hqc1::with_cpu(cpu).product_arm());
    if arms.iter().all(|(arm, _)| *arm != "portable") {
        arms.push(("portable", Cpu::portable()));
    }
    let products = [
        ("", "in lanes", SymbolProduct::Lanes),
        (
            "+clmul",
            "one by one and a call each, by carry-less multiplication and a reduction in one pass",
            SymbolProduct::Clmul,
        ),
        ("+one-pass", "one by one and a call each, with a reduction in one pass", SymbolProduct::OnePass),
        ("+taps", "one by one and a call each, with a reduction by fixed taps", SymbolProduct::Taps),
        (
            "+loop",
            "one by one and a call each, with round 4's loop over the taps, which the compiler may not unroll",
            SymbolProduct::Loop,
        ),
    ];
    for (place, (arm, cpu)) in arms.iter().enumerate() {
        for (name, what, product) in products {
            let matrix = place == 0 || *arm == "portable" || product == SymbolProduct::Lanes;
            if let Some(kem) = Hqc::<L>::with_cpu(*cpu).with_symbol_product(product).filter(|_| matrix) {
                let what = format!(
                    "products {}, codes and samplers {}; symbols are multiplied {what}",
                    kem.product_arm(),
                    kem.arm()
                );
                let in_steps: InSteps<Hqc<L>> =
                    |kem, with, ciphertext, step| kem.decapsulate_in_steps(with, ciphertext, step);
                entries.push(entry(format!("candor@{arm}{name}"), what, kem, &Hqc::<L>::STEPS, in_steps));
            }
        }
    }
    entries
}

/// Classic McEliece on each arm.
pub(crate) fn mceliece(set: Set) -> Vec<Entry> {
    let one = |(arm, cpu): (&'static str, Cpu)| {
        let name = format!("candor@{arm}");
        of!(set, |S| {
            let in_steps: InSteps<Mceliece<S>> =
                |kem, with, ciphertext, step| kem.decapsulate_in_steps(with, ciphertext, step);
            entry(name, arm.into(), Mceliece::with_cpu(cpu), &Mceliece::<S>::STEPS, in_steps)
        })
    };
    best_first(|cpu| Mceliece348864::with_cpu(cpu).arm()).into_iter().map(one).collect()
}

fn entry<K: DerandomizedKem + Clone + Send + Sync + 'static>(
    name: String,
    arm: String,
    kem: K,
    steps: &'static [&'static str],
    in_steps: InSteps<K>,
) -> Entry {
    Entry::new(name, move || Ok(Ours { kem: kem.clone(), arm: arm.clone(), steps, in_steps, ready: None, next: 0 }))
}

struct Ours<K: DerandomizedKem> {
    kem: K,
    arm: String,
    steps: &'static [&'static str],
    in_steps: InSteps<K>,
    ready: Option<Ready<K>>,
    next: usize,
}

struct Ready<K: DerandomizedKem> {
    secret: K::Secret,
    ciphertexts: Vec<Vec<u8>>,
    answer: Witness,
}

impl<K: DerandomizedKem> Ours<K> {
    fn make_ready(&self, seed: u64) -> Result<Ready<K>, KemError> {
        let mut stream = Stream::new(seed, "decapsulation in steps");
        let mut coins = vec![0; K::GENERATE_COINS.max(K::ENCAPSULATE_COINS)];
        stream.fill(&mut coins[..K::GENERATE_COINS]);
        let (secret, public) = self.kem.generate_from(&coins[..K::GENERATE_COINS])?;
        let (mut ciphertexts, mut answer) = (Vec::new(), Witness::default());
        for i in 0..INPUTS {
            let mut ciphertext = vec![0; K::CIPHERTEXT];
            let coins = &mut coins[..K::ENCAPSULATE_COINS];
            stream.fill(coins);
            self.kem.encapsulate_from(&public, coins, &mut ciphertext)?;
            let shared = (self.in_steps)(&self.kem, &secret, &ciphertext, &mut || ())?;
            answer =
                answer.with(&format!("ciphertext {i}"), &ciphertext).with(&format!("secret {i}"), shared.as_bytes());
            ciphertexts.push(ciphertext);
        }
        Ok(Ready { secret, ciphertexts, answer })
    }

    fn decapsulate(&mut self, step: &mut dyn FnMut()) {
        let Ready { secret, ciphertexts, .. } = self.ready.as_ref().expect("prepare comes before run");
        let shared = (self.in_steps)(&self.kem, black_box(secret), black_box(&ciphertexts[self.next]), step);
        let _ = black_box(shared.expect("the ciphertext has been decapsulated before"));
        self.next = (self.next + 1) % INPUTS;
    }
}

impl<K: DerandomizedKem + 'static> Subject for Ours<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = self.make_ready(seed).map_err(|error| Refusal::failed(error.to_string()))?;
        let answer = ready.answer.clone();
        self.ready = Some(ready);
        Ok(answer)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.ready.as_ref().expect("prepare comes before check").answer.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        (0..iterations).for_each(|_| self.decapsulate(&mut || ()));
    }

    fn phases(&self) -> &'static [&'static str] {
        self.steps
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        self.decapsulate(lap);
    }

    fn provenance(&self) -> Provenance {
        Provenance { arm: Some(self.arm.clone()), ..ours(TIMED) }
    }
}
