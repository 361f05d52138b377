//! Decapsulation by code-based KEMs step by step: where its time goes on each arm, and, of HQC, with each way to multiply in GF(2⁸).

use super::gf2::best_first;
use super::ours;
use candor_codes::hqc::{self, Hqc, Hqc1, SymbolProduct};
use candor_codes::mceliece::{self, Mceliece, Mceliece348864, ParameterSet};
use candor_cpu::Cpu;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_peers::contract::hqc::Level;
use candor_peers::contract::mceliece::Set;
use candor_peers::seed::Stream;
use candor_primitives::SharedSecret;
use candor_primitives::kem::{DerandomizedKem, KemError};
use std::hint::black_box;

/// What the timed call does.
pub(crate) const TIMED: &str =
    "decapsulates; the key is parsed before; sixteen ciphertexts to one key in turn; the phases are its steps";

/// Ciphertexts that are worked through in turn, so that no branch predictor learns one by heart.
const INPUTS: usize = 16;

/// A KEM that says when a step is done.
trait Stepwise: DerandomizedKem + 'static {
    const STEPS: &'static [&'static str];
    fn in_steps(
        &self,
        with: &Self::Secret,
        ciphertext: &[u8],
        step: &mut dyn FnMut(),
    ) -> Result<SharedSecret, KemError>;
    fn arm(&self) -> String;
}

impl<L: hqc::Level> Stepwise for Hqc<L> {
    const STEPS: &'static [&'static str] = &Hqc::<L>::STEPS;

    fn in_steps(
        &self,
        with: &Self::Secret,
        ciphertext: &[u8],
        step: &mut dyn FnMut(),
    ) -> Result<SharedSecret, KemError> {
        self.decapsulate_in_steps(with, ciphertext, step)
    }

    fn arm(&self) -> String {
        format!("products {}, codes and samplers {}", self.product_arm(), self.arm())
    }
}

impl<S: ParameterSet> Stepwise for Mceliece<S> {
    const STEPS: &'static [&'static str] = &Mceliece::<S>::STEPS;

    fn in_steps(
        &self,
        with: &Self::Secret,
        ciphertext: &[u8],
        step: &mut dyn FnMut(),
    ) -> Result<SharedSecret, KemError> {
        self.decapsulate_in_steps(with, ciphertext, step)
    }

    fn arm(&self) -> String {
        self.arm().into()
    }
}

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
        ("+loop", "one by one and a call each, with round 4's loop over the taps", SymbolProduct::Loop),
    ];
    for (place, (arm, cpu)) in arms.iter().enumerate() {
        for (name, what, product) in products {
            let matrix = place == 0 || *arm == "portable" || product == SymbolProduct::Lanes;
            if let Some(kem) = Hqc::<L>::with_cpu(*cpu).with_symbol_product(product).filter(|_| matrix) {
                entries.push(entry(format!("candor@{arm}{name}"), format!("symbols are multiplied {what}"), kem));
            }
        }
    }
    entries
}

/// Classic McEliece on each arm.
pub(crate) fn mceliece(set: Set) -> Vec<Entry> {
    best_first(|cpu| Mceliece348864::with_cpu(cpu).arm()).into_iter().map(|(arm, cpu)| one(set, arm, cpu)).collect()
}

fn one(set: Set, arm: &str, cpu: Cpu) -> Entry {
    fn of<S: ParameterSet>(arm: &str, cpu: Cpu) -> Entry {
        entry(format!("candor@{arm}"), String::new(), Mceliece::<S>::with_cpu(cpu))
    }
    match set {
        Set::S348864 => of::<mceliece::Set348864>(arm, cpu),
        Set::S348864f => of::<mceliece::Set348864f>(arm, cpu),
        Set::S460896 => of::<mceliece::Set460896>(arm, cpu),
        Set::S460896f => of::<mceliece::Set460896f>(arm, cpu),
        Set::S6688128 => of::<mceliece::Set6688128>(arm, cpu),
        Set::S6688128f => of::<mceliece::Set6688128f>(arm, cpu),
        Set::S6960119 => of::<mceliece::Set6960119>(arm, cpu),
        Set::S6960119f => of::<mceliece::Set6960119f>(arm, cpu),
        Set::S8192128 => of::<mceliece::Set8192128>(arm, cpu),
        Set::S8192128f => of::<mceliece::Set8192128f>(arm, cpu),
    }
}

fn entry<K: Stepwise + Clone + Send + Sync>(name: String, what: String, kem: K) -> Entry {
    Entry::new(name, move || Ok(Ours { kem: kem.clone(), what: what.clone(), ready: None, next: 0 }))
}

struct Ours<K: Stepwise> {
    kem: K,
    what: String,
    ready: Option<Ready<K>>,
    next: usize,
}

struct Ready<K: Stepwise> {
    secret: K::Secret,
    ciphertexts: Vec<Vec<u8>>,
    answer: Witness,
}

impl<K: Stepwise> Ours<K> {
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
            let shared = self.kem.in_steps(&secret, &ciphertext, &mut || ())?;
            answer =
                answer.with(&format!("ciphertext {i}"), &ciphertext).with(&format!("secret {i}"), shared.as_bytes());
            ciphertexts.push(ciphertext);
        }
        Ok(Ready { secret, ciphertexts, answer })
    }

    fn decapsulate(&mut self, step: &mut dyn FnMut()) {
        let Ready { secret, ciphertexts, .. } = self.ready.as_ref().expect("prepare comes before run");
        let shared = self.kem.in_steps(black_box(secret), black_box(&ciphertexts[self.next]), step);
        let _ = black_box(shared.expect("the ciphertext has been decapsulated before"));
        self.next = (self.next + 1) % INPUTS;
    }
}

impl<K: Stepwise> Subject for Ours<K> {
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
        K::STEPS
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        self.decapsulate(lap);
    }

    fn provenance(&self) -> Provenance {
        let arm = [self.kem.arm(), self.what.clone()].join("; ");
        Provenance { arm: Some(arm.trim_end_matches("; ").into()), ..ours(TIMED) }
    }
}
