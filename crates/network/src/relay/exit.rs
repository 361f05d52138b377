//! Streams at the exit: TCP connections to where the policy allows, and look-ups of the names that lead there.

use super::circuit::{Circuit, CircuitEnd};
use super::lookups::NotFound;
use super::streams::Place;
use super::{Shared, own};
use crate::files;
use crate::policy::host_address;
use crate::stream::{Broken, CircuitStream};
use candor_onion::circuit::StreamId;
use candor_onion::relay::message::{Begin, Connected, EndReason, Resolve, Resolved};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Bytes to write to a connection at a time. One that takes nothing keeps so many waiting, beside those in the budget of cells.
const PIECE: usize = 16 << 10;
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

/// Starts to look up what RESOLVE asks for, or says why not. Called with the circuit locked.
pub(super) fn resolve(
    relay: &Arc<Shared>,
    circuit: &Arc<Circuit>,
    stream: StreamId,
    question: Resolve,
) -> Result<(), Resolved> {
    let may_tell = match &question {
        Resolve::Name(host) => relay.policy.may_tell(host),
        Resolve::Pointer(address) => relay.policy.tells("", *address),
    };
    if !may_tell {
        return Err(Resolved::Failed { transient: false });
    }
    let place = relay.streams.enter(circuit.payer(), Arc::as_ptr(circuit).addr());
    let place = place.ok_or(Resolved::Failed { transient: true })?;
    tokio::spawn(answer(Arc::clone(relay), Arc::clone(circuit), stream, question, place));
    Ok(())
}

async fn answer(relay: Arc<Shared>, circuit: Arc<Circuit>, id: StreamId, question: Resolve, place: Place) {
    let stream = CircuitStream::new(Arc::new(CircuitEnd(Arc::clone(&circuit))), id);
    let answer = tokio::select! {
        found = timeout(relay.limits.connect, look_up(&relay, &circuit, question)) => found.unwrap_or(Resolved::Failed { transient: true }),
        // A question brings nothing but its end.
        _ = stream.receive(PIECE) => return,
        () = place.taken_away() => Resolved::Failed { transient: true },
    };
    // A client that has given up in this moment hears nothing.
    let _ = circuit.with(|inner| inner.machine.resolved(id, &answer));
}

async fn look_up(relay: &Shared, circuit: &Arc<Circuit>, question: Resolve) -> Resolved {
    let host = match question {
        Resolve::Pointer(address) => {
            return match relay.lookups.name(circuit.payer(), address).await {
                // What can't be sent is no name.
                Ok(name) if Begin::new(&name, 1).is_ok() => Resolved::Name(name),
                Ok(_) => Resolved::Failed { transient: false },
                Err(NotFound { transient }) => Resolved::Failed { transient },
            };
        }
        Resolve::Name(host) => host,
    };
    let found = match host_address(&host) {
        Some(address) => Ok(vec![address]),
        None => relay.lookups.addresses(circuit.payer(), &host).await,
    };
    match found {
        Ok(found) => {
            let told: Vec<_> = found.into_iter().filter(|address| relay.policy.tells(&host, *address)).collect();
            if told.is_empty() { Resolved::Failed { transient: false } } else { Resolved::Addresses(told) }
        }
        Err(NotFound { transient }) => Resolved::Failed { transient },
    }
}

async fn serve(relay: Arc<Shared>, circuit: Arc<Circuit>, id: StreamId, target: Begin, place: Place) {
    let stream = CircuitStream::new(Arc::new(CircuitEnd(Arc::clone(&circuit))), id);
    // Dropped after the connection, which is closed in this turn.
    let _turn;
    let mut connection = None;
    let mut carried = pin!(async {
        let connecting = connect(&relay, &circuit, &target);
        let connecting = timeout(relay.limits.connect, place.opening.run(connecting));
        let (tcp, address) = connecting.await.unwrap_or(Err(EndReason::TIMEOUT))?;
        let connected = Connected { address: told(address.ip()) };
        let said = circuit.with(|inner| inner.machine.connected(id, connected));
        said.map_err(|_| EndReason::DONE)?;
        Ok(carry(connection.insert(tcp), &stream, &place).await)
    });
    let reason = tokio::select! {
        carried = &mut carried => carried.unwrap_or_else(|reason| reason),
        () = stream.gone() => EndReason::DESTROY,
        () = place.idle(relay.limits.idle_stream) => EndReason::TIMEOUT,
        () = place.taken_away() => EndReason::RESOURCELIMIT,
    };
    stream.set_reason(reason);
    _turn = place.closing.take().await;
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
            let found = relay.lookups.addresses(circuit.payer(), &target.host).await;
            found
                .map_err(|_| EndReason::RESOLVEFAILED)?
                .into_iter()
                .map(|address| SocketAddr::new(address, target.port))
                .collect()
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
async fn carry(tcp: &mut TcpStream, stream: &CircuitStream, place: &Place) -> EndReason {
    let (mut from_target, mut to_target) = tcp.split();
    let down = async {
        loop {
            match stream.send_from(&mut from_target).await {
                Ok(0) => return EndReason::DONE,
                Ok(_) => place.used(),
                Err(Broken::Source(error)) => return reason_of(&error),
                // The client has ended the stream; what it sent before may still be on its way up.
                Err(Broken::Stream) => return std::future::pending().await,
            }
        }
    };
    let up = async {
        loop {
            match stream.receive(PIECE).await {
                Ok(bytes) if bytes.is_empty() => {
                    let _ = timeout(LAST_BYTES, to_target.shutdown()).await;
                    return EndReason::DONE;
                }
                Ok(bytes) => match timeout(STUCK, to_target.write_all(&bytes)).await {
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
