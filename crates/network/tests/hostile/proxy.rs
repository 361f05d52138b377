//! Other people's hosts: a proxy in front of a relay, and one that takes connections and never answers.

#![allow(dead_code)] // not every test needs all of it

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Carries connections to a relay, as long as it likes. Dropping it ends them.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    open: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// At an address of this machine with any port.
    pub(crate) async fn start(at: [u8; 4], to: SocketAddr) -> Self {
        let listener = TcpListener::bind(SocketAddr::from((at, 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (open, _) = watch::channel(true);
        let (counted, gate) = (Arc::clone(&connections), open.clone());
        let task = tokio::spawn(async move {
            let mut carried = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let Ok(other) = TcpStream::connect(to).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) = (tcp.into_split(), other.into_split());
                carried.spawn(carry(near_in, far_out, gate.subscribe()));
                carried.spawn(carry(far_in, near_out, gate.subscribe()));
            }
        });
        Self { address, connections, open, task }
    }

    /// How many connections have come.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// From now on nothing gets through.
    pub(crate) fn stall(&self) {
        self.open.send_replace(false);
    }

    /// What was held up gets through, and all that comes.
    pub(crate) fn go_on(&self) {
        self.open.send_replace(true);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut open: watch::Receiver<bool>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if open.wait_for(|open| *open).await.is_err() || to.write_all(&buffer[..length]).await.is_err() {
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
