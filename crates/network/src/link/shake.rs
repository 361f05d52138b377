//! From an address to a link: TCP, TLS, the link handshake.

use super::wide::Wide;
use crate::keys::random;
use crate::tls::{self, Acceptor, Connector};
use crate::{Error, files};
use candor_onion::cell::Decoder;
use candor_onion::link::{Addresses, EXPORTER_CONTEXT, Initiator, Link, LinkHandshake, RelayIdentity, Responder};
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsStream;

/// A link that has been agreed on.
pub(crate) struct Shaken {
    /// The other end as TCP has it.
    pub(crate) remote: SocketAddr,
    /// This end as TCP has it.
    pub(crate) local: IpAddr,
    pub(crate) stream: TlsStream<Wide<TcpStream>>,
    pub(crate) decoder: Decoder,
    pub(crate) link: Link,
    /// TLS's key exchange, and whether it is post-quantum.
    pub(crate) group: (String, bool),
    /// Where the numbers of our circuits begin.
    pub(crate) first_number: u32,
}

/// What a relay brings to a link.
#[derive(Clone, Copy)]
pub(crate) struct Us<'a> {
    pub(crate) identity: &'a RelayIdentity,
    /// The addresses that it tells its neighbours.
    pub(crate) addresses: &'a [IpAddr],
}

/// Connects to the relay with the identity `expect`, as the relay `us` or as a client, within `limit`; `now` is the time of day. `from` is
/// this end's address, if the system is not to choose it.
pub(crate) async fn connect(
    connector: &Connector,
    from: Option<IpAddr>,
    address: SocketAddr,
    expect: Option<[u8; 32]>,
    us: Option<Us<'_>>,
    now: u64,
    limit: Duration,
) -> Result<Shaken, Error> {
    let steps = async {
        let failed = |error: io::Error| match files::is_out_of_files(&error) {
            true => Error::NoFiles,
            false => Error::Connect { address, why: error.to_string() },
        };
        let tcp = dial(from, address).await.map_err(failed)?;
        set_up(&tcp).map_err(failed)?;
        let broken = |why: String| Error::Tls { address, why };
        let name = Connector::name(address.ip());
        let stream = connector.0.connect(name, Wide::new(tcp)).await.map_err(|error| broken(error.to_string()))?;
        let connection = stream.get_ref().1;
        let certificate =
            tls::shown_certificate(connection).ok_or_else(|| broken("the relay shows no certificate".to_owned()))?;
        let context = us.map_or(&EXPORTER_CONTEXT, |us| us.identity.exporter_context());
        let binding = tls::binding(connection, certificate, context).map_err(|error| broken(error.to_string()))?;
        let group = tls::group(connection);
        let addresses = Addresses { ours: us.map_or(&[], |us| us.addresses), theirs: Some(address.ip()) };
        let relay = us.map(|us| us.identity);
        let initiator = Initiator { relay, expect, binding, now, nonce: *random()?, addresses };
        run(stream.into(), LinkHandshake::initiator(initiator), address, group).await
    };
    limited(steps, address, limit).await
}

/// Takes a connection in, as the relay `us`, within `limit`; `now` is the time of day.
pub(crate) async fn accept(
    acceptor: &Acceptor,
    tcp: TcpStream,
    address: SocketAddr,
    us: Us<'_>,
    now: u64,
    limit: Duration,
) -> Result<Shaken, Error> {
    let steps = async {
        let broken = |why: String| Error::Tls { address, why };
        set_up(&tcp).map_err(|error| broken(error.to_string()))?;
        let stream = acceptor.tls.accept(Wide::new(tcp)).await.map_err(|error| broken(error.to_string()))?;
        let connection = stream.get_ref().1;
        let binding = tls::binding(connection, acceptor.certificate, &EXPORTER_CONTEXT)
            .map_err(|error| broken(error.to_string()))?;
        let group = tls::group(connection);
        let addresses = Addresses { ours: us.addresses, theirs: Some(address.ip()) };
        let responder = Responder { relay: us.identity, binding, now, challenge: *random()?, addresses };
        run(stream.into(), LinkHandshake::responder(responder), address, group).await
    };
    limited(steps, address, limit).await
}

async fn dial(from: Option<IpAddr>, address: SocketAddr) -> io::Result<TcpStream> {
    let Some(from) = from else { return TcpStream::connect(address).await };
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(address).await
}

/// How long a neighbour's machine may acknowledge nothing, whether anything waits for that or not. No less than the 100 s that RFC 1122, section 4.2.3.5, asks
/// for: a line that is away for a minute and comes back costs no link.
const VANISHED: Duration = Duration::from_secs(120);

/// Cells go out at once. The kernel notices in time that a neighbour has vanished without a word. Otherwise a link that only waits would be kept for ever,
/// and one with cells on their way for as long as the kernel goes on sending them again, some 15 minutes.
fn set_up(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(VANISHED / 2).with_interval(VANISHED / 8);
    let socket = SockRef::from(tcp);
    socket.set_tcp_keepalive(&keepalive.with_retries(4))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(VANISHED))?;
    Ok(())
}

async fn limited(
    steps: impl Future<Output = Result<Shaken, Error>>,
    address: SocketAddr,
    limit: Duration,
) -> Result<Shaken, Error> {
    timeout(limit, steps)
        .await
        .unwrap_or_else(|_| Err(Error::Timeout { what: format!("making a link with {address}"), after: limit }))
}

async fn run(
    mut stream: TlsStream<Wide<TcpStream>>,
    mut handshake: LinkHandshake<'_>,
    address: SocketAddr,
    group: (String, bool),
) -> Result<Shaken, Error> {
    let lost = |error: io::Error| Error::Tls { address, why: error.to_string() };
    let wrong = |source| Error::Link { address, source };
    let mut buffer = vec![0; 8 << 10];
    loop {
        let output = handshake.take_output();
        if !output.is_empty() {
            stream.write_all(&output).await.map_err(lost)?;
            stream.flush().await.map_err(lost)?;
        }
        if handshake.is_done() {
            break;
        }
        let length = stream.read(&mut buffer).await.map_err(lost)?;
        if length == 0 {
            return Err(lost(io::ErrorKind::UnexpectedEof.into()));
        }
        handshake.receive(&buffer[..length]).map_err(wrong)?;
        if let Some(context) = handshake.wanted_context() {
            let exporter = match &stream {
                TlsStream::Client(stream) => tls::keying(stream.get_ref().1, context),
                TlsStream::Server(stream) => tls::keying(stream.get_ref().1, context),
            };
            let exporter = exporter.map_err(|error| lost(io::Error::other(error)))?;
            handshake.give_exporter(&exporter).map_err(wrong)?;
        }
    }
    let (link, decoder) = handshake.finish().map_err(wrong)?;
    let local = stream.get_ref().0.get_ref().local_addr().map_err(lost)?.ip();
    let first_number = u32::from_be_bytes(*random()?);
    Ok(Shaken { remote: address, local, stream, decoder, link, group, first_number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_ends_of_a_link_notice_that_the_other_has_vanished() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (made, taken) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        for tcp in [made.unwrap(), taken.unwrap().0] {
            set_up(&tcp).unwrap();
            let socket = SockRef::from(&tcp);
            assert!(tcp.nodelay().unwrap() && socket.keepalive().unwrap());
            let vanished = socket.tcp_keepalive_time().unwrap()
                + socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
            assert_eq!(vanished, Duration::from_secs(120));
            #[cfg(target_os = "linux")]
            assert_eq!(socket.tcp_user_timeout().unwrap(), Some(vanished), "also while something waits");
        }
    }
}
