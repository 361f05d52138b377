//! INSECURE. The scheme of pq-ntor-experiment ([`candor_peers::insecure_seed`]) on candor's back ends: the baseline of its own tasks, and a
//! row beside the hybrid handshakes.

use candor_lab::{Entry, Provenance};
use candor_peers::contract::ml_kem::Level;
use candor_peers::contract::ntor::{self, Kind};
use candor_peers::insecure_seed::{DIFFERENT, Hash, InsecureSeed};
use candor_peers::linked;
use candor_primitives::hash::{Digest, Sha256};
use candor_primitives::kem::aws_lc;
use digest::{FixedOutput, KeyInit, Update};
use hmac::Hmac;

/// candor's SHA-256 under RustCrypto's HMAC.
#[derive(Clone, Copy, Debug, Default)]
struct OnOurSha256;

impl Hash for OnOurSha256 {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        Sha256::digest(data).into()
    }

    fn hmac(&self, key: &[u8], data: &[u8]) -> [u8; 32] {
        let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
        mac.chain(data).finalize_fixed().into()
    }
}

/// The scheme as a subject, on our back ends: the baseline of its own task.
pub(crate) fn entry(level: Level) -> Entry {
    make(level, on_aws_lc)
}

/// The same as a row in the table of a handshake that authenticates.
pub(crate) fn beside(level: Level) -> Entry {
    make(level, |timed| Provenance { different_operation: Some(DIFFERENT.into()), ..on_aws_lc(timed) })
}

fn make(level: Level, provenance: fn(&str) -> Provenance) -> Entry {
    let kind = Kind::InsecureSeed(level);
    let name = format!("{}@auto", kind.name());
    match level {
        Level::L512 => {
            ntor::entry(name, kind, move || Ok(InsecureSeed::new(aws_lc::MlKem512, OnOurSha256).by(provenance)))
        }
        Level::L768 => {
            ntor::entry(name, kind, move || Ok(InsecureSeed::new(aws_lc::MlKem768, OnOurSha256).by(provenance)))
        }
        Level::L1024 => {
            ntor::entry(name, kind, move || Ok(InsecureSeed::new(aws_lc::MlKem1024, OnOurSha256).by(provenance)))
        }
    }
}

fn on_aws_lc(timed: &str) -> Provenance {
    let (version, checksum) = linked::package("aws-lc-sys");
    Provenance {
        commit: Some(linked::package_id("aws-lc-sys", version, checksum)),
        build: Some(linked::build().to_owned()),
        arm: Some(linked::aws_lc_ml_kem_arm().into()),
        ..Provenance::of(
            "insecure-seed",
            env!("CARGO_PKG_VERSION"),
            &format!("{timed} (the scheme of pq-ntor-experiment with ML-KEM from AWS-LC and candor's SHA-256)"),
        )
    }
}
