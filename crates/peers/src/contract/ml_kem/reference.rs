//! The same key pair and ciphertexts for everyone, derived from the seed.
//!
//! RustCrypto's `ml-kem` derives them: the neutral party of the witnesses, called as it is and not through candor's traits. It is never
//! timed here, and where two libraries disagree, it is what both are checked against.

use super::{Failed, Level};
use crate::seed::Stream;
#[allow(deprecated)] // The crate prefers seeds; most libraries take the expanded form only.
use ml_kem::ExpandedKeyEncoding;
use ml_kem::{Decapsulate, DecapsulationKey, EncapsulationKey, KeyExport, MlKem512, MlKem768, MlKem1024, Seed};

/// A key pair derived from a seed, in all the forms that libraries take.
pub struct KeyPair {
    level: Level,
    /// d ‖ z of FIPS 203 §7.1.
    pub coins: [u8; 64],
    /// The encapsulation key.
    pub public: Vec<u8>,
    /// The decapsulation key, expanded.
    pub secret: Vec<u8>,
}

/// A ciphertext and the secret it carries.
pub(in crate::contract) struct Encapsulation {
    pub(in crate::contract) ciphertext: Vec<u8>,
    pub(in crate::contract) shared: Vec<u8>,
}

/// `$value`, where `$set` is the parameter set of `$level`.
macro_rules! at {
    ($level:expr, |$set:ident| $value:expr) => {
        match $level {
            Level::L512 => at!($set = MlKem512, $value),
            Level::L768 => at!($set = MlKem768, $value),
            Level::L1024 => at!($set = MlKem1024, $value),
        }
    };
    ($set:ident = $parameters:ident, $value:expr) => {{
        type $set = $parameters;
        $value
    }};
}

impl KeyPair {
    /// The key pair of `seed`.
    #[must_use]
    pub fn new(level: Level, seed: u64) -> Self {
        Self::from_coins(level, Stream::new(seed, "ml-kem key pair").array())
    }

    /// The key pair of d ‖ z.
    #[allow(deprecated)] // as above
    pub(in crate::contract) fn from_coins(level: Level, coins: [u8; 64]) -> Self {
        let (public, secret) = at!(level, |Set| {
            let secret = DecapsulationKey::<Set>::from_seed(Seed::from(coins));
            (secret.encapsulation_key().to_bytes().to_vec(), secret.to_expanded_bytes().to_vec())
        });
        Self { level, coins, public, secret }
    }

    /// Its parameter set.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// `count` encapsulations to this key, with coins from `seed`.
    pub(super) fn encapsulations(&self, seed: u64, count: usize) -> Vec<Encapsulation> {
        let mut coins = Stream::new(seed, "ml-kem encapsulations");
        let encapsulate = |_| encapsulate_to(self.level, &self.public, &coins.array());
        (0..count).map(encapsulate).map(|made| made.expect("a key made here parses here")).collect()
    }
}

/// The encapsulation to `public` that belongs to `coins`.
pub(in crate::contract) fn encapsulate_to(
    level: Level,
    public: &[u8],
    coins: &[u8; 32],
) -> Result<Encapsulation, Failed> {
    const REFUSED: &str = "the public key does not parse";
    at!(level, |Set| {
        let key = EncapsulationKey::<Set>::new(public.try_into().map_err(|_| REFUSED)?).map_err(|_| REFUSED)?;
        let (ciphertext, shared) = key.encapsulate_deterministic(&(*coins).into());
        Ok(Encapsulation { ciphertext: ciphertext.to_vec(), shared: shared.to_vec() })
    })
}

/// The secret in `ciphertext`, with a decapsulation key in expanded form.
#[allow(deprecated)] // as above
pub(in crate::contract) fn decapsulate_with(
    level: Level,
    expanded: &[u8],
    ciphertext: &[u8],
) -> Result<Vec<u8>, Failed> {
    const SECRET: &str = "the secret key does not parse";
    at!(level, |Set| {
        let key = DecapsulationKey::<Set>::from_expanded(expanded.try_into().map_err(|_| SECRET)?);
        let ciphertext = ciphertext.try_into().map_err(|_| "the ciphertext has another length")?;
        Ok(key.map_err(|_| SECRET)?.decapsulate(ciphertext).to_vec())
    })
}
