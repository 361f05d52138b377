//! Bytes through circuits for a fixed time: a source in this process, on a thread of its own, streams that lead to it, and a client that compares every byte with what
//! the source sends.

use super::relays::{Relays, Whose};
use super::thread::{Kept, Thread};
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_network::{Circuit, CircuitStream, Crypto, Error, HandshakeType};
use candor_onion::relay::message::EndReason;
use candor_peers::seed::Stream;
use candor_peers::tor_relays::{self, Scheduler};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Bytes after which what the source sends begins anew. No power of two and no multiple of a cell's data, so that a cell in the place of another shows.
const PERIOD: usize = (1 << 20) - 5;
/// Bytes to write and read at a time.
const PIECE: usize = 64 << 10;
/// Threads that work: the client's, the source's, and in each relay one for cells and one for handshakes; of the latter C tor has two.
const THREADS: u32 = 8;
const THREADS_WITH_TOR: u32 = 11;
/// How long a stream may take to be opened, and to bring anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends bytes that follow from a seed to whoever connects: as many as are asked for by eight bytes.
struct Source {
    address: SocketAddr,
    bytes: Arc<Vec<u8>>,
    _thread: Thread,
}

impl Source {
    fn start(seed: u64) -> Result<Self, String> {
        // Twice, so that any piece is in one piece.
        let mut bytes = vec![0; 2 * PERIOD];
        let (once, again) = bytes.split_at_mut(PERIOD);
        Stream::new(seed, "transfer").fill(once);
        again.copy_from_slice(once);
        let bytes = Arc::new(bytes);
        let sent = Arc::clone(&bytes);
        let (address, thread) = Thread::new(
            |why| why,
            move || async move {
                let listening = TcpListener::bind(("127.0.0.1", 0)).await;
                let listener = listening.map_err(|error| format!("the source can't listen: {error}"))?;
                let address = listener.local_addr().map_err(|error| error.to_string())?;
                let task = tokio::spawn(async move {
                    while let Ok((tcp, _)) = listener.accept().await {
                        tokio::spawn(send(tcp, Arc::clone(&sent)));
                    }
                });
                Ok((address, Box::new(task) as Kept))
            },
        )?;
        Ok(Self { address, bytes, _thread: thread })
    }
}

/// Whoever has enough closes the connection.
async fn send(mut tcp: TcpStream, bytes: Arc<Vec<u8>>) {
    let _ = tcp.set_nodelay(true);
    let Ok(mut left) = tcp.read_u64().await else { return };
    let mut at = 0;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        if tcp.write_all(&bytes[at..at + length]).await.is_err() {
            return;
        }
        left -= length as u64;
        at = (at + length) % PERIOD;
    }
}

/// What a transfer brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Brought {
    pub(crate) bytes: u64,
    /// Wall time, from asking for the streams.
    pub(crate) wall: Duration,
    /// CPU nanoseconds of the relays.
    pub(crate) cpu_ns: Option<u64>,
}

/// Which circuits, and how many streams through each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) handshake: HandshakeType,
    pub(crate) crypto: Crypto,
    pub(crate) circuits: usize,
    /// Of each circuit.
    pub(crate) streams: usize,
}

impl Layout {
    /// One circuit and one stream. Tor's ntor can't ask for other layers than tor1's.
    pub(crate) fn of_one(handshake: HandshakeType) -> Self {
        let crypto = if handshake == HandshakeType::Ntor { Crypto::Tor1 } else { Crypto::Cgo };
        Self { handshake, crypto, circuits: 1, streams: 1 }
    }
}

/// Circuits through three relays, and the source behind them.
pub(crate) struct Pipes {
    circuits: Vec<Arc<Circuit>>,
    /// Of each circuit.
    streams: usize,
    relays: Relays,
    source: Source,
}

impl Pipes {
    pub(crate) fn lay(whose: Whose, layout: Layout, seed: u64) -> Result<Self, Refusal> {
        let Layout { handshake, crypto, circuits, streams } = layout;
        let source = Source::start(seed).map_err(Refusal::failed)?;
        let relays = Relays::start(whose, crypto, source.address)?;
        let built = relays.wait(async {
            let mut built = Vec::new();
            for _ in 0..circuits {
                built.push(Arc::new(relays.circuit(handshake).await?));
            }
            // A fresh relay of C tor's refuses streams until it has written its own descriptor.
            let since = Instant::now();
            while let Err(error) = open(&built[0], source.address, 0).await {
                match error {
                    Error::Stream { reason: EndReason::EXITPOLICY | EndReason::MISC, .. }
                        if since.elapsed() < PATIENCE =>
                    {
                        sleep(Duration::from_millis(100)).await;
                    }
                    error => return Err(error),
                }
            }
            Ok(built)
        });
        let circuits = built.map_err(|error: Error| Refusal::failed(error.to_string()))?;
        Ok(Self { circuits, streams, relays, source })
    }

    /// The page that every subject fetches: its length depends on the seed, and so do its bytes.
    pub(crate) fn witness(&self, seed: u64) -> Result<Witness, Refusal> {
        let page = self.page(usize::try_from(1000 + seed % 1000).unwrap_or(1000)).map_err(Refusal::failed)?;
        Ok(Witness::default().with("page", page))
    }

    /// Fetches a page as long as another's, and compares.
    pub(crate) fn compare(&self, other: &Witness) -> Result<(), Mismatch> {
        let page = self.page(other.part("page")?.len()).map_err(Mismatch::new)?;
        Witness::default().with("page", page).same_as(other)
    }

    /// So many bytes over one stream.
    fn page(&self, length: usize) -> Result<Vec<u8>, String> {
        self.relays.wait(async {
            let mut stream = open(&self.circuits[0], self.source.address, length as u64).await.map_err(told)?;
            let mut page = Vec::new();
            let read = timeout(PATIENCE, stream.read_to_end(&mut page)).await;
            read.map_err(|_| "the page has stopped".to_owned())?.map_err(|error| error.to_string())?;
            Ok(page)
        })
    }

    /// Carries bytes for that long over all streams, which are opened for it. What is still on its way then is waited for outside the clocks.
    ///
    /// # Errors
    /// What went wrong; a byte that is not the one that was sent is an error, too.
    pub(crate) fn carry(&self, time: Duration) -> Result<Brought, String> {
        self.relays.wait(async {
            let (cpu, began) = (self.relays.cpu_ns(), Instant::now());
            let until = began + time;
            let mut readers = JoinSet::new();
            for circuit in self.circuits.iter().flat_map(|circuit| std::iter::repeat_n(circuit, self.streams)) {
                let (circuit, address) = (Arc::clone(circuit), self.source.address);
                let sent = Arc::clone(&self.source.bytes);
                readers.spawn(async move { read(&circuit, address, &sent, until).await });
            }
            let mut brought = Brought::default();
            while let Some(read) = readers.join_next().await {
                brought.bytes += read.map_err(|error| error.to_string())??;
            }
            brought.wall = began.elapsed();
            brought.cpu_ns = cpu.zip(self.relays.cpu_ns()).map(|(before, after)| after.saturating_sub(before));
            for circuit in &self.circuits {
                let mut stream = open(circuit, self.source.address, 1).await.map_err(told)?;
                let answered = timeout(PATIENCE, stream.read_u8()).await;
                answered.map_err(|_| "a circuit is stuck".to_owned())?.map_err(|error| error.to_string())?;
            }
            Ok(brought)
        })
    }

    pub(crate) fn relays(&self) -> &Relays {
        &self.relays
    }
}

/// The entry of C tor's relays, under the program's name and a suffix.
pub(crate) fn tors<S: Subject + 'static>(
    suffix: &str,
    scheduler: Scheduler,
    make: impl Fn(Whose) -> Result<S, Refusal> + Send + Sync + 'static,
) -> Entry {
    match tor_relays::tor() {
        Ok(tor) => Entry::new(format!("{}{suffix}", tor.name()), move || make(Whose::Tors(tor, scheduler))),
        Err(refusal) => Entry::refused(format!("tor{suffix}"), refusal),
    }
}

/// What such subjects say of themselves: whose the relays are, and how many threads work.
pub(crate) fn said_of_relays(whose: Whose, timed: &str, ours: impl FnOnce(&str) -> Provenance) -> Provenance {
    let (provenance, threads) = match whose {
        Whose::Ours => {
            let of_process = "three processes of this program, one thread for cells and one for handshakes in each";
            (ours(&format!("{timed}; {of_process}")), THREADS)
        }
        Whose::Tors(tor, scheduler) => {
            let of_process = format!(
                "three processes of C tor's with `Schedulers {}` and `NumCPUs 1`, whose main threads carry all cells, with two threads for handshakes in each",
                scheduler.name()
            );
            (tor.provenance(&format!("{timed}; {of_process}")), THREADS_WITH_TOR)
        }
    };
    Provenance { threads: Some(threads), ..provenance }
}

fn told(error: Error) -> String {
    error.to_string()
}

/// A stream to the source, which is asked for so many bytes.
async fn open(circuit: &Circuit, source: SocketAddr, length: u64) -> Result<CircuitStream, Error> {
    let mut stream = circuit.open(&source.ip().to_string(), source.port()).await?;
    let asked = stream.write_u64(length).await;
    asked.map_err(|error| Error::Internal(format!("the source can't be asked: {error}")))?;
    Ok(stream)
}

/// Reads and compares until the time is over; how many bytes came.
async fn read(circuit: &Circuit, source: SocketAddr, sent: &[u8], until: Instant) -> Result<u64, String> {
    let mut stream = open(circuit, source, u64::MAX).await.map_err(told)?;
    let (mut buffer, mut came, mut at) = (vec![0; PIECE], 0, 0);
    while Instant::now() < until {
        let read = timeout(PATIENCE, stream.read(&mut buffer)).await;
        let length = read.map_err(|_| "a stream is stuck".to_owned())?.map_err(|error| error.to_string())?;
        if length == 0 {
            return Err("a stream has ended early".to_owned());
        }
        if buffer[..length] != sent[at..at + length] {
            return Err(format!("a byte is another one, within {length} behind the first {came} of a stream"));
        }
        came += length as u64;
        at = (at + length) % PERIOD;
    }
    Ok(came)
}
