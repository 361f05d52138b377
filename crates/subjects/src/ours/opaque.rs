//! candor's OPAQUE, each suite on its default back end.

use super::{AUTO, on_aws_lc};
use crate::linked;
use crate::seed::Stream;
use crate::tasks::opaque::{self, CONTEXT, Done, Failed, Keys, Library, Op, PASSWORD, USER};
use candor_lab::{Entry, Provenance};
use candor_opaque::suite::NoKem;
use candor_opaque::{
    Client, ClientLogin, ClientRegistration, CredentialId, Hybrid, HybridCompat, KsfParams, Limits, NoStretching,
    Parties, Password, Record, Rfc9807, Server, ServerLogin, Suite, SuiteId, SystemRandomness,
};
use candor_primitives::kem::aws_lc;
use rand_core::{TryCryptoRng, TryRng, UnwrapErr};
use std::convert::Infallible;

/// AWS-LC's, which draws its own randomness.
type MlKem768 = SystemRandomness<aws_lc::MlKem768>;

/// The suite whose server is asked for users that don't exist.
pub(crate) type HybridOpaque = Ours<Hybrid<MlKem768>>;

pub(crate) fn opaque(suite: opaque::Suite, op: Op) -> Entry {
    match suite {
        opaque::Suite::Rfc9807 => opaque::entry(AUTO, suite, op, rfc9807, rfc9807),
        opaque::Suite::HybridCompat => opaque::entry(AUTO, suite, op, hybrid_compat, hybrid_compat),
        opaque::Suite::Hybrid => opaque::entry(AUTO, suite, op, hybrid_opaque, hybrid_opaque),
    }
}

pub(crate) fn rfc9807(keys: &Keys) -> Result<Ours<Rfc9807>, Failed> {
    Ours::new(Rfc9807, keys)
}

pub(crate) fn hybrid_compat(keys: &Keys) -> Result<Ours<HybridCompat<MlKem768>>, Failed> {
    Ours::new(HybridCompat::default(), keys)
}

pub(crate) fn hybrid_opaque(keys: &Keys) -> Result<HybridOpaque, Failed> {
    Ours::new(Hybrid::default(), keys)
}

/// The upload of a registration that depends on nothing but the seed; it serves all suites.
pub(crate) fn opaque_upload(keys: &Keys, seed: u64) -> Result<Vec<u8>, Failed> {
    let ours = rfc9807(keys)?;
    let mut coins = Coins(Stream::new(seed, "opaque registration"));
    let (client, request) = ours.client.start_registration(&mut coins, &password()?).map_err(failed)?;
    let response = ours.registration_answer(&request)?;
    let registered = client.finish(&mut coins, &response, &KsfParams::Identity, &mut NoStretching, &parties());
    Ok(registered.map_err(failed)?.upload.to_vec())
}

/// One suite.
pub(crate) struct Ours<S: Suite> {
    server: Server<S>,
    client: Client<S>,
}

impl<S: Suite<Static = NoKem>> Ours<S> {
    fn new(suite: S, keys: &Keys) -> Result<Self, Failed> {
        let ksf = KsfParams::Identity;
        let server = Server::from_keys(suite.clone(), ksf, &keys.oprf_seed, &keys.secret).map_err(failed)?;
        Ok(Self { server, client: Client::new(suite).with_limits(Limits::NONE) })
    }
}

fn password() -> Result<Password<'static>, Failed> {
    Password::from_bytes(PASSWORD).map_err(failed)
}

fn id() -> Result<CredentialId, Failed> {
    CredentialId::imported(USER).map_err(failed)
}

fn parties() -> Parties<'static> {
    Parties::new(CONTEXT)
}

fn failed(error: candor_opaque::Error) -> Failed {
    error.to_string()
}

fn rng() -> UnwrapErr<getrandom::SysRng> {
    UnwrapErr(getrandom::SysRng)
}

impl<S: Suite<Static = NoKem> + 'static> Library for Ours<S> {
    type Registering = ClientRegistration;
    type Client = ClientLogin<S>;
    /// With the record, for the account that the login belongs to.
    type Server = (ServerLogin<S>, Option<Record>);

    fn registration_start(&self) -> Result<(ClientRegistration, Vec<u8>), Failed> {
        let (state, request) = self.client.start_registration(&mut rng(), &password()?).map_err(failed)?;
        Ok((state, request.to_vec()))
    }

    fn registration_answer(&self, request: &[u8]) -> Result<Vec<u8>, Failed> {
        // Under the identifier that all libraries share, so that each can take over the account.
        Ok(self.server.register_with_id(id()?, request).map_err(failed)?.response.to_vec())
    }

    fn registration_finish(&self, client: ClientRegistration, response: &[u8]) -> Result<Vec<u8>, Failed> {
        let done = client.finish(&mut rng(), response, &KsfParams::Identity, &mut NoStretching, &parties());
        Ok(done.map_err(failed)?.upload.to_vec())
    }

    fn ke1(&self) -> Result<(ClientLogin<S>, Vec<u8>), Failed> {
        self.client.start_login(&mut rng(), &password()?).map_err(failed)
    }

    fn store(&self, upload: &[u8]) -> Result<Vec<u8>, Failed> {
        let record = Record::from_upload(upload, &KsfParams::Identity, id()?, SuiteId::Rfc9807).map_err(failed)?;
        Ok(record.to_bytes().to_vec())
    }

    fn ke2(&self, record: Option<&[u8]>, ke1: &[u8]) -> Result<(Self::Server, Vec<u8>), Failed> {
        let record = record.map(Record::from_bytes).transpose().map_err(failed)?;
        let answer = self.server.respond(&mut rng(), ke1, USER, record.as_ref(), &parties()).map_err(failed)?;
        Ok(((answer.state, record), answer.ke2))
    }

    fn ke3(&self, client: ClientLogin<S>, ke2: &[u8]) -> Result<Done, Failed> {
        let done = client.finish(ke2, &KsfParams::Identity, &mut NoStretching, &parties()).map_err(failed)?;
        let (session, export) = (done.session_key.as_bytes(), done.export_key.as_bytes());
        Ok(Done { ke3: done.ke3.to_vec(), session_key: *session, export_key: *export })
    }

    fn server_state(&self, (server, _): &Self::Server) -> usize {
        server.to_bytes().len()
    }

    fn save(&self, client: &ClientLogin<S>) -> Result<Vec<u8>, Failed> {
        Ok(client.to_bytes().map_err(failed)?.to_vec())
    }

    fn restore(&self, saved: &[u8]) -> Result<ClientLogin<S>, Failed> {
        self.client.resume_login(saved, &password()?).map_err(failed)
    }

    fn finish(&self, (server, record): Self::Server, ke3: &[u8]) -> Result<[u8; 64], Failed> {
        Ok(*server.finish(ke3, record.as_ref()).map_err(failed)?.session_key.as_bytes())
    }

    fn provenance(&self, timed: &str) -> Provenance {
        opaque_provenance(timed)
    }
}

/// Where all suites come from.
pub(crate) fn opaque_provenance(timed: &str) -> Provenance {
    let (version, checksum) = linked::package("curve25519-dalek");
    let dalek = linked::package_id("curve25519-dalek", version, checksum);
    let mut provenance = on_aws_lc("candor_opaque", timed);
    provenance.commit = provenance.commit.map(|commit| format!("{commit}, {dalek}"));
    provenance.arm = Some("chosen by the back ends at run time: dalek for the curve, AWS-LC for ML-KEM".into());
    provenance
}

/// A seed's bytes where a generator is asked for.
struct Coins(Stream);

impl TryRng for Coins {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.word() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Coins {}
