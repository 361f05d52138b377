//! The load of a soak: circuits and streams that come and go by a seed.
//!
//! Each circuit has a life, and each of its streams fetches a page that the target sends bit by bit; when a stream ends, another takes its place on the circuit of the moment. At
//! the end of a circuit's life the next one is built first; the old one carries its streams to their ends. So there are as many at once as were asked for, and some circuits more.
//! When the time is over nothing new begins, and every stream still has to come to its end.
//!
//! What is drawn (lives, lengths, which streams are closed early) follows from the seed; when things happen besides depends on the machine.

use super::tally::Tally;
use candor_lab::Random;
use candor_network::http::{self, Url};
use candor_network::{Circuit, CircuitStream, Client, Error, HandshakeType, RelayList, Target};
use candor_suite::hash::{HashAlgorithm, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

/// How long the target may send nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether a circuit is still there; the streams of one that is lost wait for the next.
const LOOK: Duration = Duration::from_secs(1);
/// Circuits that are built at a time.
const BUILDING: usize = 32;
/// One stream of so many is closed before its end.
const CLOSED_EARLY: usize = 8;
/// One stream of so many fetches a large page as fast as it comes.
const HASTY: usize = 64;
/// Bytes of a large page, and of others at most.
const LARGE: u64 = 1_000_000;
const SMALL: usize = 40_000;

/// What is to be there at once, and for how long each lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) circuits: usize,
    pub(super) streams: usize,
    pub(super) seed: u64,
    pub(super) handshake: HandshakeType,
    /// A circuit's life, on average.
    life: Duration,
    /// A stream's, on average.
    stream: Duration,
}

impl Shape {
    /// Lives are such that a soak of that length sees many.
    pub(super) fn new(circuits: usize, streams: usize, seed: u64, handshake: HandshakeType, lasts: Duration) -> Self {
        let part =
            |of: u32, least: u64, most: u64| (lasts / of).clamp(Duration::from_secs(least), Duration::from_secs(most));
        Self { circuits, streams, seed, handshake, life: part(6, 1, 60), stream: part(20, 1, 15) }
    }
}

/// What all circuits share.
pub(super) struct Load {
    shape: Shape,
    client: Client,
    list: RelayList,
    url: Url,
    building: Semaphore,
    /// Whether the time is over.
    over: watch::Sender<bool>,
    pub(super) tally: Tally,
}

/// Half as long or half as long again.
fn about(random: &mut Random, mean: Duration) -> Duration {
    mean.mul_f64(0.5 + random.unit())
}

impl Load {
    pub(super) fn new(shape: Shape, client: Client, list: RelayList, target: &str) -> Result<Arc<Self>, Error> {
        let url = Url::parse(&format!("http://{target}/"))?;
        let building = Semaphore::new(BUILDING);
        let over = watch::Sender::new(false);
        Ok(Arc::new(Self { shape, client, list, url, building, over, tally: Tally::default() }))
    }

    /// Lets nothing new begin.
    pub(super) fn finish(&self) {
        self.over.send_replace(true);
    }

    fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Goes on until [`Self::finish`] is called and what there is has come to its end.
    pub(super) async fn carry(self: &Arc<Self>) {
        let mut all = JoinSet::new();
        for number in 0..self.shape.circuits {
            let from = number * self.shape.streams / self.shape.circuits;
            let to = (number + 1) * self.shape.streams / self.shape.circuits;
            let load = Arc::clone(self);
            all.spawn(async move { load.circuits(number, to - from).await });
        }
        while let Some(ended) = all.join_next().await {
            if ended.is_err() || !self.is_over() {
                self.tally.circuits.failed("a circuit's task has ended");
            }
        }
    }

    /// One circuit after another, with so many streams at once.
    async fn circuits(self: Arc<Self>, number: usize, streams: usize) {
        let mut random = Random::new(self.shape.seed ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (now, of_the_moment) = watch::channel(None);
        let mut all = JoinSet::new();
        for _ in 0..streams {
            let (load, of_the_moment, seed) = (Arc::clone(&self), of_the_moment.clone(), random.bits());
            all.spawn(async move { load.streams(of_the_moment, seed).await });
        }
        let mut over = self.over.subscribe();
        while !self.is_over() {
            match self.built().await {
                Ok(circuit) => {
                    self.tally.circuits.went_well();
                    let circuit = Arc::new(circuit);
                    let _ = now.send(Some(Arc::clone(&circuit)));
                    let life = sleep(about(&mut random, self.shape.life));
                    tokio::select! {
                        () = life => {}
                        why = circuit.lost() => self.tally.circuits.failed(&format!("a circuit was lost: {why}")),
                        _ = over.wait_for(|over| *over) => {}
                        Some(ended) = all.join_next() => self.ended(ended),
                    }
                }
                Err(error) => {
                    self.tally.circuits.failed(&error.to_string());
                    // Nobody gains anything by asking again at once.
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
        // Streams keep the circuits that they are on; those that wait for one have waited enough.
        drop(now);
        while let Some(ended) = all.join_next().await {
            self.ended(ended);
        }
    }

    /// A stream's task ends when the time is over, and not before.
    fn ended(&self, ended: Result<(), JoinError>) {
        if ended.is_err() || !self.is_over() {
            self.tally.streams.failed("a stream's task has ended");
        }
    }

    async fn built(self: &Arc<Self>) -> Result<Counted, Error> {
        let _turn = self.building.acquire().await;
        let path: Vec<_> = self.list.relays().iter().collect();
        Ok(Counted::new(self.client.circuit(&path, self.shape.handshake).await?, self))
    }

    /// One stream after another, each on the circuit of the moment.
    async fn streams(self: Arc<Self>, mut of_the_moment: watch::Receiver<Option<Arc<Counted>>>, seed: u64) {
        let mut random = Random::new(seed);
        while !self.is_over() {
            let lives =
                |circuit: &Option<Arc<Counted>>| circuit.as_ref().is_some_and(|it| it.circuit.failure().is_none());
            let Ok(circuit) = of_the_moment.wait_for(lives).await.map(|circuit| circuit.clone()) else { return };
            let Some(circuit) = circuit else { return };
            match self.fetch(&circuit.circuit, &Page::drawn(&mut random, self.shape.stream)).await {
                Ok(()) => self.tally.streams.went_well(),
                Err(why) => {
                    self.tally.streams.failed(&why);
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

/// A circuit that is counted while it is there.
struct Counted {
    circuit: Circuit,
    load: Arc<Load>,
}

impl Counted {
    fn new(circuit: Circuit, load: &Arc<Load>) -> Self {
        load.tally.circuits.comes();
        Self { circuit, load: Arc::clone(load) }
    }

    /// Waits until the circuit has ended, and says why.
    async fn lost(&self) -> Error {
        loop {
            match self.circuit.failure() {
                Some(why) => return why,
                None => sleep(LOOK).await,
            }
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.load.tally.circuits.goes();
    }
}

/// What a stream fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Page {
    length: u64,
    /// Over how many seconds the target spreads it.
    over: u64,
    /// When the stream is closed, if before its end.
    closed: Option<Duration>,
}

impl Page {
    fn drawn(random: &mut Random, mean: Duration) -> Self {
        let (is_hasty, is_closed) = (random.below(HASTY) == 0, random.below(CLOSED_EARLY) == 0);
        let (length, lasts, part) = (1 + random.below(SMALL) as u64, about(random, mean), random.unit());
        match is_hasty {
            true => Self { length: LARGE, over: 0, closed: None },
            false => Self { length, over: lasts.as_secs().max(1), closed: is_closed.then(|| lasts.mul_f64(part)) },
        }
    }

    fn path(&self) -> String {
        match self.over {
            0 => format!("bytes/{}", self.length),
            over => format!("bytes/{}?over={over}", self.length),
        }
    }
}

/// What has come of a page so far.
struct Came {
    length: u64,
    hash: Hasher,
}

impl Came {
    /// Whether that page begins so, by its SHA-256.
    fn begins(self, page: &Page) -> bool {
        let mut left = self.length;
        let mut hash = Hasher::new(HashAlgorithm::Sha256);
        for piece in Target::bytes(page.length) {
            let taken = usize::try_from(left).map_or(piece.len(), |left| left.min(piece.len()));
            hash.update(&piece[..taken]);
            left -= taken as u64;
            if left == 0 {
                break;
            }
        }
        left == 0 && digest(hash) == digest(self.hash)
    }
}

fn digest(hash: Hasher) -> [u8; 32] {
    let mut digest = [0; 32];
    hash.finish(&mut digest).expect("SHA-256 has 32 bytes");
    digest
}

impl Load {
    /// Fetches a page, or its beginning, and checks it.
    async fn fetch(&self, circuit: &Circuit, page: &Page) -> Result<(), String> {
        let stream = self.open(circuit).await?;
        let _stream = self.tally.streams.alive();
        let mut came = Came { length: 0, hash: Hasher::new(HashAlgorithm::Sha256) };
        let url = Url::parse(&format!("{}{}", self.url, page.path())).map_err(|error| error.to_string())?;
        let fetching = http::get(stream, &url, PATIENCE, |piece| {
            came.length += piece.len() as u64;
            came.hash.update(piece);
            Ok::<_, io::Error>(())
        });
        let whole = match page.closed {
            None => fetching.await.map(|_| true),
            Some(after) => timeout(after, fetching).await.map_or(Ok(false), |answer| answer.map(|_| true)),
        };
        let whole = whole.map_err(|error| error.to_string())?;
        let length = came.length;
        if whole && length != page.length {
            return Err(format!("LOST BYTES: a page of {} bytes ended after {length}", page.length));
        }
        if !came.begins(page) {
            return Err(format!("WRONG BYTES: the first {length} of a page of {} bytes are others", page.length));
        }
        self.tally.bytes.fetch_add(length, Ordering::Relaxed);
        self.tally.closed.fetch_add(u64::from(!whole), Ordering::Relaxed);
        Ok(())
    }

    async fn open(&self, circuit: &Circuit) -> Result<CircuitStream, String> {
        circuit.open(self.url.host(), self.url.port()).await.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(bytes: &[u8]) -> Came {
        let mut hash = Hasher::new(HashAlgorithm::Sha256);
        hash.update(bytes);
        Came { length: bytes.len() as u64, hash }
    }

    #[test]
    fn a_byte_that_is_lost_or_changes_its_place_shows() {
        let page = Page { length: 70_000, over: 0, closed: None };
        let bytes: Vec<u8> = Target::bytes(page.length).flatten().collect();
        for length in [0, 1, 498, 65_536, 70_000] {
            assert!(came(&bytes[..length]).begins(&page), "{length}");
        }
        let mut lost = bytes.clone();
        lost.remove(40_000);
        assert!(!came(&lost).begins(&page));
        let mut swapped = bytes.clone();
        swapped.swap(10_000, 10_498);
        assert!(!came(&swapped).begins(&page));
        let more = [bytes, vec![0]].concat();
        assert!(!came(&more).begins(&page), "longer than the page");
    }

    #[test]
    fn what_is_drawn_follows_from_the_seed() {
        let drawn = |seed| -> Vec<Page> {
            let mut random = Random::new(seed);
            (0..1000).map(|_| Page::drawn(&mut random, Duration::from_secs(10))).collect()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let pages = drawn(3);
        assert!(pages.iter().any(|page| page.over == 0 && page.length == LARGE));
        let paced = || pages.iter().filter(|page| page.over > 0);
        assert!(paced().all(|page| (5..=15).contains(&page.over) && page.length <= SMALL as u64));
        let closed = paced().filter(|page| page.closed.is_some()).count();
        assert!((60..200).contains(&closed), "one in eight: {closed}");
        assert!(pages.iter().filter_map(|page| Some((page.closed?, page.over))).all(|(at, over)| at.as_secs() <= over));
    }
}
