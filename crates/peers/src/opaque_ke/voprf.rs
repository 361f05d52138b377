//! `voprf`, the OPRF below opaque-ke, on an older curve25519-dalek.

use crate::contract::BY_SYSTEM_CALL;
use crate::contract::oprf::{self, Failed, Op, Oprf};
use crate::linked;
use crate::list::{Peer, linked_peer};
use ::voprf::{BlindedElement, EvaluationElement, OprfClient, OprfServer, Ristretto255};
use candor_lab::{Entry, Provenance};
use opaque_ke::rand::rngs::OsRng;

const PACKAGE: &str = "voprf";

pub(super) fn peer() -> Peer {
    linked_peer(PACKAGE, "RFC 9497 in Rust, the OPRF below opaque-ke")
}

pub(super) fn oprf(op: Op) -> Entry {
    oprf::entry(linked::subject(PACKAGE), op, || Voprf)
}

struct Voprf;

fn failed(error: ::voprf::Error) -> Failed {
    error.to_string()
}

impl Oprf for Voprf {
    type Client = OprfClient<Ristretto255>;
    type Key = OprfServer<Ristretto255>;

    fn key(&self, bytes: &[u8; 32]) -> Result<Self::Key, Failed> {
        OprfServer::new_with_key(bytes).map_err(failed)
    }

    fn blind(&self, input: &[u8]) -> Result<(Self::Client, [u8; 32]), Failed> {
        let blinded = OprfClient::<Ristretto255>::blind(input, &mut OsRng).map_err(failed)?;
        Ok((blinded.state, blinded.message.serialize().into()))
    }

    fn evaluate(&self, key: &Self::Key, blinded: &[u8; 32]) -> Result<[u8; 32], Failed> {
        let blinded = BlindedElement::deserialize(blinded).map_err(failed)?;
        Ok(key.blind_evaluate(&blinded).serialize().into())
    }

    fn finalize(&self, client: Self::Client, input: &[u8], evaluated: &[u8; 32]) -> Result<[u8; 64], Failed> {
        let evaluated = EvaluationElement::deserialize(evaluated).map_err(failed)?;
        Ok(client.finalize(input, &evaluated).map_err(failed)?.into())
    }

    fn provenance(&self, op: Op) -> Provenance {
        linked::provenance(PACKAGE, op.timed()).telling((op == Op::Blind).then_some(BY_SYSTEM_CALL))
    }
}
