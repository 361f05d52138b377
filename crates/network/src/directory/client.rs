//! The consensus as a client or a relay has it: fetched, verified, kept in a file.
//!
//! A consensus is used if enough authorities have signed it, it is not older than one that was used before, and its time is now. One that is no
//! longer fresh is replaced if any directory has a newer one; if none has, it is used until its end. A directory that is silent, or whose answer
//! can't be used, is passed over for the next.

use super::exchange::{self, failed, get_counting};
use super::{Directories, DirectoryAddress};
use crate::clock::Clock;
use crate::keys::random;
use crate::link::locked;
use crate::onion_keys::KEMS;
use crate::{Error, RelayList, files};
use candor_onion::directory::{Consensus, KEM_LENGTHS, MOST_CONSENSUS, MOST_RELAYS, Times, kem_digest};
use candor_onion::handshake::HandshakeType;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

/// Seconds by which clocks may differ without harm.
const SKEW: u64 = 3600;
/// How long a directory may take for a whole answer before others are asked.
const QUICK: Duration = Duration::from_secs(10);
/// Bytes a second that a directory must send in its second turn, while a consensus is known that holds: a tenth of what a slow modem carries.
const PACE: usize = 512;
/// From this difference on, a wrong clock is named as the likely cause.
const SUSPICIOUS: u64 = 300;

/// Where the consensus comes from, and where it is kept.
pub struct Directory {
    directories: Directories,
    cache: Option<PathBuf>,
    clock: Clock,
    quick: Duration,
    notices: Arc<dyn Fn(&Error) + Send + Sync>,
    state: Mutex<State>,
    /// Held while a consensus is being fetched, so that one fetch serves all who wait.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The cache has been read.
    loaded: bool,
    consensus: Option<Arc<Consensus>>,
    /// The greatest number of a consensus that was ever used.
    seen: u64,
    /// The ETag of each directory's last answer, and the number of the consensus that it was.
    tags: HashMap<String, (String, u64)>,
}

/// Directories to ask, and whether it is each one's last turn.
type Turns<'a> = VecDeque<(&'a DirectoryAddress, bool)>;

/// How long a directory may take.
#[derive(Clone, Copy)]
enum Limit {
    /// A moment, since it will be asked again after all others.
    Moment,
    /// As long as it makes progress, since something holds already.
    Pace,
    /// All the time that an answer may take.
    Whole,
}

/// A consensus, and where it is from.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The consensus; it holds now.
    pub consensus: Arc<Consensus>,
    /// Whether a directory was asked and had nothing to add, or could not be asked: the consensus was known already.
    pub was_known: bool,
}

impl Directory {
    /// Asks these directories; keeps the consensus in the file `cache`, if there is one.
    pub fn new(directories: Directories, cache: Option<PathBuf>) -> Self {
        Self {
            directories,
            cache,
            clock: Clock::default(),
            quick: QUICK,
            notices: Arc::new(|_| {}),
            state: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        }
    }

    /// With another clock than the system's.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Tells `notices` what goes wrong and can be done without: a directory that was passed over, a cache that can't be used or written.
    #[must_use]
    pub fn with_notices(mut self, notices: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.notices = Arc::new(notices);
        self
    }

    /// The directories that are authorities.
    pub(super) fn authorities(&self) -> impl Iterator<Item = &DirectoryAddress> {
        self.directories.addresses.iter().filter(|address| address.fingerprint().is_some())
    }

    /// A consensus that holds now: the one that is known while it is fresh, otherwise the directories' newest.
    ///
    /// # Errors
    /// [`Error::NoConsensus`], with what each directory said.
    pub async fn consensus(&self) -> Result<Fetched, Error> {
        match self.known().filter(|known| self.is_fresh(known)) {
            Some(consensus) => Ok(Fetched { consensus, was_known: true }),
            None => self.refresh().await,
        }
    }

    /// The time of day.
    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Whether no newer one is due yet.
    pub(super) fn is_fresh(&self, consensus: &Consensus) -> bool {
        self.clock.now() < consensus.times.fresh_until
    }

    /// The directories' newest consensus, even if the one that is known is fresh.
    ///
    /// # Errors
    /// As for [`Self::consensus`].
    pub async fn refresh(&self) -> Result<Fetched, Error> {
        let before = self.known().map(|known| known.number());
        let _alone = self.fetching.lock().await;
        let known = self.known();
        if let Some(consensus) = known.clone().filter(|known| Some(known.number()) != before) {
            // Somebody else has fetched it meanwhile.
            return Ok(Fetched { consensus, was_known: false });
        }
        let mut failures = Vec::new();
        let mut newest: Option<(Arc<Consensus>, Vec<u8>)> = None;
        let mut turns = self.turns()?;
        while let Some((from, is_last)) = turns.pop_front() {
            let limit = match (is_last, known.is_some() || newest.is_some()) {
                (false, _) => Limit::Moment,
                (true, true) => Limit::Pace,
                (true, false) => Limit::Whole,
            };
            let came = AtomicUsize::new(0);
            let Some(answer) = self.in_time(limit, &came, self.ask(from, known.as_ref(), &came)).await else {
                self.is_slow(from, limit, &mut turns);
                continue;
            };
            match answer {
                Ok(Some((consensus, bytes))) => {
                    let is_newer = newest.as_ref().is_none_or(|(newest, _)| newest.number() < consensus.number());
                    if is_newer {
                        newest = Some((Arc::new(consensus), bytes));
                    }
                    if newest.as_ref().is_some_and(|(newest, _)| self.is_fresh(newest)) {
                        break;
                    }
                    // It may be an old one; the others are asked for a newer.
                }
                Ok(None) => {}
                Err(error) => {
                    (self.notices)(&error);
                    failures.push(error.to_string());
                }
            }
        }
        if let Some((consensus, bytes)) =
            newest.filter(|(newest, _)| known.as_ref().is_none_or(|known| known.number() < newest.number()))
        {
            self.keep(Arc::clone(&consensus), bytes).await;
            return Ok(Fetched { consensus, was_known: false });
        }
        match known {
            Some(consensus) => Ok(Fetched { consensus, was_known: true }),
            None => Err(Error::NoConsensus { why: failures.join("; ") }),
        }
    }

    /// The relays of a consensus that offer that handshake, with the KEM keys that it needs.
    ///
    /// # Errors
    /// As for [`Self::consensus`]; [`Error::NoConsensus`] if the directories together don't have every KEM key that is needed.
    pub async fn relays(&self, consensus: &Consensus, handshake: HandshakeType) -> Result<RelayList, Error> {
        let kem = match handshake {
            HandshakeType::Hybrid512Auth => Some(0),
            HandshakeType::Hybrid768Auth => Some(1),
            HandshakeType::Hybrid1024Auth => Some(2),
            _ => None,
        };
        let keys = match kem {
            Some(kem) => self.kem_keys(consensus, kem).await?,
            None => HashMap::new(),
        };
        Ok(RelayList::of_consensus(consensus, Some(handshake), &|digest| keys.get(digest).cloned()))
    }

    /// The consensus that is known, from before or from the cache, if it holds now.
    fn known(&self) -> Option<Arc<Consensus>> {
        let now = self.clock.now();
        let mut state = locked(&self.state);
        if !state.loaded {
            state.loaded = true;
            if let Some(path) = &self.cache {
                match self.load(path) {
                    Ok(None) => {}
                    Ok(Some(consensus)) => {
                        // Also one that has ended says what was seen.
                        state.seen = consensus.number();
                        if let Err(why) = judge(&consensus.times, now, None) {
                            (self.notices)(&Error::CachedConsensus { path: path.clone(), why });
                        }
                        state.consensus = Some(Arc::new(consensus));
                    }
                    Err(error) => (self.notices)(&error),
                }
            }
        }
        state.consensus.clone().filter(|consensus| judge(&consensus.times, now, None).is_ok())
    }

    fn load(&self, path: &Path) -> Result<Option<Consensus>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        let bytes = files::read_bounded(path, MOST_CONSENSUS)?;
        let wrong =
            |error: candor_onion::Error| Error::CachedConsensus { path: path.to_owned(), why: error.to_string() };
        Consensus::verify_enough(&bytes, &self.directories.authorities).map(Some).map_err(wrong)
    }

    /// Asks one directory. `None` if it has no other than the one that is known.
    async fn ask(
        &self,
        from: &DirectoryAddress,
        known: Option<&Arc<Consensus>>,
        came: &AtomicUsize,
    ) -> Result<Option<(Consensus, Vec<u8>)>, Error> {
        let key = from.url().to_string();
        let (tag, seen) = {
            let state = locked(&self.state);
            let tag = state.tags.get(&key).filter(|(_, number)| known.is_some_and(|known| known.number() == *number));
            (tag.map(|(tag, _)| tag.clone()), state.seen)
        };
        let reply = get_counting(from, "/consensus", tag.as_deref(), MOST_CONSENSUS, came).await?;
        if reply.status == 304 && tag.is_some() {
            return Ok(None);
        }
        let (time, etag) = (reply.time, reply.etag.clone());
        let body = exchange::Reply::success(reply, from.url())?.body;
        let consensus = Consensus::verify_enough(&body, &self.directories.authorities)
            .map_err(|error| failed(from.url(), error))?;
        let number = consensus.number();
        if number < seen {
            let why = format!("shows a consensus older than one seen before: {number}, expected {seen} or later");
            return Err(failed(from.url(), why));
        }
        judge(&consensus.times, self.clock.now(), time).map_err(|why| failed(from.url(), why))?;
        if let Some(etag) = etag {
            locked(&self.state).tags.insert(key, (etag, number));
        }
        Ok(Some((consensus, body)))
    }

    async fn keep(&self, consensus: Arc<Consensus>, bytes: Vec<u8>) {
        {
            let mut state = locked(&self.state);
            state.seen = consensus.number();
            state.consensus = Some(consensus);
        }
        self.write(self.cache.clone(), bytes).await;
    }

    /// Writes a file, on a thread that may wait for the disk. Without it, everything goes on.
    async fn write(&self, path: Option<PathBuf>, bytes: Vec<u8>) {
        let Some(path) = path else { return };
        let written = tokio::task::spawn_blocking(move || files::replace(&path, &bytes, 0o644)).await;
        if let Ok(Err(error)) = written {
            (self.notices)(&error);
        }
    }

    /// The static KEM keys of the consensus's relays, by their digests. All of one kind are fetched at once: whoever asked for those of one path
    /// would tell the directory which path.
    async fn kem_keys(&self, consensus: &Consensus, kem: usize) -> Result<HashMap<[u8; 32], Vec<u8>>, Error> {
        let wanted: HashSet<[u8; 32]> = consensus.relays.iter().filter_map(|listed| listed.relay.kems[kem]).collect();
        let path = self.cache.as_ref().map(|cache| {
            let mut name = cache.as_os_str().to_owned();
            name.push(format!(".{}", KEMS[kem]));
            PathBuf::from(name)
        });
        let most = MOST_RELAYS * KEM_LENGTHS[kem];
        let of = |bytes: &[u8]| -> HashMap<[u8; 32], Vec<u8>> {
            let keys = bytes.chunks_exact(KEM_LENGTHS[kem]).map(|key| (kem_digest(key), key.to_vec()));
            keys.filter(|(digest, _)| wanted.contains(digest)).collect()
        };
        let mut keys = path
            .as_ref()
            .and_then(|path| files::read_bounded(path, most).ok())
            .map(|bytes| of(&bytes))
            .unwrap_or_default();
        let mut failures = Vec::new();
        let mut turns = self.turns()?;
        while let Some((from, is_last)) = turns.pop_front() {
            if keys.len() == wanted.len() {
                break;
            }
            let limit = if is_last { Limit::Whole } else { Limit::Moment };
            let (came, below) = (AtomicUsize::new(0), format!("/keys/{}", KEMS[kem]));
            let Some(reply) = self.in_time(limit, &came, get_counting(from, &below, None, most, &came)).await else {
                self.is_slow(from, limit, &mut turns);
                continue;
            };
            match reply.and_then(|reply| exchange::Reply::success(reply, from.url())) {
                Ok(reply) => {
                    let more = of(&reply.body);
                    if more.keys().any(|digest| !keys.contains_key(digest)) {
                        keys.extend(more);
                        let all = keys.values().flatten().copied().collect();
                        self.write(path.clone(), all).await;
                    }
                }
                Err(error) => {
                    (self.notices)(&error);
                    failures.push(error.to_string());
                }
            }
        }
        let missing = wanted.len() - keys.len();
        // The keys are not signed, only their digests are. Were some enough, whoever serves them would choose the relays of all circuits.
        match missing {
            0 => Ok(keys),
            _ => Err(Error::NoConsensus {
                why: format!(
                    "{missing} of its {} {} keys are missing at every directory; all are needed{}{}",
                    wanted.len(),
                    KEMS[kem],
                    if failures.is_empty() { "" } else { ": " },
                    failures.join("; ")
                ),
            }),
        }
    }

    /// The directories, beginning with any, so that they share the work.
    fn turns(&self) -> Result<Turns<'_>, Error> {
        let all = &self.directories.addresses;
        let first = u64::from_le_bytes(*random()?) as usize % all.len();
        Ok(all.iter().cycle().skip(first).take(all.len()).map(|from| (from, all.len() == 1)).collect())
    }

    /// What comes of asking, if it comes within that limit. `came` is how many bytes have come so far.
    async fn in_time<T>(&self, limit: Limit, came: &AtomicUsize, asking: impl Future<Output = T>) -> Option<T> {
        let least = (self.quick.as_secs_f64() * PACE as f64) as usize;
        let over = async {
            let mut before = 0;
            loop {
                sleep(self.quick).await;
                let now = came.load(Ordering::Relaxed);
                match limit {
                    Limit::Moment => return,
                    Limit::Pace if now < before + least => return,
                    Limit::Pace | Limit::Whole => before = now,
                }
            }
        };
        tokio::select! {
            biased;
            done = asking => Some(done),
            () = over => None,
        }
    }

    /// One that is too slow has another turn after all others: the line may be slow, and not the directory.
    fn is_slow<'a>(&self, from: &'a DirectoryAddress, limit: Limit, turns: &mut Turns<'a>) {
        let seconds = self.quick.as_secs();
        let why = match limit {
            Limit::Moment => format!("is slow: no whole answer within {seconds} s"),
            _ => format!("is slow: less than {PACE} bytes a second for {seconds} s"),
        };
        (self.notices)(&failed(from.url(), why));
        if matches!(limit, Limit::Moment) {
            turns.push_back((from, true));
        }
    }
}

/// Whether a consensus of those times holds now; otherwise why not. `theirs` is the directory's clock, which tells which of the two is wrong.
fn judge(times: &Times, now: u64, theirs: Option<u64>) -> Result<(), String> {
    let what = if times.valid_after > now.saturating_add(SKEW) {
        format!("consensus begins {} s from now", times.valid_after - now)
    } else if times.valid_until <= now {
        format!("consensus ended {} s ago", now - times.valid_until)
    } else {
        return Ok(());
    };
    let clocks = match theirs {
        Some(theirs) if theirs.abs_diff(now) > SUSPICIOUS => {
            let side = if theirs > now { "behind" } else { "ahead of" };
            format!("; this machine's clock is {} s {side} the directory's: one of them is wrong", theirs.abs_diff(now))
        }
        _ => format!(" by this machine's clock, which says {now} s since 1970"),
    };
    Err(what + &clocks)
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Directory({} addresses)", self.directories.addresses.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_that_answers_drop_by_drop_holds_up_nobody_for_long() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        use tokio::net::TcpListener;

        let listen = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (slow, other) = (listen().await, listen().await);
        let at = |listener: &TcpListener, digit: &str| {
            format!("http://{}/#{}", listener.local_addr().unwrap(), digit.repeat(64))
        };
        let directories = Directories::parse(&[at(&slow, "1"), at(&other, "2")], None).unwrap();
        let mut directory = Directory::new(directories, None);
        directory.quick = Duration::from_millis(100);
        let dripping = tokio::spawn(async move {
            let mut kept = tokio::task::JoinSet::new();
            while let Ok((mut tcp, _)) = slow.accept().await {
                kept.spawn(async move {
                    let _ = tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").await;
                    while tcp.write_all(b"x").await.is_ok() {
                        sleep(Duration::from_millis(10)).await;
                    }
                });
            }
        });
        // Whichever is asked first, the other is asked soon.
        for _ in 0..8 {
            let asking = directory.consensus();
            let answering = async {
                let (mut tcp, _) = other.accept().await.unwrap();
                let _ = tcp.read(&mut [0; 1024]).await;
                tcp.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            };
            tokio::select! {
                _ = asking => panic!("the slow one is waited for in the end"),
                answered = tokio::time::timeout(Duration::from_secs(20), answering) => answered.expect("the other is asked"),
            }
        }
        dripping.abort();
    }

    #[tokio::test]
    async fn while_a_consensus_holds_a_slow_directory_is_waited_for_as_long_as_it_makes_progress() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        use tokio::net::TcpListener;

        // A directory that sends so many bytes each ten milliseconds, 8000 in all, and one that has nothing.
        let serve = async |piece: usize| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let serving = tokio::spawn(async move {
                while let Ok((mut tcp, _)) = listener.accept().await {
                    tokio::spawn(async move {
                        let _ = tcp.read(&mut [0; 1024]).await;
                        let status = if piece > 0 {
                            "200 OK\r\nContent-Length: 8000"
                        } else {
                            "404 Not Found\r\nContent-Length: 0"
                        };
                        let _ = tcp.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await;
                        for _ in 0..8000_usize.checked_div(piece).unwrap_or(0) {
                            sleep(Duration::from_millis(10)).await;
                            let _ = tcp.write_all(&vec![0xff; piece]).await;
                        }
                    });
                }
            });
            (format!("http://{address}/#"), serving)
        };
        let now = Clock::default().now();
        let times = Times { valid_after: now - 7200, fresh_until: now - 3600, valid_until: now + 3600 };
        for (piece, is_read) in [(1, false), (100, true)] {
            let ((slow, serving), (other, idle)) = (serve(piece).await, serve(0).await);
            let directories = Directories::parse(&[slow + &"1".repeat(64), other + &"2".repeat(64)], None).unwrap();
            let told: Arc<Mutex<Vec<String>>> = Arc::default();
            let sink = Arc::clone(&told);
            let mut directory =
                Directory::new(directories, None).with_notices(move |error| locked(&sink).push(error.to_string()));
            directory.quick = Duration::from_millis(200);
            let known = Consensus { times, exit_weight: 0, relays: Vec::new(), signers: Vec::new() };
            *locked(&directory.state) = State { loaded: true, consensus: Some(Arc::new(known)), ..State::default() };
            let asking = tokio::time::timeout(Duration::from_secs(30), directory.refresh());
            assert!(asking.await.expect("it is not waited for to the end").unwrap().was_known);
            let told = locked(&told).join("\n");
            assert!(told.contains("no whole answer within"), "{told}");
            assert_eq!(told.contains("less than 512 bytes a second"), !is_read, "{told}");
            assert_eq!(told.contains("consensus is"), is_read, "a whole answer is looked at: {told}");
            [serving, idle].iter().for_each(tokio::task::JoinHandle::abort);
        }
    }

    #[test]
    fn a_consensus_holds_in_its_time_and_clocks_may_differ_by_an_hour() {
        let times = Times { valid_after: 100_000, fresh_until: 103_600, valid_until: 110_800 };
        for now in [100_000 - 3600, 100_000, 110_799] {
            assert_eq!(judge(&times, now, None), Ok(()), "{now}");
        }
        let early = judge(&times, 100_000 - 3601, Some(100_100)).unwrap_err();
        assert!(early.contains("begins 3601 s from now") && early.contains("3701 s behind the directory's"), "{early}");
        let late = judge(&times, 110_800 + 10, Some(100_100)).unwrap_err();
        assert!(late.contains("ended 10 s ago") && late.contains("ahead of the directory's"), "{late}");
        let nobody = judge(&times, 110_800, Some(110_790)).unwrap_err();
        assert!(nobody.contains("ended 0 s ago by this machine's clock"), "{nobody}");
    }
}
