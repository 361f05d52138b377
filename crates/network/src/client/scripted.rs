//! A relay that keeps to the protocol up to a point, for tests: an honest one, and somebody in front of it who holds its keys and does with each link as a
//! script says.

use crate::clock::Clock;
use crate::link::{Us, accept, connect};
use crate::tls::{Acceptor, Connector};
use crate::{Error, ListedRelay, Relay, RelayConfig, RelayKeys};
use candor_onion::cell::payload::Created2;
use candor_onion::cell::{Cell, Command, DestroyReason, Message, PAYLOAD};
use candor_onion::relay::{Format, Header, RelayCommand};
use std::collections::{HashMap, HashSet, VecDeque};
use std::iter;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What becomes of a client's cells. Those that make and extend circuits go on in all scripts but [`Script::Mute`]; the others are RELAY cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// All go on.
    Honest,
    /// None does.
    Mute,
    /// The circuit is ended.
    Destroys,
    /// The answer is a cell that no hop has made.
    Garbles,
    /// They are dropped, and padding is sent all the time.
    Pads,
    /// A bit of each is flipped.
    Spoils,
    /// The first of each circuit is dropped.
    DropsFirst,
    /// They go on later, and padding is sent all the time.
    Delays(Duration),
    /// The first of each circuit, which opens a stream, goes on, and the second ends it.
    Opens,
    /// The first of each circuit goes on, and then as with [`Script::Pads`].
    Starves,
    /// Only one cell in 20 ms comes back, as over a slow line.
    Slow,
    /// Only four RELAY cells in 20 ms go on, as over a line that is slow the other way.
    SlowUp,
    /// The RELAY cells of the circuit that has the first of all go on, and all other circuits are ended.
    CarriesOne,
    /// Circuits are made here, by `ntor`: it is an exit that opens the first stream of each at once, and sends so many DROP cells.
    Drops(usize),
}

/// The relay. It ends with this.
pub(crate) struct Scripted {
    pub(crate) relay: Relay,
    pub(crate) listed: Arc<ListedRelay>,
    links: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

const PATIENCE: Duration = Duration::from_secs(30);

impl Scripted {
    pub(crate) async fn start(script: Script) -> Self {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let keys = Arc::new(RelayKeys::generate().unwrap());
        let listener = TcpListener::bind(local).await.unwrap();
        // Links lead to the one; the other says that it is where they are taken in.
        let start = async |advertise| {
            let mut config = RelayConfig::new(local);
            (config.limits.handshake_threads, config.advertise) = (1, advertise);
            Relay::start(&keys, config).await.unwrap()
        };
        let (behind, relay) = (start(None).await, start(Some(listener.local_addr().unwrap())).await);
        let listed = relay.listed();
        let (links, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&links), Arc::clone(&open));
        let task = tokio::spawn(async move {
            let mut all = tokio::task::JoinSet::new();
            while let Ok((tcp, from)) = listener.accept().await {
                counts.0.fetch_add(1, Ordering::Relaxed);
                counts.1.fetch_add(1, Ordering::Relaxed);
                let (keys, to, open) = (Arc::clone(&keys), behind.listed().address(), Arc::clone(&counts.1));
                all.spawn(async move {
                    let _ = between(tcp, from, &keys, to, script).await;
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Self { relay, listed, links, open, task }
    }

    /// Links that were made to it.
    pub(crate) fn links(&self) -> usize {
        self.links.load(Ordering::Relaxed)
    }

    /// Links that are not closed.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries a link's cells both ways, until either side closes.
async fn between(
    tcp: TcpStream,
    from: SocketAddr,
    keys: &RelayKeys,
    to: SocketAddr,
    script: Script,
) -> Result<(), Error> {
    let now = Clock::default().now();
    let identity = keys.link_identity(now)?;
    let us = Us { identity: &identity, addresses: &[IpAddr::from([127, 0, 0, 1])] };
    let (acceptor, connector) = (Acceptor::new()?, Connector::new()?);
    let mut near = accept(&acceptor, tcp, from, us, now, PATIENCE).await?;
    let mut far = connect(&connector, None, to, Some(*keys.id()), None, now, PATIENCE).await?;
    let (mut input, mut back) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let mut pads = false;
    // Circuits that have had a RELAY cell, and the first of them; cells that go on later.
    let (mut begun, mut first, mut late) = (HashSet::new(), None, VecDeque::new());
    // Circuits that are made here.
    let mut layers = HashMap::new();
    // Cells that wait for the slow line.
    let mut queue = VecDeque::new();
    loop {
        let (mut onward, mut home) = (Vec::new(), Vec::new());
        while late.front().is_some_and(|(at, _): &(Instant, Cell)| *at <= Instant::now()) {
            late.pop_front().into_iter().for_each(|(_, cell)| cell.encode(&mut onward));
        }
        while let Some(mut cell) = near.decoder.next().expect("a client sends cells") {
            let is_relay = matches!(cell.message, Message::Relay(_));
            let is_first = is_relay && begun.insert(cell.circuit);
            let is_the_one = is_relay && *first.get_or_insert(cell.circuit) == cell.circuit;
            let answer = |message| Cell { circuit: cell.circuit, message };
            match script {
                Script::Mute => {}
                Script::Destroys if is_relay => answer(Message::Destroy(DestroyReason::NONE)).encode(&mut home),
                Script::Garbles if is_relay => answer(Message::Relay(Box::new([7; PAYLOAD]))).encode(&mut home),
                Script::Pads if is_relay => pads = true,
                Script::Spoils => {
                    if let Message::Relay(payload) = &mut cell.message {
                        payload[PAYLOAD / 2] ^= 1;
                    }
                    cell.encode(&mut onward);
                }
                Script::DropsFirst if is_first => {}
                Script::Delays(delay) if is_relay => {
                    pads = true;
                    late.push_back((Instant::now() + delay, cell));
                }
                Script::Opens if is_relay && !is_first => {
                    answer(Message::Destroy(DestroyReason::NONE)).encode(&mut home);
                }
                Script::Starves if is_relay && !is_first => pads = true,
                Script::SlowUp if is_relay => queue.push_back(cell),
                Script::CarriesOne if is_relay && !is_the_one => {
                    answer(Message::Destroy(DestroyReason::NONE)).encode(&mut home);
                }
                Script::Drops(count) => match &cell.message {
                    Message::Create2(create) => {
                        let (reply, layer) = keys.secrets().layer(keys.id(), create.onionskin());
                        layers.insert(cell.circuit, layer);
                        answer(Message::Created2(Created2::new(reply).unwrap())).encode(&mut home);
                    }
                    Message::Relay(_) if is_first => {
                        let layer = layers.get_mut(&cell.circuit).expect("it was made");
                        let connected = iter::once((RelayCommand::CONNECTED, 1));
                        for (command, stream) in connected.chain(iter::repeat_n((RelayCommand::DROP, 0), count)) {
                            let mut payload = Box::new([0; PAYLOAD]);
                            Format::V0.encode(&mut payload, Header { command, stream, length: 0 }, &[]);
                            layer.originate(Command::RELAY, &mut payload);
                            answer(Message::Relay(payload)).encode(&mut home);
                        }
                    }
                    _ => {}
                },
                _ => cell.encode(&mut onward),
            }
        }
        while let Some(cell) = far.decoder.next().expect("a relay sends cells") {
            match script {
                Script::Slow => queue.push_back(cell),
                _ => cell.encode(&mut home),
            }
        }
        let written = async {
            far.stream.write_all(&onward).await?;
            far.stream.flush().await?;
            near.stream.write_all(&home).await?;
            near.stream.flush().await
        };
        if written.await.is_err() {
            return Ok(());
        }
        tokio::select! {
            length = near.stream.read(&mut input) => match length {
                Ok(length @ 1..) => near.decoder.receive(&input[..length]),
                _ => return Ok(()),
            },
            length = far.stream.read(&mut back) => match length {
                Ok(length @ 1..) => far.decoder.receive(&back[..length]),
                _ => return Ok(()),
            },
            _ = tick.tick(), if pads || !queue.is_empty() => {
                let (mut now, mut to_far) = (Vec::new(), Vec::new());
                if pads {
                    Cell::on_link(Message::Padding).encode(&mut now);
                }
                let (line, cells) = if script == Script::SlowUp { (&mut to_far, 4) } else { (&mut now, 1) };
                queue.drain(..queue.len().min(cells)).for_each(|cell: Cell| cell.encode(line));
                if near.stream.write_all(&now).await.is_err() || far.stream.write_all(&to_far).await.is_err() {
                    return Ok(());
                }
                let _ = far.stream.flush().await;
            }
        }
    }
}
