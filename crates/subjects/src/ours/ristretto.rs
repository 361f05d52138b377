//! candor's key exchange, operation by operation.

use super::{AUTO, opaque_provenance};
use crate::tasks::opaque::Failed;
use crate::tasks::opaque::parts::{self, Op, Ristretto};
use candor_lab::{Entry, Provenance};
use candor_opaque::parts::{PrivateKey, triple_dh};
use rand_core::UnwrapErr;

pub(crate) fn ristretto(op: Op) -> Entry {
    parts::entry(AUTO, op, || Ok(Ours))
}

struct Ours;

fn failed(error: candor_opaque::Error) -> Failed {
    error.to_string()
}

impl Ristretto for Ours {
    type Secret = PrivateKey;

    fn keypair(&self) -> Result<(PrivateKey, [u8; 32]), Failed> {
        Ok(PrivateKey::generate(&mut UnwrapErr(getrandom::SysRng)))
    }

    fn secret(&self, bytes: &[u8; 32]) -> Result<PrivateKey, Failed> {
        PrivateKey::from_bytes(bytes).map_err(failed)
    }

    fn dh(&self, secret: &PrivateKey, public: &[u8; 32]) -> Result<[u8; 32], Failed> {
        Ok(*secret.agree(public).map_err(failed)?)
    }

    fn triple_dh(
        &self,
        [ephemeral, long_term]: [&PrivateKey; 2],
        [share, key]: [&[u8; 32]; 2],
    ) -> Result<[[u8; 32]; 3], Failed> {
        Ok(*triple_dh(ephemeral, long_term, share, key).map_err(failed)?)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        opaque_provenance(&format!("{timed}; three products are encoded in one batch"))
    }
}
