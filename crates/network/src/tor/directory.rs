//! The consensus of Tor's authorities as a client has it: fetched and verified.

use super::TorAuthority;
use super::list;
use crate::clock::Clock;
use crate::directory::exchange;
use crate::http::Url;
use crate::keys::random;
use crate::link::locked;
use crate::{Crypto, Error, RelayList};
use base64ct::{Base64Unpadded, Encoding};
use candor_tor_directory::{
    Authorities, Certificates, Consensus, MOST_CERTIFICATE, MOST_CONSENSUS, MOST_MICRODESCRIPTOR, Microdescriptor,
    Relay, Unverified,
};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// Microdescriptors asked for at a time, as many as C tor's clients ask for.
const AT_A_TIME: usize = 90;
/// How long one authority may take: for a consensus with its certificates, and for all microdescriptors that are asked of it.
const PATIENCE: Duration = Duration::from_secs(120);
/// Percent of the bandwidth in each position of which microdescriptors must be known. The rest may be missing, as with C tor (`min_paths_for_circs_pct` and what it multiplies);
/// who keeps back so little chooses nobody's path.
const ENOUGH: u64 = 95;

/// How long after its beginning a consensus is certainly not modified any more, in seconds, or half its freshness if that is less; C tor's clients say the same.
const UNMODIFIED: u64 = 180;

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
    certificates: Certificates,
    consensus: Option<Arc<Consensus>>,
    /// Microdescriptors of the last consensus's relays, by digest. Those that can't be read have none.
    microdescriptors: HashMap<[u8; 32], Option<Microdescriptor>>,
}

/// A position in a path, and whether a relay may stand there.
type Position = (&'static str, fn(&Relay) -> bool);

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

    /// A consensus that holds now: the one that is known while it is fresh, and after that a newer one if the authority has it whose turn it is. Where none that holds is known, it is the newest of
    /// the authorities. An authority that is silent, or whose answer can't be used, is passed over for the next; a consensus that was used before is used until its end if there is no newer one.
    ///
    /// # Errors
    /// [`Error::NoConsensus`], with what each authority said.
    pub async fn consensus(&self) -> Result<Arc<Consensus>, Error> {
        let _alone = self.fetching.lock().await;
        let now = self.clock.now();
        let mut newest = locked(&self.state).consensus.clone().filter(|known| known.valid_until > now);
        let is_fresh = |known: &Option<Arc<Consensus>>| known.as_ref().is_some_and(|known| now < known.fresh_until);
        // While one holds, whoever wants a newer one comes again.
        let (holds, mut answered) = (newest.is_some(), false);
        let mut failures = Vec::new();
        for authority in self.turns()? {
            if is_fresh(&newest) || (holds && answered) {
                break;
            }
            match in_time(authority, self.fetch(authority, newest.as_deref())).await {
                Ok(None) => answered = true,
                Ok(Some(consensus)) => {
                    answered = true;
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
    /// [`Error::NoConsensus`] if so many microdescriptors are missing at every authority that less than 95 % of the bandwidth is known of all relays, of the guards or of the exits. Were fewer
    /// enough, whoever serves them would choose the relays of all circuits.
    pub async fn relays(&self, consensus: &Consensus, crypto: Crypto, test_network: bool) -> Result<RelayList, Error> {
        let _alone = self.fetching.lock().await;
        let mut failures = Vec::new();
        for authority in self.turns()? {
            if self.missing(consensus).is_empty() {
                break;
            }
            if let Err(error) = in_time(authority, self.fetch_missing(authority, consensus)).await {
                failures.push(error.to_string());
            }
        }
        if let Some(why) = self.lacks(consensus) {
            let said = if failures.is_empty() { String::new() } else { format!(": {}", failures.join("; ")) };
            return Err(Error::NoConsensus { why: why + &said });
        }
        let mut state = locked(&self.state);
        let state = &mut *state;
        if state.microdescriptors.len() > consensus.relays.len() {
            let wanted: HashSet<_> = consensus.relays.iter().map(|relay| relay.microdescriptor).collect();
            state.microdescriptors.retain(|digest, _| wanted.contains(digest));
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

    /// Fetches a consensus, and the certificates that it needs and that are not known yet. `None` if there is none newer than the one that is known.
    async fn fetch(&self, from: &TorAuthority, known: Option<&Consensus>) -> Result<Option<Consensus>, Error> {
        let path = "/tor/status-vote/current/consensus-microdesc";
        let url = from.url(path)?;
        let since = known.map(unmodified_since);
        let reply = exchange::fetch(&url, since, MOST_CONSENSUS).await?;
        if since.is_some() && reply.is_not_modified() {
            return Ok(None);
        }
        let document = utf8(reply, &url)?;
        let unverified = Unverified::parse(&document).map_err(|error| said(from, path, error))?;
        let now = self.clock.now();
        locked(&self.state).certificates.forget_ended(now);
        for signature in unverified.signatures().iter().filter(|one| self.trusted.contains(&one.identity)) {
            if locked(&self.state).certificates.has(signature, now) {
                continue;
            }
            // One by one: whatever is wrong with one of them, the others are had.
            let [identity, key] =
                [&signature.identity, &signature.signing_key].map(|part| base16ct::upper::encode_string(part));
            let path = format!("/tor/keys/fp-sk/{identity}-{key}");
            let fetched = text(from, &path, MOST_CERTIFICATE).await;
            let known = &mut locked(&self.state).certificates;
            let taken = fetched
                .and_then(|text| known.take(&text, &self.trusted, now).map_err(|error| said(from, &path, error)));
            if let Err(error) = taken {
                known.refuse(signature.identity, error.to_string());
            }
        }
        let certificates = locked(&self.state).certificates.clone();
        unverified.verify(&self.trusted, &certificates, now).map(Some).map_err(|error| said(from, path, error))
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

    /// Asks an authority for the microdescriptors that are missing, until it has none of those that it is asked for.
    async fn fetch_missing(&self, from: &TorAuthority, consensus: &Consensus) -> Result<(), Error> {
        for digests in self.missing(consensus).chunks(AT_A_TIME) {
            let names: Vec<_> = digests.iter().map(|digest| Base64Unpadded::encode_string(digest)).collect();
            let path = format!("/tor/micro/d/{}", names.join("-"));
            let text = text(from, &path, digests.len() * MOST_MICRODESCRIPTOR).await?;
            let pieces = Microdescriptor::split(&text).map_err(|error| said(from, &path, error))?;
            let wanted = pieces.into_iter().map(|piece| (Microdescriptor::digest(piece), piece));
            let wanted: Vec<_> = wanted.filter(|(digest, _)| digests.contains(digest)).collect();
            if wanted.is_empty() {
                let why = format!("has none of {} microdescriptors that it was asked for", digests.len());
                return Err(Error::Directory { url: format!("http://{}/tor/micro/d/", from.address()), why });
            }
            let read = wanted.into_iter().map(|(digest, piece)| (digest, Microdescriptor::parse(piece).ok()));
            locked(&self.state).microdescriptors.extend(read);
        }
        Ok(())
    }

    /// What there is too little of to build circuits, if so.
    fn lacks(&self, consensus: &Consensus) -> Option<String> {
        let known = &locked(&self.state).microdescriptors;
        let positions: [Position; 3] = [
            ("relays", |_| true),
            ("guards", |relay| relay.is("Guard")),
            ("exits", |relay| relay.is("Exit") && !relay.is("BadExit")),
        ];
        let usable = || consensus.relays.iter().filter(|relay| relay.is("Running") && relay.is("Valid"));
        positions.into_iter().find_map(|(name, fits)| {
            let [mut all, mut there] = [0; 2];
            for relay in usable().filter(|relay| fits(relay)) {
                // One without a measured bandwidth counts all the same.
                let weight = u64::from(relay.bandwidth).max(1);
                all += weight;
                there += if known.contains_key(&relay.microdescriptor) { weight } else { 0 };
            }
            let percent = (100 * there).checked_div(all).unwrap_or(100);
            (percent < ENOUGH).then(|| {
                format!(
                    "microdescriptors of {percent} % of its {name} by bandwidth are to be had; {ENOUGH} % are needed"
                )
            })
        })
    }
}

/// What an authority does in the time that it has.
async fn in_time<T>(from: &TorAuthority, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = || {
        let why = format!("took more than {} s in all", PATIENCE.as_secs());
        Error::Directory { url: format!("http://{}/", from.address()), why }
    };
    timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(late()))
}

/// A time that is after the consensus that is known and before any other: C tor's authorities take a consensus for modified when it begins, and one that begins at the very second for newer.
fn unmodified_since(known: &Consensus) -> SystemTime {
    let half = known.fresh_until.saturating_sub(known.valid_after) / 2;
    UNIX_EPOCH + Duration::from_secs(known.valid_after.saturating_add(half.min(UNMODIFIED)))
}

/// Fetches a text.
async fn text(from: &TorAuthority, path: &str, most: usize) -> Result<String, Error> {
    let url = from.url(path)?;
    utf8(exchange::fetch(&url, None, most).await?, &url)
}

fn utf8(reply: exchange::Reply, url: &Url) -> Result<String, Error> {
    String::from_utf8(reply.success(url)?.body).map_err(|_| exchange::failed(url, "its answer is not UTF-8"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[tokio::test(start_paused = true)]
    async fn an_authority_has_so_much_time_in_all() {
        let authority = format!("127.0.0.1:7000/{}", "ab".repeat(20)).parse().unwrap();
        assert_eq!(in_time(&authority, ready(Ok(7))).await, Ok(7));
        let error = in_time(&authority, pending::<Result<(), _>>()).await.unwrap_err().to_string();
        assert!(error.contains("127.0.0.1:7000") && error.contains("took more than 120 s in all"), "{error}");
    }
}
