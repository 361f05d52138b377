//! One subject per operation, generic over the library.

use super::reference::{decapsulate_with, encapsulate_to};
use super::{Failed, KeyPair, Level, MlKem, Op};
use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};
use std::hint::black_box;

/// Distinct ciphertexts that decapsulation works through in turn, so that no branch predictor learns one by heart.
pub(super) const CIPHERTEXTS: usize = 16;

/// The entry of a library for an operation. `make` opens the library, or says why it can't be had.
pub fn entry<K: MlKem>(
    subject: impl Into<String>,
    level: Level,
    op: Op,
    make: impl Fn() -> Result<K, Refusal> + Send + Sync + 'static,
) -> Entry {
    match op {
        Op::Keygen => Entry::new(subject, move || Ok(Keygen { kem: make()?, level, seed: 0, sizes: Vec::new() })),
        Op::Encaps => Entry::new(subject, move || Ok(Encaps { kem: make()?, level, key: None, sizes: Vec::new() })),
        Op::Decaps => Entry::new(subject, move || Ok(Decaps { kem: make()?, level, key: None, next: 0 })),
        Op::Exchange => Entry::new(subject, move || Ok(Exchange { kem: make()?, level, seed: 0, sizes: Vec::new() })),
    }
}

/// Key generation.
struct Keygen<K> {
    kem: K,
    level: Level,
    seed: u64,
    sizes: Vec<Quantity>,
}

impl<K: MlKem> Subject for Keygen<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        let (secret, public) = self.kem.keygen().map_err(Refusal::failed)?;
        let witness = key_pair_witness(&self.kem, self.level, seed, &secret, public.as_ref())?;
        self.sizes = sizes(&witness, &["public key", "secret key"]);
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        check_key_pair(&self.kem, self.level, self.seed, other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(self.kem.keygen().expect("key generation has worked before"));
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.sizes.clone()
    }

    fn provenance(&self) -> Provenance {
        self.kem.provenance(Op::Keygen)
    }
}

/// Encapsulation to one parsed key.
struct Encaps<K: MlKem> {
    kem: K,
    level: Level,
    key: Option<(KeyPair, K::Public)>,
    sizes: Vec<Quantity>,
}

impl<K: MlKem> Subject for Encaps<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let key = KeyPair::new(self.level, seed);
        let public = self.kem.public(&key.public).map_err(Refusal::failed)?;
        let (ciphertext, shared) = self.kem.encaps(&public).map_err(Refusal::failed)?;
        self.key = Some((key, public));
        let witness = Witness::default().with("ciphertext", ciphertext).with("shared secret", shared);
        self.sizes = sizes(&witness, &["ciphertext", "shared secret"]);
        Ok(witness)
    }

    /// Decapsulates the other's ciphertext with this library.
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let (key, _) = self.key.as_ref().ok_or_else(not_prepared)?;
        let secret = self.kem.secret(key).map_err(Mismatch::new)?;
        let shared = self.kem.decaps(&secret, other.part("ciphertext")?).map_err(Mismatch::new)?;
        same_secret(shared.as_ref(), other.part("shared secret")?)
    }

    fn run(&mut self, iterations: u64) {
        let (_, public) = self.key.as_ref().expect("prepare comes before run");
        for _ in 0..iterations {
            black_box(self.kem.encaps(black_box(public)).expect("encapsulation has worked before"));
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.sizes.clone()
    }

    fn provenance(&self) -> Provenance {
        self.kem.provenance(Op::Encaps)
    }
}

/// Decapsulation with one parsed key.
struct Decaps<K: MlKem> {
    kem: K,
    level: Level,
    key: Option<(K::Secret, Vec<Vec<u8>>, Witness)>,
    next: usize,
}

impl<K: MlKem> Subject for Decaps<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let key = KeyPair::new(self.level, seed);
        let secret = self.kem.secret(&key).map_err(Refusal::failed)?;
        let made = key.encapsulations(seed, CIPHERTEXTS);
        let mut witness = Witness::default();
        for (i, made) in made.iter().enumerate() {
            let shared = self.kem.decaps(&secret, &made.ciphertext).map_err(Refusal::failed)?;
            if shared.as_ref() != made.shared {
                return Err(Refusal::failed("decapsulates the reference's ciphertext to a different secret"));
            }
            witness = witness.with(&format!("shared secret {i}"), shared);
        }
        // A ciphertext with one bit wrong: the secret comes from z then, and is as determined as any other (§6.3).
        let mut damaged = made[0].ciphertext.clone();
        damaged[0] ^= 1;
        let rejected = self.kem.decaps(&secret, &damaged).map_err(Refusal::failed)?;
        witness = witness.with("implicit rejection", rejected);

        let ciphertexts = made.into_iter().map(|made| made.ciphertext).collect();
        self.key = Some((secret, ciphertexts, witness.clone()));
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let (.., ours) = self.key.as_ref().ok_or_else(not_prepared)?;
        ours.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let (secret, ciphertexts, _) = self.key.as_ref().expect("prepare comes before run");
        for _ in 0..iterations {
            let ciphertext = black_box(&ciphertexts[self.next]);
            black_box(self.kem.decaps(black_box(secret), ciphertext).expect("decapsulation has worked before"));
            self.next = (self.next + 1) % CIPHERTEXTS;
        }
    }

    fn provenance(&self) -> Provenance {
        self.kem.provenance(Op::Decaps)
    }
}

/// All three in sequence, from bytes to bytes, as two parties would: nothing is parsed before the clock starts.
struct Exchange<K> {
    kem: K,
    level: Level,
    seed: u64,
    sizes: Vec<Quantity>,
}

impl<K: MlKem> Exchange<K> {
    /// One exchange. `lap` is called at the end of each phase, after the phase's garbage is gone.
    #[inline(always)]
    fn exchange(kem: &K, mut lap: impl FnMut()) -> Result<(), Failed> {
        let (secret, encoded) = kem.keygen()?;
        lap();
        let (ciphertext, shared) = {
            let public = kem.public(black_box(encoded.as_ref()))?;
            kem.encaps(&public)?
        };
        black_box(shared.as_ref());
        lap();
        black_box(kem.decaps(&secret, black_box(ciphertext.as_ref()))?.as_ref());
        drop((secret, encoded, ciphertext, shared));
        lap();
        Ok(())
    }
}

impl<K: MlKem> Subject for Exchange<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        let (secret, encoded) = self.kem.keygen().map_err(Refusal::failed)?;
        let public = self.kem.public(encoded.as_ref()).map_err(Refusal::failed)?;
        let (sent, ours) = self.kem.encaps(&public).map_err(Refusal::failed)?;
        let theirs = self.kem.decaps(&secret, sent.as_ref()).map_err(Refusal::failed)?;
        if ours.as_ref() != theirs.as_ref() {
            return Err(Refusal::failed("gives the two sides of one exchange different secrets"));
        }
        let witness = key_pair_witness(&self.kem, self.level, seed, &secret, encoded.as_ref())?;
        let witness = witness.with("ciphertext", sent).with("shared secret", ours);
        self.sizes = sizes(&witness, &["public key", "ciphertext"]);
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        check_key_pair(&self.kem, self.level, self.seed, other)?;
        let Ok(expanded) = other.part("secret key") else { return Ok(()) };
        let shared = decapsulate(&self.kem, self.level, expanded, other.part("ciphertext")?)?;
        same_secret(&shared, other.part("shared secret")?)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            Self::exchange(&self.kem, || ()).expect("the exchange has worked before");
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        &["keygen", "encaps", "decaps"]
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        Self::exchange(&self.kem, lap).expect("the exchange has worked before");
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.sizes.clone()
    }

    fn provenance(&self) -> Provenance {
        self.kem.provenance(Op::Exchange)
    }
}

/// How long these parts of a witness are; a part that the library does not give away has no size.
fn sizes(witness: &Witness, parts: &[&str]) -> Vec<Quantity> {
    parts.iter().filter_map(|name| Some(Quantity::bytes(name, witness.part(name).ok()?))).collect()
}

/// What shows that a fresh key pair is one: its public key, the secret in a ciphertext that the reference made for it, and,
/// where the library gives it away, its secret key.
pub(super) fn key_pair_witness<K: MlKem>(
    kem: &K,
    level: Level,
    seed: u64,
    secret: &K::Secret,
    public: &[u8],
) -> Result<Witness, Refusal> {
    let made = encapsulate_to(level, public, &proof_coins(seed)).map_err(Refusal::failed)?;
    let shared = kem.decaps(secret, &made.ciphertext).map_err(Refusal::failed)?;
    let witness = Witness::default().with("public key", public).with("proof", shared);
    Ok(match kem.export(secret) {
        Some(expanded) => witness.with("secret key", expanded),
        None => witness,
    })
}

/// Checks such a witness: with the reference, then by encapsulating with this library and decapsulating with the secret
/// key, where there is one.
pub(super) fn check_key_pair<K: MlKem>(kem: &K, level: Level, seed: u64, other: &Witness) -> Result<(), Mismatch> {
    let encoded = other.part("public key")?;
    let made = encapsulate_to(level, encoded, &proof_coins(seed)).map_err(Mismatch::new)?;
    same_secret(&made.shared, other.part("proof")?)?;

    let public = kem.public(encoded).map_err(Mismatch::new)?;
    let (ciphertext, shared) = kem.encaps(&public).map_err(Mismatch::new)?;
    let Ok(expanded) = other.part("secret key") else { return Ok(()) };
    same_secret(shared.as_ref(), &decapsulate(kem, level, expanded, ciphertext.as_ref())?)
}

/// Decapsulates with another library's secret key: by this library if it can import one, else by the reference.
pub(super) fn decapsulate<K: MlKem>(
    kem: &K,
    level: Level,
    expanded: &[u8],
    ciphertext: &[u8],
) -> Result<Vec<u8>, Mismatch> {
    match kem.import(expanded) {
        Some(secret) => {
            let shared = secret.and_then(|secret| kem.decaps(&secret, ciphertext)).map_err(Mismatch::new)?;
            Ok(shared.as_ref().to_vec())
        }
        None => decapsulate_with(level, expanded, ciphertext).map_err(Mismatch::new),
    }
}

fn proof_coins(seed: u64) -> [u8; 32] {
    Stream::new(seed, "ml-kem proof of a key pair").array()
}

pub(super) fn same_secret(ours: &[u8], theirs: &[u8]) -> Result<(), Mismatch> {
    if ours == theirs { Ok(()) } else { Err(Mismatch::new("the ciphertext contains a different shared secret")) }
}

fn not_prepared() -> Mismatch {
    Mismatch::new("was checked before it was prepared")
}
