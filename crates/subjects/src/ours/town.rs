//! Three relays, a target, a client and, where it is measured, a directory on 127.0.0.1, for the tasks of circuits.
//!
//! The relays run in this process, each with a runtime, a thread and a handshake thread of its own. They share no state and talk by
//! TCP, TLS and cells, as they would in processes of their own; what the kernel does is the same, and what a process of its own
//! would add, a larger address space to switch between, is left out. It keeps a fresh worker's set-up short.

use super::thread::{Kept, Thread, runtime};
use candor_network::directory::{
    Attendance, Authority, AuthorityConfig, AuthorityKeys, Directories, Directory, attend,
};
use candor_network::{
    Circuit, Client, ClientOptions, Clock, Crypto, Error, HandshakeType, ListedRelay, Policy, Relay, RelayConfig,
    RelayKeys, RelayList, Target, http,
};
use candor_onion::relay::message::EndReason;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// A port that the relays' policy does not list.
const NOBODY: u16 = 1;
/// How long a fetch may stand still.
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of a client's file.
const CONSENSUS: &str = "consensus";
/// How often a new client asks for a consensus with all relays, and the pause between.
const ASKS: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);
/// How often it is looked whether links are closed.
const CLOSING: Duration = Duration::from_millis(1);

/// The relays of a measurement, and the client with a runtime on the caller's thread.
pub(crate) struct Town {
    client: Client,
    runtime: Runtime,
    list: RelayList,
    target: SocketAddr,
    relays: Vec<Arc<Relay>>,
    published: Option<Published>,
    // Last, so that everything above is gone before threads are waited for.
    _threads: Vec<Thread>,
}

/// The relays' directory, and the file in which a client keeps its consensus.
struct Published {
    directories: Directories,
    folder: TempDir,
    /// As a client has it that runs: its consensus is in memory.
    running: Directory,
}

impl Published {
    fn cache(&self) -> PathBuf {
        self.folder.path().join(CONSENSUS)
    }
}

/// An address that takes any port.
fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

impl Town {
    /// Starts everything; layers are of `crypto`.
    pub(crate) fn new(crypto: Crypto) -> Result<Self, Error> {
        Self::start(crypto, Vec::new(), None)
    }

    /// The same with a directory, and a client that has its consensus in a file.
    pub(crate) fn published(crypto: Crypto) -> Result<Self, Error> {
        let (address, thread) = Thread::new(Error::Internal, || async {
            let keys = AuthorityKeys::generate(Clock::default().now())?;
            let authority = Authority::start(keys, AuthorityConfig::new(local())).await?;
            Ok((authority.directory()?, Box::new(authority) as Kept))
        })?;
        let folder = tempfile::tempdir().map_err(|error| Error::Internal(format!("no temporary folder: {error}")))?;
        let directories = Directories::new(vec![address], None)?;
        let running = Directory::new(directories.clone(), Some(folder.path().join(CONSENSUS)));
        let published = Published { directories, folder, running };
        let town = Self::start(crypto, vec![thread], Some(published))?;
        town.await_consensus()?;
        Ok(town)
    }

    fn start(crypto: Crypto, mut threads: Vec<Thread>, published: Option<Published>) -> Result<Self, Error> {
        let (target, target_thread) = Thread::new(Error::Internal, || async {
            let target = Target::start(local()).await?;
            Ok((target.address(), Box::new(target) as Kept))
        })?;
        threads.push(target_thread);
        let mut relays = Vec::new();
        for _ in 0..3 {
            let directories = published.as_ref().map(|published| published.directories.clone());
            let (relay, thread) = Thread::new(Error::Internal, move || async move {
                let mut config = RelayConfig::new(local());
                config.policy = Policy::parse(&target.to_string())?;
                config.limits.handshake_threads = 1;
                let relay = Arc::new(Relay::start(&RelayKeys::generate()?, config).await?);
                if let Some(directories) = directories {
                    let attending = Arc::clone(&relay);
                    // Ends with the thread's runtime.
                    tokio::spawn(async move {
                        let directory = Directory::new(directories, None);
                        attend(&attending, &directory, &Attendance::default(), |_| {}).await;
                    });
                }
                Ok((Arc::clone(&relay), Box::new(relay) as Kept))
            })?;
            relays.push(relay);
            threads.push(thread);
        }
        let lines: Vec<String> = relays.iter().map(|relay| relay.listed().to_line()).collect();
        Ok(Self {
            client: Client::new(ClientOptions { crypto, ..ClientOptions::default() })?,
            runtime: runtime().map_err(|error| Error::Internal(format!("no runtime: {error}")))?,
            list: RelayList::parse(&lines.join("\n"))?,
            target,
            relays,
            published,
            _threads: threads,
        })
    }

    /// Waits until the directory lists every relay; its consensus is in the client's file then.
    fn await_consensus(&self) -> Result<(), Error> {
        let directory = &self.directory()?.running;
        self.runtime.block_on(async {
            for _ in 0..ASKS {
                if let Ok(fetched) = directory.refresh().await
                    && fetched.consensus.relays.len() == self.relays.len()
                {
                    // Keys that a handshake needs besides are kept as well.
                    for handshake in HandshakeType::ALL {
                        directory.relays(&fetched.consensus, handshake).await?;
                    }
                    return Ok(());
                }
                tokio::time::sleep(PAUSE).await;
            }
            Err(Error::Internal("the directory does not list all relays".to_owned()))
        })
    }

    fn directory(&self) -> Result<&Published, Error> {
        self.published.as_ref().ok_or_else(|| Error::Internal("these relays have no directory".to_owned()))
    }

    /// The relays as a client learns of them: one that has just started from its file or from the directory, one that runs from what it has.
    pub(crate) fn learn(&self, from: Source, handshake: HandshakeType) -> Result<RelayList, Error> {
        let published = self.directory()?;
        let new = |cache| Directory::new(published.directories.clone(), cache);
        let started = match from {
            Source::Directory => Some(new(None)),
            Source::File => Some(new(Some(published.cache()))),
            Source::Memory => None,
        };
        let directory = started.as_ref().unwrap_or(&published.running);
        self.runtime.block_on(async {
            let fetched = directory.consensus().await?;
            directory.relays(&fetched.consensus, handshake).await
        })
    }

    /// Builds a circuit of three hops; `lap` is called when the link is there and after each hop. The circuit lives on until the
    /// caller drops it.
    pub(crate) fn circuit(&self, handshake: HandshakeType, lap: impl FnMut(Step)) -> Result<Circuit, Error> {
        self.circuit_of(3, handshake, lap)
    }

    /// The same through relays that a client has [learnt of](Self::learn).
    pub(crate) fn circuit_over(
        &self,
        list: &RelayList,
        handshake: HandshakeType,
        lap: impl FnMut(Step),
    ) -> Result<Circuit, Error> {
        self.circuit_through(list.relays(), handshake, lap)
    }

    /// The same for one, two or three hops.
    pub(crate) fn circuit_of(
        &self,
        hops: usize,
        handshake: HandshakeType,
        lap: impl FnMut(Step),
    ) -> Result<Circuit, Error> {
        let path = self.list.relays().get(..hops);
        self.circuit_through(path.unwrap_or_default(), handshake, lap)
    }

    fn circuit_through(
        &self,
        path: &[ListedRelay],
        handshake: HandshakeType,
        mut lap: impl FnMut(Step),
    ) -> Result<Circuit, Error> {
        let Some((first, rest)) = path.split_first() else {
            return Err(Error::Internal("no relay for a circuit".to_owned()));
        };
        self.runtime.block_on(async {
            self.client.connect(first).await?;
            lap(Step::Link);
            let mut circuit = self.client.first_hop(first, handshake).await?;
            lap(Step::Hop);
            for relay in rest {
                circuit.extend(relay, handshake).await?;
                lap(Step::Hop);
            }
            Ok(circuit)
        })
    }

    /// Sends so many cells at once to the last hop, each of which it answers with one: streams to where it may not connect.
    pub(crate) fn cross(&self, circuit: &Circuit, cells: usize) -> Result<(), Error> {
        let mut opening: Vec<_> = (0..cells).map(|_| Box::pin(circuit.open("127.0.0.1", NOBODY))).collect();
        let mut result = Ok(());
        let answered = poll_fn(|cx| {
            opening.retain_mut(|stream| match stream.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(answer) => {
                    match answer {
                        Err(Error::Stream { reason: EndReason::EXITPOLICY, .. }) => {}
                        Err(error) => result = Err(error),
                        Ok(_) => result = Err(Error::Internal("an exit allows what its policy does not".to_owned())),
                    }
                    false
                }
            });
            if opening.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        });
        self.runtime.block_on(answered);
        result
    }

    /// Closes every link, so that the next circuit has to make its own.
    pub(crate) fn disconnect(&self) {
        self.client.disconnect();
        self.relays.iter().for_each(|relay| relay.disconnect());
    }

    /// The same, and waits until the relays are done with it.
    pub(crate) fn part(&self) {
        self.disconnect();
        let has_links = |relay: &Arc<Relay>| relay.held().links > 0;
        self.runtime.block_on(async {
            // The client's ends of the links are closed on this thread. The directory may be trying a relay.
            for _ in 0..ASKS {
                tokio::time::sleep(CLOSING).await;
                if !self.relays.iter().any(has_links) {
                    break;
                }
            }
        });
    }

    /// Fetches bytes through the circuit.
    pub(crate) fn fetch(&self, circuit: &Circuit, length: u64) -> Result<Vec<u8>, Error> {
        let mut page = Vec::new();
        self.fetch_over(Way::Circuit(circuit), length, || {}, |bytes| page.extend_from_slice(bytes))?;
        Ok(page)
    }

    /// Fetches bytes of the target's; `opened` is called when the connection or the stream is there, `sink` has each piece that comes.
    pub(crate) fn fetch_over(
        &self,
        way: Way<'_>,
        length: u64,
        opened: impl FnOnce(),
        mut sink: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let sink = |bytes: &[u8]| {
            sink(bytes);
            Ok(())
        };
        self.runtime.block_on(async {
            let url = http::Url::parse(&format!("http://{}/bytes/{length}", self.target))?;
            match way {
                Way::Circuit(circuit) => {
                    let stream = circuit.open(url.host(), url.port()).await?;
                    opened();
                    http::get(stream, &url, PATIENCE, sink).await
                }
                Way::Straight => {
                    let refused = |error: std::io::Error| Error::Internal(format!("no connection to {url}: {error}"));
                    let tcp = TcpStream::connect(self.target).await.map_err(refused)?;
                    opened();
                    http::get(tcp, &url, PATIENCE, sink).await
                }
            }
        })?;
        Ok(())
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.disconnect();
    }
}

/// How bytes come from the target.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    Circuit(&'a Circuit),
    /// By a connection of this machine's, without a circuit.
    Straight,
}

/// Where a client has its consensus from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The directory, when it has just started and knows nothing.
    Directory,
    /// Its file, when it has just started.
    File,
    /// What it has in memory, when it runs.
    Memory,
}

/// A step of building.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Directory,
    Link,
    Hop,
}
