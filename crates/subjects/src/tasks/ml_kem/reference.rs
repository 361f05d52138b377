//! The same key pair and ciphertexts for everyone, derived from the seed.
//!
//! The deriving is done by our back end on RustCrypto's `ml-kem`, the neutral party of the witnesses: it is never timed
//! here, and where two libraries disagree, it is what both are checked against.

use super::{Failed, Level};
use crate::seed::Stream;
use candor_primitives::kem::rustcrypto::{MlKem512, MlKem768, MlKem1024};
use candor_primitives::kem::{DerandomizedKem, KemError};

/// A key pair derived from a seed, in all the forms that libraries take.
pub(crate) struct KeyPair {
    level: Level,
    /// d ‖ z of FIPS 203 §7.1.
    pub(crate) coins: [u8; 64],
    /// The encapsulation key.
    pub(crate) public: Vec<u8>,
    /// The decapsulation key, expanded.
    pub(crate) secret: Vec<u8>,
}

/// A ciphertext and the secret it carries.
pub(crate) struct Encapsulation {
    pub(crate) ciphertext: Vec<u8>,
    pub(crate) shared: Vec<u8>,
}

/// Calls `$function` with the back end of `$level`.
macro_rules! at {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level {
            Level::L512 => $function(MlKem512, $($argument),*),
            Level::L768 => $function(MlKem768, $($argument),*),
            Level::L1024 => $function(MlKem1024, $($argument),*),
        }
    };
}

impl KeyPair {
    /// The key pair of `seed`.
    pub(crate) fn new(level: Level, seed: u64) -> Self {
        let coins = Stream::new(seed, "ml-kem key pair").array();
        let (public, secret) = at!(level, key_pair(&coins)).expect("all coins give a key pair");
        Self { level, coins, public, secret }
    }

    /// `count` encapsulations to this key, with coins from `seed`.
    pub(crate) fn encapsulations(&self, seed: u64, count: usize) -> Vec<Encapsulation> {
        let mut coins = Stream::new(seed, "ml-kem encapsulations");
        let encapsulate = |_| encapsulate_to(self.level, &self.public, &coins.array());
        (0..count).map(encapsulate).map(|made| made.expect("a key made here parses here")).collect()
    }
}

/// The encapsulation to `public` that belongs to `coins`.
pub(super) fn encapsulate_to(level: Level, public: &[u8], coins: &[u8; 32]) -> Result<Encapsulation, Failed> {
    at!(level, encapsulate(public, coins)).map_err(|_| "the public key does not parse")
}

/// The secret in `ciphertext`, with a decapsulation key in expanded form.
pub(crate) fn decapsulate_with(level: Level, expanded: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Failed> {
    at!(level, decapsulate(expanded, ciphertext)).map_err(|_| "the secret key or the ciphertext does not parse")
}

fn key_pair<K: DerandomizedKem>(kem: K, coins: &[u8]) -> Result<(Vec<u8>, Vec<u8>), KemError> {
    let (secret, public) = kem.generate_from(coins)?;
    let mut encoded = vec![0; K::PUBLIC];
    kem.public_to_bytes(&public, &mut encoded)?;
    Ok((encoded, kem.secret_to_bytes(&secret)?.to_vec()))
}

fn encapsulate<K: DerandomizedKem>(kem: K, public: &[u8], coins: &[u8]) -> Result<Encapsulation, KemError> {
    let mut ciphertext = vec![0; K::CIPHERTEXT];
    let shared = kem.encapsulate_from(&kem.public_from_bytes(public)?, coins, &mut ciphertext)?;
    Ok(Encapsulation { ciphertext, shared: shared.as_bytes().to_vec() })
}

fn decapsulate<K: DerandomizedKem>(kem: K, expanded: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, KemError> {
    let shared = kem.decapsulate(&kem.secret_from_bytes(expanded)?, ciphertext)?;
    Ok(shared.as_bytes().to_vec())
}
