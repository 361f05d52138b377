//! opaque-ke, Meta's OPAQUE in Rust: as published, and with its KEM taken from AWS-LC. candor has a KEM of its own there, with arms up to AVX-512.

#![cfg(feature = "peer-opaque-ke")]

use crate::contract::opaque::parts::{self, Ristretto};
use crate::contract::opaque::{self, CONTEXT, Done, Failed, Keys, Library, Op, PASSWORD, Reference, Suite, USER};
use crate::contract::{self, BY_SYSTEM_CALL};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance};
use opaque_ke::key_exchange::group::Group;
use opaque_ke::key_exchange::tripledh::DiffieHellman;
use opaque_ke::rand::rngs::OsRng;
use opaque_ke::{
    CipherSuite, ClientLogin, ClientLoginFinishParameters, ClientRegistration, ClientRegistrationFinishParameters,
    CredentialFinalization, CredentialRequest, CredentialResponse, Identifiers, RegistrationRequest,
    RegistrationResponse, RegistrationUpload, Ristretto255, ServerLogin, ServerLoginParameters, ServerRegistration,
    ServerSetup, TripleDh, TripleDhKem, ksf,
};
use sha2_0_10::Sha512;

#[cfg(feature = "peer-aws-lc")]
mod fast_kem;
mod voprf;

const PACKAGE: &str = "opaque-ke";

/// What opaque_ke offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "OPAQUE by Meta, the reference crate"), voprf::peer()]
    }

    fn oprf(&self, op: contract::oprf::Op) -> Vec<Entry> {
        vec![voprf::oprf(op)]
    }

    fn ristretto(&self, op: parts::Op) -> Vec<Entry> {
        vec![ristretto(op)]
    }

    fn opaque(&self, suite: Suite, op: Op, reference: &'static dyn Reference) -> Vec<Entry> {
        opaque(suite, op, reference)
    }
}

/// How its protocol differs from candor's suite `hybrid`.
const WEAKER: &str = "the protocol of opaque-ke's TripleDhKem (`hybrid-compat`), which does not encrypt the credential response under the KEM's secret";

fn opaque(suite: Suite, op: Op, reference: &'static dyn Reference) -> Vec<Entry> {
    let name = linked::subject(PACKAGE);
    // Its wire format is that of `hybrid-compat`; beside `hybrid` it is what a user would take instead.
    let compat = Suite::HybridCompat;
    let entries = match suite {
        Suite::Rfc9807 => vec![opaque::entry(name, (suite, suite), op, Theirs::<Plain>::open, reference)],
        Suite::HybridCompat | Suite::Hybrid => vec![
            #[cfg(feature = "peer-aws-lc")]
            opaque::entry(format!("{name}+fast-kem"), (suite, compat), op, Theirs::<Fast>::open, reference),
            opaque::entry(name, (suite, compat), op, Theirs::<WithKem>::open, reference),
        ],
    };
    match suite {
        Suite::Rfc9807 | Suite::HybridCompat => entries,
        Suite::Hybrid => entries.into_iter().map(|entry| entry.doing_other_work(WEAKER)).collect(),
    }
}

/// The group below its key exchange, through its public trait.
fn ristretto(op: parts::Op) -> Entry {
    parts::entry(linked::subject(PACKAGE), op, || Ok(TheirGroup))
}

struct TheirGroup;

type Public = <Ristretto255 as Group>::Pk;

fn decode(public: &[u8; 32]) -> Result<Public, Failed> {
    Ristretto255::deserialize_take_pk(&mut &public[..]).map_err(failed)
}

impl Ristretto for TheirGroup {
    type Secret = <Ristretto255 as Group>::Sk;

    fn keypair(&self) -> Result<(Self::Secret, [u8; 32]), Failed> {
        let secret = Ristretto255::random_sk(&mut OsRng);
        let public = Ristretto255::public_key(&secret);
        Ok((secret, Ristretto255::serialize_pk(&public).into()))
    }

    fn secret(&self, bytes: &[u8; 32]) -> Result<Self::Secret, Failed> {
        Ristretto255::deserialize_take_sk(&mut &bytes[..]).map_err(failed)
    }

    fn dh(&self, secret: &Self::Secret, public: &[u8; 32]) -> Result<[u8; 32], Failed> {
        Ok(secret.diffie_hellman(&decode(public)?).into())
    }

    fn triple_dh(
        &self,
        [ephemeral, long_term]: [&Self::Secret; 2],
        [share, key]: [&[u8; 32]; 2],
    ) -> Result<[[u8; 32]; 3], Failed> {
        let (share, key) = (decode(share)?, decode(key)?);
        let secrets = [(ephemeral, &share), (ephemeral, &key), (long_term, &share)];
        Ok(secrets.map(|(secret, public)| secret.diffie_hellman(public).into()))
    }

    fn provenance(&self, op: parts::Op) -> Provenance {
        let timed = format!("{} (its traits Group and DiffieHellman for Ristretto255)", op.timed());
        linked::provenance(PACKAGE, timed).telling((op == parts::Op::KeyPair).then_some(BY_SYSTEM_CALL))
    }
}

/// What differs between the suites.
trait Named: CipherSuite {
    const WHAT: &'static str;
}

struct Plain;

impl CipherSuite for Plain {
    type OprfCs = Ristretto255;
    type KeyExchange = TripleDh<Ristretto255, Sha512>;
    type Ksf = ksf::Identity;
}

impl Named for Plain {
    const WHAT: &'static str = "TripleDh<Ristretto255, Sha512>";
}

struct WithKem;

impl CipherSuite for WithKem {
    type OprfCs = Ristretto255;
    type KeyExchange = TripleDhKem<Ristretto255, Sha512, ml_kem::MlKem768>;
    type Ksf = ksf::Identity;
}

impl Named for WithKem {
    const WHAT: &'static str = "TripleDhKem<Ristretto255, Sha512, MlKem768> with crate ml-kem";
}

#[cfg(feature = "peer-aws-lc")]
struct Fast;

#[cfg(feature = "peer-aws-lc")]
impl CipherSuite for Fast {
    type OprfCs = Ristretto255;
    type KeyExchange = TripleDhKem<Ristretto255, Sha512, fast_kem::AwsLc>;
    type Ksf = ksf::Identity;
}

#[cfg(feature = "peer-aws-lc")]
impl Named for Fast {
    const WHAT: &'static str =
        "TripleDhKem<Ristretto255, Sha512, …> with ML-KEM-768 of AWS-LC, put in by us through its public trait";
}

/// A server of one suite.
struct Theirs<C: CipherSuite> {
    setup: ServerSetup<C>,
}

fn failed(error: impl std::fmt::Display) -> Failed {
    error.to_string()
}

fn parameters() -> ServerLoginParameters<'static, 'static> {
    ServerLoginParameters { context: Some(CONTEXT), identifiers: Identifiers::default() }
}

macro_rules! library {
    ($suite:ty) => {
        impl Theirs<$suite> {
            /// From the keys as `ServerSetup::serialize` has them: OPRF seed, secret key, and a key for unknown users' records.
            fn open(keys: &Keys) -> Result<Self, Failed> {
                let made_up = ServerSetup::<$suite>::new(&mut OsRng).serialize()[96..].to_vec();
                let setup = ServerSetup::deserialize(&[&keys.oprf_seed[..], &keys.secret, &made_up].concat());
                Ok(Self { setup: setup.map_err(failed)? })
            }
        }

        impl Library for Theirs<$suite> {
            type Registering = ClientRegistration<$suite>;
            type Client = ClientLogin<$suite>;
            type Server = ServerLogin<$suite>;

            fn registration_start(&self) -> Result<(Self::Registering, Vec<u8>), Failed> {
                let started = ClientRegistration::start(&mut OsRng, PASSWORD).map_err(failed)?;
                Ok((started.state, started.message.serialize().to_vec()))
            }

            fn registration_answer(&self, request: &[u8]) -> Result<Vec<u8>, Failed> {
                let request = RegistrationRequest::deserialize(request).map_err(failed)?;
                let started = ServerRegistration::start(&self.setup, request, USER).map_err(failed)?;
                Ok(started.message.serialize().to_vec())
            }

            fn registration_finish(&self, client: Self::Registering, response: &[u8]) -> Result<Vec<u8>, Failed> {
                let response = RegistrationResponse::deserialize(response).map_err(failed)?;
                let parameters = ClientRegistrationFinishParameters::default();
                let done = client.finish(&mut OsRng, PASSWORD, response, parameters).map_err(failed)?;
                Ok(done.message.serialize().to_vec())
            }

            fn store(&self, upload: &[u8]) -> Result<Vec<u8>, Failed> {
                let upload = RegistrationUpload::<$suite>::deserialize(upload).map_err(failed)?;
                Ok(ServerRegistration::finish(upload).serialize().to_vec())
            }

            fn ke1(&self) -> Result<(Self::Client, Vec<u8>), Failed> {
                let started = ClientLogin::start(&mut OsRng, PASSWORD).map_err(failed)?;
                Ok((started.state, started.message.serialize().to_vec()))
            }

            fn ke2(&self, record: Option<&[u8]>, ke1: &[u8]) -> Result<(Self::Server, Vec<u8>), Failed> {
                let record = record.map(ServerRegistration::deserialize).transpose().map_err(failed)?;
                let ke1 = CredentialRequest::deserialize(ke1).map_err(failed)?;
                let started = ServerLogin::start(&mut OsRng, &self.setup, record, ke1, USER, parameters());
                let started = started.map_err(failed)?;
                Ok((started.state, started.message.serialize().to_vec()))
            }

            fn ke3(&self, client: Self::Client, ke2: &[u8]) -> Result<Done, Failed> {
                let ke2 = CredentialResponse::deserialize(ke2).map_err(failed)?;
                let parameters = ClientLoginFinishParameters::new(Some(CONTEXT), Identifiers::default(), None);
                let done = client.finish(&mut OsRng, PASSWORD, ke2, parameters).map_err(failed)?;
                Ok(Done {
                    ke3: done.message.serialize().to_vec(),
                    session_key: done.session_key.into(),
                    export_key: done.export_key.into(),
                })
            }

            fn server_state(&self, server: &Self::Server) -> usize {
                server.serialize().len()
            }

            fn save(&self, client: &Self::Client) -> Result<Vec<u8>, Failed> {
                Ok(client.serialize().to_vec())
            }

            fn restore(&self, saved: &[u8]) -> Result<Self::Client, Failed> {
                ClientLogin::deserialize(saved).map_err(failed)
            }

            fn finish(&self, server: Self::Server, ke3: &[u8]) -> Result<[u8; 64], Failed> {
                let ke3 = CredentialFinalization::deserialize(ke3).map_err(failed)?;
                Ok(server.finish(ke3, parameters()).map_err(failed)?.session_key.into())
            }

            fn provenance(&self, op: Op) -> Provenance {
                let what = <$suite as Named>::WHAT;
                linked::provenance(PACKAGE, format!("{} ({what})", op.timed())).telling(op.by_system_call())
            }
        }
    };
}

library!(Plain);
library!(WithKem);
#[cfg(feature = "peer-aws-lc")]
library!(Fast);
