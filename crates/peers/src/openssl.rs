//! OpenSSL, every one that the machine has: loaded at run time, so that two versions stand side by side and no build
//! needs one.
//!
//! Tongsuo is a fork of it with more of China's standards. It has rows in their tasks only: elsewhere it is the OpenSSL that it was forked from.
//!
//! Everything goes through EVP, in the default library context, with algorithms fetched and contexts made before the
//! clock starts. ML-KEM came with 3.5; an older one says so at run time, when it is asked for the algorithm.

#![cfg(feature = "peer-openssl")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

mod aead;
mod api;
mod cipher;
mod ec;
mod hash;
mod key;
mod mac;
mod ml_kem;
mod program;
mod rsa;
mod sm2;
mod x25519;

use crate::contract;
use crate::contract::hash::{Algorithm, Shape};
use crate::list::{Offers, Peer, PeerState};
use crate::shared_object::built::Built;
use crate::shared_object::find;
use api::Api;
use candor_lab::{Entry, Provenance, Refusal, objects};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const OPENSSL: &str = "openssl";
/// How the names of its files begin.
const FILE: &str = "libcrypto";
const WHAT: &str = "the library that most of the world's TLS runs on, loaded at run time";
const WHAT_FORK: &str = "a fork of OpenSSL, loaded at run time";
const HOW: &str = "install it (Debian: apt install libssl3), build the newest with `cargo xtask peers openssl-4`, or name a \
                   directory with a libcrypto.so.* in CANDOR_PEERS";

/// One libcrypto of this machine.
struct Found {
    /// `openssl-3.0.19`; a second copy of the same version is `openssl-3.0.19+2`.
    name: String,
    /// `openssl`, or the name of a fork.
    library: String,
    version: String,
    path: PathBuf,
    /// Its functions, or why it is of no use.
    api: Result<Api, Refusal>,
}

/// All libraries found, looked for once a process. They are never unloaded: OpenSSL leaves exit handlers behind.
fn found() -> &'static [Found] {
    static FOUND: OnceLock<Vec<Found>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let found = name_apart(find::libraries(FILE).into_iter().map(|path| open(&path)).collect());
        found.iter().filter(|found| found.api.is_ok()).for_each(|found| objects::named(&found.path, FILE, &found.name));
        found
    })
}

fn open(path: &Path) -> Found {
    objects::meet(path);
    let (library, version, api) = match Api::load(path) {
        Ok((identity, api)) => (identity.library, identity.version, api.map_err(Refusal::new)),
        Err(reason) => (OPENSSL.into(), String::new(), Err(Refusal::new(reason))),
    };
    let name = if version.is_empty() { library.clone() } else { format!("{library}-{version}") };
    Found { name, library, version, path: path.to_owned(), api }
}

/// Numbers the second and further copies of the same version.
fn name_apart(mut found: Vec<Found>) -> Vec<Found> {
    for i in 1..found.len() {
        let (before, rest) = found.split_at_mut(i);
        let same = before.iter().filter(|other| other.name.split('+').next() == Some(rest[0].name.as_str())).count();
        if same > 0 {
            rest[0].name = format!("{}+{}", rest[0].name, same + 1);
        }
    }
    found
}

/// Every OpenSSL that can be used, by name and path: for a peer that stands on one. None of them is *the* OpenSSL of this machine, so
/// such a peer has a row with each.
#[cfg(feature = "peer-liboqs")]
pub(super) fn usable() -> impl Iterator<Item = (&'static str, &'static Path)> {
    let usable = found().iter().filter(|found| found.api.is_ok() && !found.is_fork());
    usable.map(|found| (found.name.as_str(), found.path.as_path()))
}

/// What openssl offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        peers()
    }

    fn ml_kem(&self, level: contract::ml_kem::Level, op: contract::ml_kem::Op) -> Vec<Entry> {
        ml_kem(level, op)
    }

    fn ml_kem_prepared(&self, level: contract::ml_kem::Level, op: contract::ml_kem::Op) -> Vec<Entry> {
        ml_kem_prepared(level, op)
    }

    fn x25519(&self, op: contract::x25519::Op) -> Vec<Entry> {
        x25519(op)
    }

    fn sm2(&self, op: contract::sm2::Op) -> Vec<Entry> {
        each_and_forks(|found, api| contract::sm2::entry(&found.name, op, move || sm2::OpenSslSm2::new(found, api)))
    }

    fn ec(&self, curve: contract::ec::Curve, op: contract::ec::Op) -> Vec<Entry> {
        each(|found, api| contract::ec::entry(&found.name, curve, op, move || ec::OpenSslEc::new(found, api, curve)))
    }

    fn rsa(&self, size: contract::rsa::Size, op: contract::rsa::Op) -> Vec<Entry> {
        each(|found, api| contract::rsa::entry(&found.name, size, op, move || rsa::OpenSslRsa::new(found, api, size)))
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        hash(algorithm, shape)
    }

    fn file_sha256(&self, bytes: u64) -> Vec<Entry> {
        program::file_sha256(bytes)
    }

    fn cipher(&self, mode: contract::cipher::Mode, op: contract::cipher::Op) -> Vec<Entry> {
        cipher(mode, op)
    }

    fn ciphers(&self, mode: contract::cipher::Mode) -> Vec<(String, Box<dyn contract::cipher::Cipher>)> {
        ciphers(mode)
    }

    fn aead(&self, algorithm: contract::aead::Algorithm, op: contract::aead::Op, bytes: usize) -> Vec<Entry> {
        aead(algorithm, op, bytes)
    }

    fn aeads(&self, algorithm: contract::aead::Algorithm) -> Vec<(String, Box<dyn contract::aead::Aead>)> {
        aeads(algorithm)
    }

    fn hmac(&self, hash: Algorithm, bytes: usize) -> Vec<Entry> {
        hmac(hash, bytes)
    }

    fn hkdf(&self) -> Vec<Entry> {
        hkdf()
    }
}

/// For `candor list peers`.
fn peers() -> Vec<Peer> {
    let peer = |found: &Found| Peer {
        name: found.name.clone(),
        library: found.library.clone(),
        what: if found.is_fork() { WHAT_FORK } else { WHAT },
        state: match &found.api {
            Ok(_) => PeerState::Found { version: found.version.clone(), path: found.path.clone() },
            Err(refusal) => PeerState::Refused { reason: format!("{}: {refusal}", found.path.display()) },
        },
    };
    let missing = || Peer {
        name: OPENSSL.into(),
        library: OPENSSL.into(),
        what: WHAT,
        state: PeerState::Missing { how: HOW.into() },
    };
    if found().is_empty() { vec![missing()] } else { found().iter().map(peer).collect() }
}

fn ml_kem(level: contract::ml_kem::Level, op: contract::ml_kem::Op) -> Vec<Entry> {
    each(|found, api| {
        contract::ml_kem::entry(&found.name, level, op, move || ml_kem::OpenSslKem::new(found, api, level))
    })
}

fn ml_kem_prepared(level: contract::ml_kem::Level, op: contract::ml_kem::Op) -> Vec<Entry> {
    each(|found, api| {
        let make = move || ml_kem::OpenSslKem::new(found, api, level).map(contract::ml_kem::Prepared);
        contract::ml_kem::entry(&found.name, level, op, make)
    })
}

fn x25519(op: contract::x25519::Op) -> Vec<Entry> {
    each(|found, api| contract::x25519::entry(&found.name, op, move || x25519::OpenSslX25519::new(found, api)))
}

fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    each_if(algorithm == Algorithm::Sm3, |found, api| {
        contract::hash::entry(&found.name, shape, move || hash::OpenSslHash::new(found, api, algorithm))
    })
}

fn cipher(mode: contract::cipher::Mode, op: contract::cipher::Op) -> Vec<Entry> {
    each_and_forks(|found, api| {
        contract::cipher::entry(&found.name, mode, op, move || cipher::OpenSslCipher::new(found, api, mode))
    })
}

fn ciphers(mode: contract::cipher::Mode) -> Vec<(String, Box<dyn contract::cipher::Cipher>)> {
    let make = |found: &'static Found| -> Option<(String, Box<dyn contract::cipher::Cipher>)> {
        let made = cipher::OpenSslCipher::new(found, found.api.as_ref().ok()?, mode).ok()?;
        Some((found.name.clone(), Box::new(made)))
    };
    found().iter().filter_map(make).collect()
}

fn aeads(algorithm: contract::aead::Algorithm) -> Vec<(String, Box<dyn contract::aead::Aead>)> {
    let make = |found: &'static Found| -> Option<(String, Box<dyn contract::aead::Aead>)> {
        let made = aead::OpenSslAead::new(found, found.api.as_ref().ok()?, algorithm).ok()?;
        Some((found.name.clone(), Box::new(made)))
    };
    found().iter().filter_map(make).collect()
}

fn aead(algorithm: contract::aead::Algorithm, op: contract::aead::Op, bytes: usize) -> Vec<Entry> {
    use contract::aead::Algorithm;
    each_if(matches!(algorithm, Algorithm::Sm4Gcm | Algorithm::Sm4Ccm), |found, api| {
        let make = move || aead::OpenSslAead::new(found, api, algorithm);
        contract::aead::entry(&found.name, algorithm, op, bytes, make)
    })
}

fn hmac(algorithm: Algorithm, bytes: usize) -> Vec<Entry> {
    each_if(algorithm == Algorithm::Sm3, |found, api| {
        contract::mac::entry(&found.name, bytes, move || mac::OpenSslHmac::new(found, api, algorithm))
    })
}

fn hkdf() -> Vec<Entry> {
    each(|found, api| contract::kdf::entry(&found.name, move || mac::OpenSslHkdf::new(found, api)))
}

/// An entry for every OpenSSL found, a refused one where it is of no use, and one that says how to get it if there is none.
fn each(entry: impl Fn(&'static Found, &'static Api) -> Entry) -> Vec<Entry> {
    each_if(false, entry)
}

/// The same with the forks, for China's standards.
fn each_and_forks(entry: impl Fn(&'static Found, &'static Api) -> Entry) -> Vec<Entry> {
    each_if(true, entry)
}

fn each_if(forks: bool, entry: impl Fn(&'static Found, &'static Api) -> Entry) -> Vec<Entry> {
    let wanted: Vec<&Found> = found().iter().filter(|found| forks || !found.is_fork()).collect();
    if wanted.is_empty() {
        return vec![Entry::refused(OPENSSL, Refusal::new(format!("is not on this machine: {HOW}")))];
    }
    let entries = wanted.into_iter().map(|found| match &found.api {
        Ok(api) => entry(found, api),
        Err(refusal) => Entry::refused(&found.name, refusal.clone()),
    });
    entries.collect()
}

impl Found {
    fn is_fork(&self) -> bool {
        self.library != OPENSSL
    }

    /// What a subject of this library says about itself. `provider` is the one that serves the algorithm.
    fn provenance(&self, api: &Api, timed: &str, provider: &str) -> Provenance {
        let mask = std::env::var("OPENSSL_ia32cap").or_else(|_| std::env::var("OPENSSL_armcap")).ok();
        let not_at_its_best = mask.map(|mask| format!("the environment masks CPU features ({mask})"));
        Provenance {
            commit: Built::beside(&self.path).and_then(|built| built.field("commit").map(str::to_owned)),
            build: Some(api.build_line()),
            // The library tells which instructions it sees, and picks by that.
            arm: api.cpu_line(),
            not_at_its_best,
            object_sha256: objects::sha256(&self.path),
            ..Provenance::of(
                &self.library,
                &self.version,
                &format!("{timed} (EVP, provider {provider}, {})", find::shown(&self.path)),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Found {
        Found {
            name: name.into(),
            library: OPENSSL.into(),
            version: String::new(),
            path: PathBuf::new(),
            api: Err(Refusal::new("a test")),
        }
    }

    #[test]
    fn copies_of_one_version_get_numbers() {
        let found = name_apart(["openssl-3.0.1", "openssl-3.5.0", "openssl-3.0.1", "openssl-3.0.1"].map(named).into());
        let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["openssl-3.0.1", "openssl-3.5.0", "openssl-3.0.1+2", "openssl-3.0.1+3"]);
    }

    #[test]
    fn names_hold_the_version_that_the_library_tells() {
        for found in found().iter().filter(|found| found.api.is_ok()) {
            assert!(found.version.split('.').count() >= 3, "{}", found.version);
            assert!(found.name.starts_with(&format!("{}-{}", found.library, found.version)));
        }
    }
}
