//! ML-KEM by EVP_PKEY, from OpenSSL 3.5 on. Whether it is there is asked of the library, not read off its version.
//!
//! Tried against 3.5.5 and 4.0.3, built from source and named in `CANDOR_PEERS`; 3.0.19 refuses. The tests do as much as the
//! machine's libraries allow.

use super::Found;
use super::api::{Api, DEFAULT};
use super::key::{Context, Key, SHARED};
use crate::contract::ml_kem::{Failed, Level, MlKem, Op};
use candor_lab::{Habit, Provenance, Refusal};
use std::ffi::CStr;
use std::ptr;

/// ML-KEM of one library, at one parameter set.
pub(super) struct OpenSslKem {
    found: &'static Found,
    api: &'static Api,
    level: Level,
    generator: Context,
    provider: String,
}

impl OpenSslKem {
    pub(super) fn new(found: &'static Found, api: &'static Api, level: Level) -> Result<Self, Refusal> {
        // SAFETY: a name that ends in zero; no properties.
        let kem = unsafe { (api.EVP_KEM_fetch)(DEFAULT, name(level).as_ptr(), ptr::null()) };
        if kem.is_null() {
            return Err(missing(&found.version));
        }
        // SAFETY: just fetched, not null, and freed once.
        let provider = unsafe {
            let provider = api.provider_name((api.EVP_KEM_get0_provider)(kem));
            (api.EVP_KEM_free)(kem);
            provider
        };
        let generator = Context::generator(api, name(level)).map_err(Refusal::failed)?;
        Ok(Self { found, api, level, generator, provider })
    }
}

/// Why there is no ML-KEM: too old, or built or configured without.
fn missing(version: &str) -> Refusal {
    let mut numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match version < (3, 5) {
        true => Refusal::never("has no ML-KEM (needs 3.5)"),
        false => Refusal::new("has no ML-KEM (its providers here don't offer it)"),
    }
}

fn name(level: Level) -> &'static CStr {
    match level {
        Level::L512 => c"ML-KEM-512",
        Level::L768 => c"ML-KEM-768",
        Level::L1024 => c"ML-KEM-1024",
    }
}

/// A decapsulation key.
pub(super) enum Secret {
    /// As key generation leaves it.
    Fresh(Key),
    /// With a context for decapsulation, which holds the key.
    Ready(Context, Key),
}

/// A ciphertext of one of the three lengths. Boxing would add an allocation to every call.
#[allow(clippy::large_enum_variant)]
pub(super) enum Ciphertext {
    L512([u8; 768]),
    L768([u8; 1088]),
    L1024([u8; 1568]),
}

impl AsRef<[u8]> for Ciphertext {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::L512(bytes) => bytes,
            Self::L768(bytes) => bytes,
            Self::L1024(bytes) => bytes,
        }
    }
}

/// A public key's bytes, of which the first are used.
pub(super) struct Encoded([u8; 1568], usize);

impl AsRef<[u8]> for Encoded {
    fn as_ref(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

impl MlKem for OpenSslKem {
    type Secret = Secret;
    type Public = Context;
    type Encoded = Encoded;
    type Ciphertext = Ciphertext;
    type Shared = [u8; SHARED];

    fn keygen(&self) -> Result<(Secret, Encoded), Failed> {
        let key = self.generator.generate()?;
        let length = match self.level {
            Level::L512 => 800,
            Level::L768 => 1184,
            Level::L1024 => 1568,
        };
        let mut encoded = Encoded([0; 1568], length);
        key.write_public(&mut encoded.0[..length])?;
        Ok((Secret::Fresh(key), encoded))
    }

    fn public(&self, encoded: &[u8]) -> Result<Context, Failed> {
        Key::public(self.api, name(self.level), encoded)?.context()?.ready_to_encapsulate()
    }

    fn encaps(&self, to: &Context) -> Result<(Ciphertext, [u8; SHARED]), Failed> {
        match self.level {
            Level::L512 => to.encapsulate().map(|(ciphertext, shared)| (Ciphertext::L512(ciphertext), shared)),
            Level::L768 => to.encapsulate().map(|(ciphertext, shared)| (Ciphertext::L768(ciphertext), shared)),
            Level::L1024 => to.encapsulate().map(|(ciphertext, shared)| (Ciphertext::L1024(ciphertext), shared)),
        }
    }

    fn decaps(&self, with: &Secret, ciphertext: &[u8]) -> Result<[u8; SHARED], Failed> {
        match with {
            Secret::Ready(context, _) => context.decapsulate(ciphertext),
            Secret::Fresh(key) => key.context()?.ready_to_decapsulate()?.decapsulate(ciphertext),
        }
    }

    fn import(&self, expanded: &[u8]) -> Option<Result<Secret, Failed>> {
        let ready = |key: Key| Ok(Secret::Ready(key.context()?.ready_to_decapsulate()?, key));
        Some(Key::private(self.api, name(self.level), expanded).and_then(ready))
    }

    fn export(&self, secret: &Secret) -> Option<Vec<u8>> {
        let (Secret::Fresh(key) | Secret::Ready(_, key)) = secret;
        key.private_bytes()
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Keygen | Op::Encaps | Op::Decaps => "context readied before",
            Op::Exchange => "context for key generation readied before",
        };
        let habit = match op {
            Op::Keygen => None,
            Op::Encaps | Op::Decaps => {
                Some((Habit::KeepsTables, "the expanded matrix and the key's hash are kept with the parsed key"))
            }
            Op::Exchange => Some((Habit::Allocates, "the call allocates contexts for the two keys")),
        };
        let told = self.found.provenance(self.api, &format!("{}; {how}", op.timed()), &self.provider);
        let mut provenance = told.telling(habit);
        if matches!(op, Op::Encaps | Op::Decaps) {
            provenance.different_operation = Some(
                "the parsed key already holds the expanded matrix and the key's hash, which libraries that keep bytes \
                 compute in the timed call; …/exchange has it inside for all"
                    .into(),
            );
        }
        provenance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_openssl_is_told_from_one_without_the_algorithm() {
        assert_eq!(missing("3.0.19").to_string(), "has no ML-KEM (needs 3.5)");
        assert_eq!(missing("3.4.0-dev").to_string(), "has no ML-KEM (needs 3.5)");
        assert_eq!(missing("3.5.5").to_string(), "has no ML-KEM (its providers here don't offer it)");
        assert_eq!(missing("4.0.3").to_string(), "has no ML-KEM (its providers here don't offer it)");
    }
}
