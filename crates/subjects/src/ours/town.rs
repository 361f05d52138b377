//! Three relays, a target and a client on 127.0.0.1, for the tasks of circuits.
//!
//! The relays run in this process, each with a runtime, a thread and a handshake thread of its own. They share no state and talk by
//! TCP, TLS and cells, as they would in processes of their own; what the kernel does is the same, and what a process of its own
//! would add, a larger address space to switch between, is left out. It keeps a fresh worker's set-up short.

use super::thread::{Kept, Thread, runtime};
use candor_network::{
    Circuit, Client, ClientOptions, Crypto, Error, HandshakeType, ListedRelay, Policy, Relay, RelayConfig, RelayKeys,
    RelayList, Target, http,
};
use candor_onion::relay::message::EndReason;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Runtime;

/// A port that the relays' policy does not list.
const NOBODY: u16 = 1;
/// How long a fetch may stand still.
const PATIENCE: Duration = Duration::from_secs(60);

/// The relays of a measurement, and the client with a runtime on the caller's thread.
pub(crate) struct Town {
    client: Client,
    runtime: Runtime,
    list: RelayList,
    target: SocketAddr,
    relays: Vec<Arc<Relay>>,
    // Last, so that everything above is gone before threads are waited for.
    _threads: Vec<Thread>,
}

impl Town {
    /// Starts everything; layers are of `crypto`.
    pub(crate) fn new(crypto: Crypto) -> Result<Self, Error> {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let (target, target_thread) = Thread::new(Error::Internal, move || async move {
            let target = Target::start(local).await?;
            Ok((target.address(), Box::new(target) as Kept))
        })?;
        let (mut relays, mut threads) = (Vec::new(), vec![target_thread]);
        for _ in 0..3 {
            let (relay, thread) = Thread::new(Error::Internal, move || async move {
                let mut config = RelayConfig::new(local);
                config.policy = Policy::parse(&target.to_string())?;
                config.limits.handshake_threads = 1;
                let relay = Arc::new(Relay::start(&RelayKeys::generate()?, config).await?);
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
            _threads: threads,
        })
    }

    fn path(&self) -> &[ListedRelay] {
        self.list.relays()
    }

    /// Builds a circuit of three hops; `lap` is called when the link is there and after each hop. The circuit lives on until the
    /// caller drops it.
    pub(crate) fn circuit(&self, handshake: HandshakeType, lap: impl FnMut(Step)) -> Result<Circuit, Error> {
        self.circuit_of(3, handshake, lap)
    }

    /// The same for one, two or three hops.
    pub(crate) fn circuit_of(
        &self,
        hops: usize,
        handshake: HandshakeType,
        mut lap: impl FnMut(Step),
    ) -> Result<Circuit, Error> {
        let path = self.path().get(..hops).and_then(<[_]>::split_first);
        let Some((first, rest)) = path else { return Err(Error::Internal(format!("no path of {hops} relays"))) };
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

    /// Fetches bytes through the circuit.
    pub(crate) fn fetch(&self, circuit: &Circuit, length: u64) -> Result<Vec<u8>, Error> {
        self.runtime.block_on(async {
            let url = http::Url::parse(&format!("http://{}/bytes/{length}", self.target))?;
            let stream = circuit.open(url.host(), url.port()).await?;
            let mut page = Vec::new();
            http::get(stream, &url, PATIENCE, |bytes| {
                page.extend_from_slice(bytes);
                Ok(())
            })
            .await?;
            Ok(page)
        })
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.disconnect();
    }
}

/// A step of building.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Link,
    Hop,
}
