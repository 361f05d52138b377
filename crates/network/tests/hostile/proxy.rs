//! Other people's hosts: a proxy in front of a relay, and one that takes connections and never answers.

#![allow(dead_code)] // not every test needs all of it

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Carries connections to a relay, as long as it likes. Dropping it ends them.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    gate: watch::Sender<Gate>,
    task: JoinHandle<()>,
}

/// What gets through.
#[derive(Clone, Copy, Default)]
struct Gate {
    stalled: bool,
    /// Connections that came before this one are dead.
    dead: usize,
    /// What is said to whoever has connected comes in pieces, one each time.
    pause: Duration,
}

impl Proxy {
    /// At an address of this machine with any port.
    pub(crate) async fn start(at: [u8; 4], to: SocketAddr) -> Self {
        Self::start_at(SocketAddr::from((at, 0)), to).await
    }

    /// At ::1.
    pub(crate) async fn at_v6(to: SocketAddr) -> Self {
        Self::start_at(SocketAddr::from((Ipv6Addr::LOCALHOST, 0)), to).await
    }

    async fn start_at(at: SocketAddr, to: SocketAddr) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let gate = watch::Sender::new(Gate::default());
        let (counted, gates) = (Arc::clone(&connections), gate.clone());
        let task = tokio::spawn(async move {
            let mut carried = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let number = counted.fetch_add(1, Ordering::Relaxed);
                let Ok(other) = TcpStream::connect(to).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) = (tcp.into_split(), other.into_split());
                carried.spawn(carry(near_in, far_out, number, false, gates.subscribe()));
                carried.spawn(carry(far_in, near_out, number, true, gates.subscribe()));
            }
        });
        Self { address, connections, gate, task }
    }

    /// How many connections have come.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// From now on nothing gets through.
    pub(crate) fn stall(&self) {
        self.gate.send_modify(|gate| gate.stalled = true);
    }

    /// Over the connections that there are nothing gets through any more, and neither side is told.
    pub(crate) fn cut(&self) {
        self.gate.send_replace(Gate { dead: self.connections(), ..Gate::default() });
    }

    /// From now on 16 kB get through to whoever has connected, and then nothing for so long.
    pub(crate) fn slow_down(&self, pause: Duration) {
        self.gate.send_modify(|gate| gate.pause = pause);
    }

    /// What was held up gets through, and all that comes.
    pub(crate) fn go_on(&self) {
        self.gate.send_modify(|gate| gate.stalled = false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    number: usize,
    is_back: bool,
    mut gate: watch::Receiver<Gate>,
) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let Ok(pause) = gate.wait_for(|gate| !gate.stalled && number >= gate.dead).await.map(|gate| gate.pause) else {
            return;
        };
        if is_back {
            tokio::time::sleep(pause).await;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// Takes connections and says nothing; how many have come.
pub(crate) async fn tarpit() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((tcp, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            kept.push(tcp);
        }
    });
    (address, count)
}
