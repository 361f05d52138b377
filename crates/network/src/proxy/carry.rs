//! Bytes between a client and its stream.

use super::Shared;
use super::metrics::Count;
use super::pool::Trial;
use crate::clock::instant;
use crate::link::locked;
use crate::stream::{Broken, CircuitStream};
use socket2::SockRef;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};

/// Bytes to write to a client at a time. One that takes nothing keeps so many waiting.
const PIECE: usize = 64 << 10;
/// How long a connection may take to be closed.
const LAST_BYTES: Duration = Duration::from_secs(30);

/// Carries bytes both ways until either side ends the stream. `early` has what came from the client with its request.
pub(super) async fn carry(
    shared: &Arc<Shared>,
    mut tcp: TcpStream,
    (stream, mut trial): (CircuitStream, Trial),
    early: &[u8],
) {
    let counters = &shared.counters;
    let _counted = Count::hold(counters, |counters| &counters.streams);
    let used = Mutex::new(instant());
    let in_use = || *locked(&used) = instant();
    let (mut from_client, mut to_client) = tcp.split();
    let up = async {
        let mut sent = stream.send_all(early).await.map(|()| early.len()).map_err(|_| Broken::Stream);
        loop {
            match sent {
                Ok(length) => counters.bytes_up.add(length),
                Err(Broken::Source(error)) => return Err(error),
                // What came down before is still on its way, and then it says why it ended.
                Err(Broken::Stream) => return std::future::pending().await,
            }
            in_use();
            sent = stream.send_from(&mut from_client).await;
            if matches!(sent, Ok(0)) {
                return Ok(());
            }
        }
    };
    let down = async {
        loop {
            let came = stream.receive(PIECE).await;
            trial.heard(came.as_ref().is_ok_and(|bytes| !bytes.is_empty()));
            let bytes = came?;
            if bytes.is_empty() {
                let _ = timeout(LAST_BYTES, to_client.shutdown()).await;
                return Ok(());
            }
            timeout(shared.config.stuck, to_client.write_all(&bytes)).await.map_err(io::Error::other)??;
            counters.bytes_down.add(bytes.len());
            in_use();
        }
    };
    let ended = tokio::select! {
        // Tor's streams have no half that ends alone. A client that has closed both notices nothing, and one that still reads must not take
        // a part for the whole.
        ended = up => ended.and(Err(io::ErrorKind::ConnectionReset.into())),
        ended = down => ended,
        () = idle(&used, shared.config.idle) => Err(io::ErrorKind::TimedOut.into()),
    };
    drop(stream);
    if ended.is_err() {
        // The client must not take what it has for all there is.
        let _ = SockRef::from(&tcp).set_linger(Some(Duration::ZERO));
    }
}

/// Comes back when nothing was carried for so long.
async fn idle(used: &Mutex<Instant>, most: Duration) {
    loop {
        let until = *locked(used) + most;
        if until <= instant() {
            return;
        }
        sleep_until(until.into()).await;
    }
}
