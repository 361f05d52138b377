//! What every library logs in to before any clock is read.
//!
//! It comes from above (`candor-subjects`): candor's suites, which pass RFC 9807's vectors. There is no second implementation of the hybrid
//! form, and this crate knows none of candor's protocols.

use super::{Done, Failed, Keys, Library, Suite};
use std::any::Any;

/// The reference, which is never timed.
pub trait Reference: Sync {
    /// A library of that wire format, with the server's keys.
    ///
    /// # Errors
    /// The library's own error.
    fn open(&self, suite: Suite, keys: &Keys) -> Result<Box<dyn AnyLibrary>, Failed>;

    /// The upload of a registration that depends on nothing but the seed; it serves all suites.
    ///
    /// # Errors
    /// The library's own error.
    fn upload(&self, keys: &Keys, seed: u64) -> Result<Vec<u8>, Failed>;
}

/// A client or a server in the middle of a login, of any library.
type State = Box<dyn Any>;

/// What a login needs of a [`Library`], whatever its states are.
#[allow(missing_docs)] // as for `Library`
pub trait AnyLibrary {
    fn store(&self, upload: &[u8]) -> Result<Vec<u8>, Failed>;
    fn ke1(&self) -> Result<(State, Vec<u8>), Failed>;
    fn ke2(&self, record: &[u8], ke1: &[u8]) -> Result<(State, Vec<u8>), Failed>;
    fn ke3(&self, client: State, ke2: &[u8]) -> Result<Done, Failed>;
    fn finish(&self, server: State, ke3: &[u8]) -> Result<[u8; 64], Failed>;
}

fn own<T: 'static>(state: State) -> Result<Box<T>, Failed> {
    state.downcast().map_err(|_| "the state belongs to another library".into())
}

impl<L: Library> AnyLibrary for L {
    fn store(&self, upload: &[u8]) -> Result<Vec<u8>, Failed> {
        Library::store(self, upload)
    }

    fn ke1(&self) -> Result<(State, Vec<u8>), Failed> {
        let (client, ke1) = Library::ke1(self)?;
        Ok((Box::new(client), ke1))
    }

    fn ke2(&self, record: &[u8], ke1: &[u8]) -> Result<(State, Vec<u8>), Failed> {
        let (server, ke2) = Library::ke2(self, Some(record), ke1)?;
        Ok((Box::new(server), ke2))
    }

    fn ke3(&self, client: State, ke2: &[u8]) -> Result<Done, Failed> {
        Library::ke3(self, *own(client)?, ke2)
    }

    fn finish(&self, server: State, ke3: &[u8]) -> Result<[u8; 64], Failed> {
        Library::finish(self, *own(server)?, ke3)
    }
}

/// A whole login; the export key if both sides have the same session key.
pub(super) fn log_in(client: &dyn AnyLibrary, server: &dyn AnyLibrary, record: &[u8]) -> Result<[u8; 64], Failed> {
    let (waiting, ke1) = client.ke1()?;
    let (kept, ke2) = server.ke2(record, &ke1)?;
    let done = client.ke3(waiting, &ke2)?;
    if server.finish(kept, &done.ke3)? != done.session_key {
        return Err("both sides finish, but with different session keys".into());
    }
    Ok(done.export_key)
}
