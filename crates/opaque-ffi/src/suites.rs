//! Clients and servers of any suite behind one type: C knows suites by number.

use crate::randomness::System;
use crate::status::Status;
use candor_c_abi::handles::lock;
use candor_c_abi::memory::take_wiping;
use candor_opaque::suite::NoKem;
use candor_opaque::{
    Argon2id, Client, ClientLogin, ClientRegistration, CredentialId, Error, Hybrid, HybridCompat, HybridPinned, Ksf,
    KsfParams, Limits, LoggedIn, NoStretching, Parties, Password, Record, RegistrationAnswer, Rfc9807, Server,
    ServerLogin, Session, Suite, SuiteId,
};
use candor_primitives::kem::ml_kem::MlKem768;
use std::hint::black_box;
use std::sync::Mutex;
use zeroize::Zeroizing;

/// All suites, the weaker before the stronger.
pub const ALL: [SuiteId; 4] = [SuiteId::Rfc9807, SuiteId::HybridCompat, SuiteId::Hybrid, SuiteId::HybridPinned];

/// The suite of a number.
pub(crate) fn suite(number: u32) -> Result<SuiteId, Status> {
    ALL.into_iter().find(|suite| *suite as u32 == number).ok_or(Status::Number)
}

/// A client of this suite; `server_kem_key` is for the pinned suite, and empty for others.
pub(crate) fn client(number: u32, server_kem_key: &[u8], limits: Limits) -> Result<Box<dyn AnyClient>, Status> {
    fn plain<S: Suite<Static = NoKem> + Default>(key: &[u8], limits: Limits) -> Result<Box<dyn AnyClient>, Status>
    where
        Client<S>: AnyClient + 'static,
    {
        // A key that would not be looked at is a mistake: its caller believes in a pinned server.
        if key.is_empty() { Ok(Box::new(Client::<S>::default().with_limits(limits))) } else { Err(Status::Length) }
    }
    match suite(number)? {
        SuiteId::Rfc9807 => plain::<Rfc9807>(server_kem_key, limits),
        SuiteId::HybridCompat => plain::<HybridCompat<MlKem768>>(server_kem_key, limits),
        SuiteId::Hybrid => plain::<Hybrid<MlKem768>>(server_kem_key, limits),
        SuiteId::HybridPinned => {
            let suite = HybridPinned::<MlKem768>::default();
            Ok(Box::new(Client::pinned(suite, server_kem_key)?.with_limits(limits)))
        }
        _ => Err(Status::Number),
    }
}

/// Calls a generic function with the suite of a number.
macro_rules! with_suite {
    ($number:expr, $suite:ident => $work:expr) => {
        match suite($number)? {
            SuiteId::Rfc9807 => {
                let $suite = Rfc9807;
                Ok(Box::new($work) as Box<dyn AnyServer>)
            }
            SuiteId::HybridCompat => {
                let $suite = HybridCompat::<MlKem768>::default();
                Ok(Box::new($work) as Box<dyn AnyServer>)
            }
            SuiteId::Hybrid => {
                let $suite = Hybrid::<MlKem768>::default();
                Ok(Box::new($work) as Box<dyn AnyServer>)
            }
            SuiteId::HybridPinned => {
                let $suite = HybridPinned::<MlKem768>::default();
                Ok(Box::new($work) as Box<dyn AnyServer>)
            }
            _ => Err(Status::Number),
        }
    };
}

/// A server of this suite with fresh keys.
pub(crate) fn generate(number: u32, ksf: KsfParams, rng: &mut System) -> Result<Box<dyn AnyServer>, Status> {
    with_suite!(number, suite => Server::generate(suite, ksf, rng)?)
}

/// A server of this suite that was saved.
pub(crate) fn saved_server(number: u32, saved: &[u8]) -> Result<Box<dyn AnyServer>, Status> {
    with_suite!(number, suite => Server::from_bytes(suite, saved)?)
}

/// A server of this suite with the keys of another implementation.
pub(crate) fn server_of_keys(
    number: u32,
    oprf_seed: &[u8; 64],
    secret_key: &[u8; 32],
    ksf: KsfParams,
    rng: &mut System,
) -> Result<Box<dyn AnyServer>, Status> {
    AnyServer::to_suite(&Server::from_keys(Rfc9807, ksf, oprf_seed, secret_key)?, number, rng)
}

/// A stored record. Whatever is wrong with it, it is the storage's fault, and no client's.
pub(crate) fn stored(record: &[u8]) -> Result<Record, Status> {
    Record::from_bytes(record).map_err(|_| Status::Record)
}

/// A record of zeros, in the encoding of [`Record::to_bytes`]: version 1, suite 1.
const NOBODY: [u8; Record::LENGTH] = {
    let mut record = [0; Record::LENGTH];
    (record[0], record[1]) = (1, 1);
    record
};

/// [`stored`] for a login, where no bytes are no record. Without one, another is read and put aside, so that reading takes as long for a name without an account.
pub(crate) fn stored_or_nobody(record: Option<&[u8]>) -> Result<Option<Record>, Status> {
    let given = record.filter(|record| !record.is_empty());
    let read = black_box(stored(black_box(given.unwrap_or(&NOBODY)))?);
    Ok(given.map(|_| read))
}

/// [`Client`] of any suite.
pub(crate) trait AnyClient: Send + Sync {
    fn start_registration(
        &self,
        rng: &mut System,
        password: &Password<'_>,
    ) -> Result<(ClientRegistration, [u8; 32]), Error>;
    fn resume_registration(&self, saved: &[u8], password: &Password<'_>) -> Result<ClientRegistration, Error>;
    fn start_login(
        &self,
        rng: &mut System,
        password: &Password<'_>,
    ) -> Result<(Box<dyn AnyClientLogin>, Vec<u8>), Error>;
    fn resume_login(&self, saved: &[u8], password: &Password<'_>) -> Result<Box<dyn AnyClientLogin>, Error>;
}

/// [`ClientLogin`] of any suite, until it is finished.
pub(crate) trait AnyClientLogin: Send + Sync {
    fn finish(&self, ke2: &[u8], params: &KsfParams, parties: &Parties<'_>) -> Result<LoggedIn, Status>;
    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Status>;
}

/// [`Server`] of any suite.
pub(crate) trait AnyServer: Send + Sync {
    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error>;
    fn to_suite(&self, number: u32, rng: &mut System) -> Result<Box<dyn AnyServer>, Status>;
    fn ksf(&self) -> KsfParams;
    fn adopt_ksf(&mut self, ksf: KsfParams, moved_per_mille: u16) -> Result<(), Error>;
    fn public_key(&self) -> &[u8; 32];
    fn static_kem_key(&self) -> &[u8];
    fn register(
        &self,
        rng: &mut System,
        session: Option<&Session>,
        request: &[u8],
    ) -> Result<RegistrationAnswer, Error>;
    fn register_with_id(&self, id: CredentialId, request: &[u8]) -> Result<RegistrationAnswer, Error>;
    fn respond(
        &self,
        rng: &mut System,
        ke1: &[u8],
        name: &[u8],
        record: Option<&Record>,
        parties: &Parties<'_>,
    ) -> Result<AnyAnswer, Error>;
    fn resume_login(&self, saved: &[u8]) -> Result<Box<dyn AnyServerLogin>, Error>;
}

/// [`candor_opaque::Answer`] of any suite.
pub(crate) struct AnyAnswer {
    pub(crate) ke2: Vec<u8>,
    pub(crate) ksf: KsfParams,
    pub(crate) state: Box<dyn AnyServerLogin>,
    pub(crate) below_minimum: bool,
}

/// [`ServerLogin`] of any suite, until it is finished.
pub(crate) trait AnyServerLogin: Send + Sync {
    fn finish(&self, ke3: &[u8], record: Option<&[u8]>) -> Result<Session, Status>;
    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Status>;
    fn id(&self) -> Result<[u8; 32], Status>;
}

/// A state that is used once. Where it lay, nothing of it is left.
pub(crate) struct Once<T>(Mutex<Option<T>>);

impl<T> Once<T> {
    pub(crate) fn new(state: T) -> Self {
        Self(Mutex::new(Some(state)))
    }

    /// Uses the state up.
    pub(crate) fn take(&self) -> Result<T, Status> {
        take_wiping(&mut lock(&self.0)).ok_or(Status::Finished)
    }

    /// Looks at it.
    pub(crate) fn look<R>(&self, at: impl FnOnce(&T) -> R) -> Result<R, Status> {
        lock(&self.0).as_ref().map(at).ok_or(Status::Finished)
    }
}

/// Argon2id, or nothing where the client's limits permit that.
#[derive(Default)]
pub struct Stretching(Argon2id);

impl Ksf for Stretching {
    fn stretch(&mut self, params: &KsfParams, input: &[u8; 64], stretched: &mut [u8; 64]) -> Result<(), Error> {
        match params {
            KsfParams::Identity => NoStretching.stretch(params, input, stretched),
            _ => self.0.stretch(params, input, stretched),
        }
    }
}

impl<S: Suite> AnyClient for Client<S>
where
    Client<S>: Send + Sync,
    ClientLogin<S>: Send + 'static,
{
    fn start_registration(
        &self,
        rng: &mut System,
        password: &Password<'_>,
    ) -> Result<(ClientRegistration, [u8; 32]), Error> {
        self.start_registration(rng, password)
    }

    fn resume_registration(&self, saved: &[u8], password: &Password<'_>) -> Result<ClientRegistration, Error> {
        self.resume_registration(saved, password)
    }

    fn start_login(
        &self,
        rng: &mut System,
        password: &Password<'_>,
    ) -> Result<(Box<dyn AnyClientLogin>, Vec<u8>), Error> {
        let (login, ke1) = self.start_login(rng, password)?;
        Ok((Box::new(Once::new(login)), ke1))
    }

    fn resume_login(&self, saved: &[u8], password: &Password<'_>) -> Result<Box<dyn AnyClientLogin>, Error> {
        Ok(Box::new(Once::new(self.resume_login(saved, password)?)))
    }
}

impl<S: Suite> AnyClientLogin for Once<ClientLogin<S>>
where
    ClientLogin<S>: Send,
{
    fn finish(&self, ke2: &[u8], params: &KsfParams, parties: &Parties<'_>) -> Result<LoggedIn, Status> {
        Ok(self.take()?.finish(ke2, params, &mut Stretching::default(), parties)?)
    }

    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Status> {
        Ok(self.look(ClientLogin::to_bytes)??)
    }
}

impl<S: Suite> AnyServer for Server<S>
where
    Server<S>: Send + Sync,
    ServerLogin<S>: Send + 'static,
{
    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.to_bytes()
    }

    fn to_suite(&self, number: u32, rng: &mut System) -> Result<Box<dyn AnyServer>, Status> {
        with_suite!(number, suite => self.to_suite(suite, rng)?)
    }

    fn ksf(&self) -> KsfParams {
        self.ksf()
    }

    fn adopt_ksf(&mut self, ksf: KsfParams, moved_per_mille: u16) -> Result<(), Error> {
        self.adopt_ksf(ksf, moved_per_mille)
    }

    fn public_key(&self) -> &[u8; 32] {
        self.public_key()
    }

    fn static_kem_key(&self) -> &[u8] {
        self.static_kem_key()
    }

    fn register(
        &self,
        rng: &mut System,
        session: Option<&Session>,
        request: &[u8],
    ) -> Result<RegistrationAnswer, Error> {
        match session {
            Some(session) => self.register_again(rng, session, request),
            None => self.register(rng, request),
        }
    }

    fn register_with_id(&self, id: CredentialId, request: &[u8]) -> Result<RegistrationAnswer, Error> {
        self.register_with_id(id, request)
    }

    fn respond(
        &self,
        rng: &mut System,
        ke1: &[u8],
        name: &[u8],
        record: Option<&Record>,
        parties: &Parties<'_>,
    ) -> Result<AnyAnswer, Error> {
        let answer = self.respond(rng, ke1, name, record, parties)?;
        let (ke2, ksf, below_minimum) = (answer.ke2, answer.ksf, answer.below_minimum);
        Ok(AnyAnswer { ke2, ksf, state: Box::new(Once::new(answer.state)), below_minimum })
    }

    fn resume_login(&self, saved: &[u8]) -> Result<Box<dyn AnyServerLogin>, Error> {
        Ok(Box::new(Once::new(ServerLogin::<S>::from_bytes(saved)?)))
    }
}

impl<S: Suite> AnyServerLogin for Once<ServerLogin<S>>
where
    ServerLogin<S>: Send,
{
    fn finish(&self, ke3: &[u8], record: Option<&[u8]>) -> Result<Session, Status> {
        let login = self.take()?;
        Ok(login.finish(ke3, stored_or_nobody(record)?.as_ref())?)
    }

    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Status> {
        self.look(|login| Zeroizing::new(login.to_bytes().to_vec()))
    }

    fn id(&self) -> Result<[u8; 32], Status> {
        self.look(ServerLogin::id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_for_a_name_without_an_account_is_a_record() {
        let [none, empty, real] = [None, Some(&[][..]), Some(&NOBODY[..])].map(stored_or_nobody);
        assert!(none.unwrap().is_none() && empty.unwrap().is_none() && real.unwrap().is_some());
        assert_eq!(stored_or_nobody(Some(&NOBODY[1..])).err(), Some(Status::Record));
    }
}
