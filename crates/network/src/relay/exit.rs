//! Streams at the exit: TCP connections to where the policy allows.

use super::circuit::{Circuit, CircuitEnd};
use super::streams::Place;
use super::{Shared, lookups, own};
use crate::files;
use crate::policy::host_address;
use crate::stream::CircuitStream;
use candor_onion::circuit::StreamId;
use candor_onion::relay::message::{Begin, Connected, EndReason};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Bytes to read from a connection at a time: 32 cells' worth.
const READ: usize = 32 * 488;
/// How long a connection may take to accept what a client has sent.
const STUCK: Duration = Duration::from_secs(300);
/// How long it may take to be closed.
const LAST_BYTES: Duration = Duration::from_secs(30);

/// Starts what BEGIN asks for, or says why not. Called with the circuit locked.
pub(super) fn begin(
    relay: &Arc<Shared>,
    circuit: &Arc<Circuit>,
    stream: StreamId,
    target: Begin,
) -> Result<(), EndReason> {
    if !relay.policy.may_permit(&target.host, target.port) {
        return Err(EndReason::EXITPOLICY);
    }
    let circuit_key = Arc::as_ptr(circuit).addr();
    let place = relay.streams.enter(circuit.payer(), circuit_key).ok_or(EndReason::RESOURCELIMIT)?;
    tokio::spawn(serve(Arc::clone(relay), Arc::clone(circuit), stream, target, place));
    Ok(())
}

async fn serve(relay: Arc<Shared>, circuit: Arc<Circuit>, id: StreamId, target: Begin, place: Place) {
    let stream = CircuitStream::new(Arc::new(CircuitEnd(Arc::clone(&circuit))), id);
    let carried = async {
        let connecting = timeout(relay.limits.connect, connect(&relay, &circuit, &target));
        let (tcp, address) = connecting.await.unwrap_or(Err(EndReason::TIMEOUT))?;
        let said = circuit.with(|inner| inner.machine.connected(id, Connected { address: told(address.ip()) }));
        said.map_err(|_| EndReason::DONE)?;
        Ok(carry(tcp, &stream, &place).await)
    };
    let reason = tokio::select! {
        carried = carried => carried.unwrap_or_else(|reason| reason),
        () = stream.gone() => EndReason::DESTROY,
        () = place.idle(relay.limits.idle_stream) => EndReason::TIMEOUT,
        () = place.taken_away() => EndReason::RESOURCELIMIT,
    };
    stream.end(reason);
}

/// What CONNECTED says of the address. `0.0.0.0` is no address there, but announces one of IPv6.
fn told(address: IpAddr) -> Option<IpAddr> {
    Some(address).filter(|address| !address.is_unspecified())
}

async fn connect(relay: &Shared, circuit: &Arc<Circuit>, target: &Begin) -> Result<(TcpStream, SocketAddr), EndReason> {
    // A link that comes from here would be taken for one of ours by those that know us.
    let permitted = |address: &SocketAddr| {
        relay.policy.permits(&target.host, address.ip(), target.port) && !relay.is_listed_port(*address)
    };
    let addresses: Vec<SocketAddr> = match host_address(&target.host) {
        Some(address) => vec![SocketAddr::new(address, target.port)],
        None => {
            let (host, port) = (target.host.clone(), target.port);
            let found = relay.lookups.run(circuit.payer(), move || lookups::system(&host, port)).await;
            found.map_err(|_| EndReason::RESOLVEFAILED)?
        }
    };
    let mut reason = EndReason::EXITPOLICY;
    for address in addresses.into_iter().filter(permitted).take(3) {
        // The relay's own machine, by an address that the policy doesn't know of. Found out before anything connects.
        if !relay.policy.names(address.ip(), target.port) {
            match own::is_own(address.ip()) {
                Ok(false) => {}
                Ok(true) => continue,
                Err(error) => {
                    reason = reason_of(&error);
                    continue;
                }
            }
        }
        match TcpStream::connect(address).await {
            Ok(tcp) => {
                // A stream whose bytes wait for more bytes would be slow for no reason.
                let _ = tcp.set_nodelay(true);
                return Ok((tcp, address));
            }
            Err(error) => reason = reason_of(&error),
        }
    }
    Err(reason)
}

/// Carries bytes both ways until either side ends the stream, or the circuit does; why it ended.
async fn carry(tcp: TcpStream, stream: &CircuitStream, place: &Place) -> EndReason {
    let (mut from_target, mut to_target) = tcp.into_split();
    let down = async {
        let mut buffer = vec![0; READ];
        loop {
            let length = match from_target.read(&mut buffer).await {
                Ok(0) => return EndReason::DONE,
                Ok(length) => length,
                Err(error) => return reason_of(&error),
            };
            place.used();
            if stream.send_all(&buffer[..length]).await.is_err() {
                // The client has ended the stream; what it sent before may still be on its way up.
                return std::future::pending().await;
            }
        }
    };
    let up = async {
        let mut buffer = vec![0; READ];
        loop {
            match stream.receive(&mut buffer).await {
                Ok(0) => {
                    let _ = timeout(LAST_BYTES, to_target.shutdown()).await;
                    return EndReason::DONE;
                }
                Ok(length) => match timeout(STUCK, to_target.write_all(&buffer[..length])).await {
                    Ok(Ok(())) => place.used(),
                    Ok(Err(error)) => return reason_of(&error),
                    Err(_) => return EndReason::TIMEOUT,
                },
                Err(_) => return EndReason::DESTROY,
            }
        }
    };
    tokio::select! {
        reason = down => reason,
        reason = up => reason,
    }
}

fn reason_of(error: &io::Error) -> EndReason {
    match error.kind() {
        _ if files::is_out_of_files(error) => EndReason::RESOURCELIMIT,
        io::ErrorKind::ConnectionRefused => EndReason::CONNECTREFUSED,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => EndReason::CONNRESET,
        io::ErrorKind::TimedOut => EndReason::TIMEOUT,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => EndReason::NOROUTE,
        _ => EndReason::MISC,
    }
}
