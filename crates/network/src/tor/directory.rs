//! The consensus of Tor's authorities as a client has it: fetched and verified.

use super::TorAuthority;
use super::list;
use crate::clock::Clock;
use crate::directory::exchange;
use crate::keys::random;
use crate::link::locked;
use crate::{Crypto, Error, RelayList};
use base64ct::{Base64Unpadded, Encoding};
use candor_tor_directory::{
    Authorities, AuthorityCertificate, Consensus, MOST_CONSENSUS, MOST_MICRODESCRIPTOR, Microdescriptor, Unverified,
};
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

/// Microdescriptors asked for at a time, as many as C tor's clients ask for.
const AT_A_TIME: usize = 90;
/// The most bytes that the certificates of all authorities may have.
const MOST_CERTIFICATES: usize = 1 << 19;

/// Tor's directory.
pub struct TorDirectory {
    authorities: Vec<TorAuthority>,
    trusted: Authorities,
    clock: Clock,
    state: Mutex<State>,
    /// Held while something is being fetched, so that one fetch serves all who wait.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    certificates: Vec<AuthorityCertificate>,
    consensus: Option<Arc<Consensus>>,
    /// Microdescriptors of the last consensus's relays, by digest. Those that can't be read have none.
    microdescriptors: HashMap<[u8; 32], Option<Microdescriptor>>,
}

impl TorDirectory {
    /// Asks these authorities. More than half of them must have signed a consensus.
    ///
    /// # Errors
    /// [`Error::DirectoryAddress`] if there is none, or one stands twice.
    pub fn new(authorities: Vec<TorAuthority>) -> Result<Self, Error> {
        let text = authorities.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let trusted = Authorities::new(authorities.iter().map(|authority| *authority.identity()).collect());
        let trusted = trusted.map_err(|error| Error::DirectoryAddress { text, why: error.to_string() })?;
        Ok(Self {
            authorities,
            trusted,
            clock: Clock::default(),
            state: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// With another clock than the system's.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The authorities.
    pub fn authorities(&self) -> &[TorAuthority] {
        &self.authorities
    }

    /// The time of day.
    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Seconds from one consensus to the next, by the last one.
    pub(super) fn interval(&self) -> u64 {
        locked(&self.state).consensus.as_ref().map_or(3600, |known| known.fresh_until.saturating_sub(known.valid_after))
    }

    /// A consensus that holds now: the one that is known while it is fresh, otherwise the newest of the authorities. An authority that is silent, or whose
    /// answer can't be used, is passed over for the next; one that was used before is used until its end if none has a newer one.
    ///
    /// # Errors
    /// [`Error::NoConsensus`], with what each authority said.
    pub async fn consensus(&self) -> Result<Arc<Consensus>, Error> {
        let _alone = self.fetching.lock().await;
        let now = self.clock.now();
        let mut newest = locked(&self.state).consensus.clone().filter(|known| known.valid_until > now);
        let is_fresh = |known: &Option<Arc<Consensus>>| known.as_ref().is_some_and(|known| now < known.fresh_until);
        let mut failures = Vec::new();
        for authority in self.turns()? {
            if is_fresh(&newest) {
                break;
            }
            match self.fetch(authority).await {
                Ok(consensus) => {
                    if newest.as_ref().is_none_or(|newest| newest.valid_after < consensus.valid_after) {
                        newest = Some(Arc::new(consensus));
                    }
                }
                Err(error) => failures.push(error.to_string()),
            }
        }
        let newest = newest.ok_or_else(|| Error::NoConsensus { why: failures.join("; ") })?;
        locked(&self.state).consensus = Some(Arc::clone(&newest));
        Ok(newest)
    }

    /// The relays of a consensus, for circuits with that cryptography. In a test network exits are taken to lead to private addresses too, of which the directory says nothing.
    ///
    /// # Errors
    /// [`Error::NoConsensus`] if a relay's microdescriptor is missing at every authority. Were some enough, whoever serves them would choose the relays of all circuits.
    pub async fn relays(&self, consensus: &Consensus, crypto: Crypto, test_network: bool) -> Result<RelayList, Error> {
        let _alone = self.fetching.lock().await;
        let mut failures = Vec::new();
        for authority in self.turns()? {
            let missing = self.missing(consensus);
            if missing.is_empty() {
                break;
            }
            for digests in missing.chunks(AT_A_TIME) {
                if let Err(error) = self.fetch_microdescriptors(authority, digests).await {
                    failures.push(error.to_string());
                    break;
                }
            }
        }
        let missing = self.missing(consensus).len();
        if missing > 0 {
            let all = consensus.relays.len();
            let why = format!("{missing} of its {all} microdescriptors are missing at every authority; all are needed");
            let said = if failures.is_empty() { String::new() } else { format!(": {}", failures.join("; ")) };
            return Err(Error::NoConsensus { why: why + &said });
        }
        let mut state = locked(&self.state);
        let state = &mut *state;
        let is_wanted = |digest: &[u8; 32]| consensus.relays.iter().any(|relay| relay.microdescriptor == *digest);
        if state.microdescriptors.len() > consensus.relays.len() {
            state.microdescriptors.retain(|digest, _| is_wanted(digest));
        }
        let known = |digest: &[u8; 32]| state.microdescriptors.get(digest)?.as_ref();
        Ok(list::of(consensus, &known, crypto, test_network))
    }

    /// The authorities, beginning with any, so that they share the work.
    fn turns(&self) -> Result<impl Iterator<Item = &TorAuthority>, Error> {
        let count = self.authorities.len();
        let first = u64::from_le_bytes(*random()?) as usize % count;
        Ok(self.authorities.iter().cycle().skip(first).take(count))
    }

    /// Fetches a consensus, and the certificates that it needs and that are not known yet.
    async fn fetch(&self, from: &TorAuthority) -> Result<Consensus, Error> {
        let path = "/tor/status-vote/current/consensus-microdesc";
        let unverified =
            Unverified::parse(&text(from, path, MOST_CONSENSUS).await?).map_err(|error| said(from, path, error))?;
        let mut wanted = String::new();
        for signature in unverified.signatures().iter().filter(|one| self.trusted.contains(&one.identity)) {
            let is_its = |known: &AuthorityCertificate| {
                known.identity() == &signature.identity && known.signing_key_digest() == &signature.signing_key
            };
            if !locked(&self.state).certificates.iter().any(is_its) {
                let [identity, key] =
                    [&signature.identity, &signature.signing_key].map(|part| base16ct::upper::encode_string(part));
                let plus = if wanted.is_empty() { "" } else { "+" };
                write!(wanted, "{plus}{identity}-{key}").expect("writing to memory");
            }
        }
        if !wanted.is_empty() {
            let path = format!("/tor/keys/fp-sk/{wanted}");
            let certificates = AuthorityCertificate::parse_all(&text(from, &path, MOST_CERTIFICATES).await?);
            let mut certificates = certificates.map_err(|error| said(from, &path, error))?;
            certificates.retain(|certificate| self.trusted.contains(certificate.identity()));
            // An authority has few keys at a time. Old ones are forgotten, and fetched again if they are needed.
            let known = &mut locked(&self.state).certificates;
            if known.len() > 8 * self.authorities.len() {
                known.clear();
            }
            known.append(&mut certificates);
        }
        let certificates = locked(&self.state).certificates.clone();
        unverified.verify(&self.trusted, &certificates, self.clock.now()).map_err(|error| said(from, path, error))
    }

    /// Digests of a consensus's microdescriptors that are not known yet.
    fn missing(&self, consensus: &Consensus) -> Vec<[u8; 32]> {
        let known = &locked(&self.state).microdescriptors;
        let mut digests: Vec<_> = consensus.relays.iter().map(|relay| relay.microdescriptor).collect();
        digests.retain(|digest| !known.contains_key(digest));
        digests.sort_unstable();
        digests.dedup();
        digests
    }

    async fn fetch_microdescriptors(&self, from: &TorAuthority, digests: &[[u8; 32]]) -> Result<(), Error> {
        let names: Vec<_> = digests.iter().map(|digest| Base64Unpadded::encode_string(digest)).collect();
        let path = format!("/tor/micro/d/{}", names.join("-"));
        let text = text(from, &path, digests.len() * MOST_MICRODESCRIPTOR).await?;
        let pieces = Microdescriptor::split(&text).map_err(|error| said(from, &path, error))?;
        let known = &mut locked(&self.state).microdescriptors;
        for piece in pieces {
            let digest = Microdescriptor::digest(piece);
            if digests.contains(&digest) {
                known.insert(digest, Microdescriptor::parse(piece).ok());
            }
        }
        Ok(())
    }
}

/// Fetches a text.
async fn text(from: &TorAuthority, path: &str, most: usize) -> Result<String, Error> {
    let url = from.url(path)?;
    let reply = exchange::fetch(&url, most).await?.success(&url)?;
    String::from_utf8(reply.body).map_err(|_| exchange::failed(&url, "its answer is not UTF-8"))
}

/// What is wrong with a document, and where it is from.
fn said(from: &TorAuthority, path: &str, error: candor_tor_directory::Error) -> Error {
    const MOST: usize = 80;
    let short: String = path.chars().take(MOST).collect();
    Error::Directory { url: format!("http://{}{short}", from.address()), why: error.to_string() }
}

impl fmt::Debug for TorDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TorDirectory({} authorities)", self.authorities.len())
    }
}
