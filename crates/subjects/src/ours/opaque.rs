//! candor's OPAQUE, each suite on its default back end.

use super::{AUTO, ours};
use candor_lab::{Entry, Provenance};
use candor_opaque::suite::NoKem;
use candor_opaque::{
    Client, ClientLogin, ClientRegistration, CredentialId, Hybrid, HybridCompat, KsfParams, Limits, LoginStart,
    NoStretching, Parties, Password, Record, Rfc9807, Server, ServerLogin, Suite, SuiteId,
};
use candor_peers::contract::opaque::{
    self, AnyLibrary, CONTEXT, Done, Failed, Keys, Library, Op, PASSWORD, Reference, USER,
};
use candor_peers::linked;
use candor_peers::seed::Stream;
use candor_primitives::kem::ml_kem::MlKem768;
use rand_core::UnwrapErr;

/// The suite whose server is asked for users that don't exist.
pub(crate) type HybridOpaque = Ours<Hybrid<MlKem768>>;

/// What it answers a login with.
pub(crate) type HybridAnswer = AnswerOf<Hybrid<MlKem768>>;

/// Our suite in its own tasks.
pub(crate) fn opaque(suite: opaque::Suite, op: Op) -> Entry {
    let suites = (suite, suite);
    match suite {
        opaque::Suite::Rfc9807 => opaque::entry(AUTO, suites, op, rfc9807, &REFERENCE),
        opaque::Suite::HybridCompat => opaque::entry(AUTO, suites, op, hybrid_compat, &REFERENCE),
        opaque::Suite::Hybrid => opaque::entry(AUTO, suites, op, hybrid_opaque, &REFERENCE),
    }
}

/// Our suites, for everybody to log in to before the clock is read.
pub(crate) static REFERENCE: Ourselves = Ourselves;

/// See [`REFERENCE`].
pub(crate) struct Ourselves;

impl Reference for Ourselves {
    fn open(&self, suite: opaque::Suite, keys: &Keys) -> Result<Box<dyn AnyLibrary>, Failed> {
        Ok(match suite {
            opaque::Suite::Rfc9807 => Box::new(rfc9807(keys)?),
            opaque::Suite::HybridCompat => Box::new(hybrid_compat(keys)?),
            opaque::Suite::Hybrid => Box::new(hybrid_opaque(keys)?),
        })
    }

    fn upload(&self, keys: &Keys, seed: u64) -> Result<Vec<u8>, Failed> {
        upload(keys, seed)
    }
}

fn rfc9807(keys: &Keys) -> Result<Ours<Rfc9807>, Failed> {
    Ours::new(Rfc9807, keys)
}

fn hybrid_compat(keys: &Keys) -> Result<Ours<HybridCompat<MlKem768>>, Failed> {
    Ours::new(HybridCompat::default(), keys)
}

pub(crate) fn hybrid_opaque(keys: &Keys) -> Result<HybridOpaque, Failed> {
    Ours::new(Hybrid::default(), keys)
}

/// The upload of a registration that depends on nothing but the seed; it serves all suites.
pub(crate) fn upload(keys: &Keys, seed: u64) -> Result<Vec<u8>, Failed> {
    let ours = rfc9807(keys)?;
    let mut coins = Stream::new(seed, "opaque registration");
    let (client, request) = ours.client.start_registration(&mut coins, &password()?).map_err(failed)?;
    let response = ours.registration_answer(&request)?;
    let registered = client.finish(&mut coins, &response, &KsfParams::Identity, &mut NoStretching, &parties());
    Ok(registered.map_err(failed)?.upload.to_vec())
}

/// With the record, for the account that the login belongs to.
type ServerOf<S> = (ServerLogin<S>, Option<Record>);

/// With KE2.
type AnswerOf<S> = (ServerOf<S>, Vec<u8>);

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

    /// [`Library::ke2`] for several clients of one account, in one pass.
    pub(crate) fn ke2_many(&self, record: &[u8], ke1s: &[Vec<u8>]) -> Result<Vec<AnswerOf<S>>, Failed> {
        let parties = parties();
        let records: Vec<_> =
            ke1s.iter().map(|_| Record::from_bytes(record)).collect::<Result<_, _>>().map_err(failed)?;
        let logins: Vec<_> = ke1s
            .iter()
            .zip(&records)
            .map(|(ke1, record)| LoginStart { ke1, name: USER, record: Some(record), parties: &parties })
            .collect();
        let mut answers: Vec<_> = ke1s.iter().map(|_| None).collect();
        self.server.respond_many(&mut rng(), &logins, |at, answer| answers[at] = Some(answer));
        let answers = answers.into_iter().zip(records).map(|(answer, record)| {
            let answer = answer.ok_or("a login has no answer")?.map_err(failed)?;
            Ok(((answer.state, Some(record)), answer.ke2))
        });
        answers.collect()
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
    type Server = ServerOf<S>;

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

    fn provenance(&self, op: Op) -> Provenance {
        opaque_provenance(op.timed()).telling(op.by_system_call())
    }
}

/// Where all suites come from.
pub(crate) fn opaque_provenance(timed: &str) -> Provenance {
    let (version, checksum) = linked::package("curve25519-dalek");
    let dalek = linked::package_id("curve25519-dalek", version, checksum);
    let arm = format!("the curve: chosen by dalek at run time; ML-KEM: {}", MlKem768::new().arm());
    Provenance {
        commit: Some(dalek),
        arm: Some(arm),
        ..ours(&format!("{timed} (through candor_opaque, with our own ML-KEM)"))
    }
}
