//! candor's OPRF.

use super::{AUTO, opaque_provenance};
use candor_lab::{Entry, Provenance};
use candor_opaque::oprf::{Blinded, Key};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::oprf::{self, Failed, Op, Oprf};
use rand_core::UnwrapErr;

pub(crate) fn oprf(op: Op) -> Entry {
    oprf::entry(AUTO, op, || Ours)
}

struct Ours;

fn failed(error: candor_opaque::Error) -> Failed {
    error.to_string()
}

impl Oprf for Ours {
    type Client = Blinded;
    type Key = Key;

    fn key(&self, bytes: &[u8; 32]) -> Result<Key, Failed> {
        Key::from_bytes(bytes).map_err(failed)
    }

    fn blind(&self, input: &[u8]) -> Result<(Blinded, [u8; 32]), Failed> {
        Blinded::new(&mut UnwrapErr(getrandom::SysRng), input).map_err(failed)
    }

    fn evaluate(&self, key: &Key, blinded: &[u8; 32]) -> Result<[u8; 32], Failed> {
        key.evaluate(blinded).map_err(failed)
    }

    fn finalize(&self, client: Blinded, _: &[u8], evaluated: &[u8; 32]) -> Result<[u8; 64], Failed> {
        Ok(*client.finalize(evaluated).map_err(failed)?)
    }

    fn provenance(&self, op: Op) -> Provenance {
        opaque_provenance(op.timed()).telling((op == Op::Blind).then_some(BY_SYSTEM_CALL))
    }
}
