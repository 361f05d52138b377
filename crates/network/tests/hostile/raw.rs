//! A link and circuits by hand, for saying what no client of ours would.
#![allow(dead_code)] // not every test needs all of it

use candor_network::ListedRelay;
use candor_onion::cell::payload::{Certs, Create2, Created2};
use candor_onion::cell::{Cell, Command, Decoder, DestroyReason, Message, PAYLOAD};
use candor_onion::circuit::Request;
use candor_onion::handshake::{Client, Handshake, HandshakeType, NtorV3Default, NtorV3RelayPublic};
use candor_onion::layer::{ClientLayer, Crypto, Onion};
use candor_onion::link::{Addresses, Binding, EXPORTER_CONTEXT, EXPORTER_LABEL, Initiator, LinkHandshake};
use candor_onion::relay::{Format, Header, RelayCommand};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use sha2::Digest;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long a relay may take to say something that a test waits for. Only a broken one, or one that is very busy, needs so long.
const DEADLINE: Duration = Duration::from_secs(60);

/// A link with a relay, as a client.
pub(crate) struct Raw {
    stream: TlsStream<TcpStream>,
    decoder: Decoder,
    opened: u32,
    /// What the relay has said in the link handshake.
    greeting: Vec<u8>,
}

/// A circuit on a [`Raw`] link: ntor-v3 and tor1 at each hop.
pub(crate) struct RawCircuit {
    pub(crate) number: u32,
    onion: Onion,
}

/// What a relay says on a [`RawCircuit`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A relay message: the hop that sent it, counted from 0, the command, the stream and the body.
    Said(usize, RelayCommand, u16, Vec<u8>),
    /// The circuit is over, or the link if there is no reason.
    Over(Option<DestroyReason>),
}

/// Connects from an address of this machine.
pub(crate) async fn dial(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = if from.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(to).await
}

impl Raw {
    /// Makes a link from that address.
    ///
    /// # Errors
    /// The relay may hang up at any time.
    pub(crate) async fn from(from: IpAddr, relay: &ListedRelay) -> io::Result<Self> {
        Self::over(dial(from, relay.address()).await?, relay, vec![X25519MLKEM768]).await
    }

    /// Makes a link from 127.0.0.1.
    pub(crate) async fn new(relay: &ListedRelay) -> Self {
        Self::with_group(relay, X25519MLKEM768).await
    }

    /// The same, with this group for TLS.
    pub(crate) async fn with_group(relay: &ListedRelay, group: &'static dyn SupportedKxGroup) -> Self {
        let tcp = TcpStream::connect(relay.address()).await.unwrap();
        Self::over(tcp, relay, vec![group]).await.unwrap()
    }

    /// Makes a link over a connection, with these groups for TLS.
    pub(crate) async fn over(
        tcp: TcpStream,
        relay: &ListedRelay,
        groups: Vec<&'static dyn SupportedKxGroup>,
    ) -> io::Result<Self> {
        let provider = Arc::new(CryptoProvider { kx_groups: groups, ..aws_lc_rs::default_provider() });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anything))
            .with_no_client_auth();
        config.enable_sni = false;
        let name = ServerName::IpAddress(relay.address().ip().into());
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
        let connection = stream.get_ref().1;
        let exporter =
            connection.export_keying_material([0; 32], EXPORTER_LABEL, Some(EXPORTER_CONTEXT.as_slice())).unwrap();
        let certificate = sha2::Sha256::digest(&connection.peer_certificates().unwrap()[0]).into();
        let binding = Binding { exporter, certificate };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let expect = Some(*relay.identity());
        let addresses = Addresses::default();
        let initiator = Initiator { relay: None, expect, binding, now, nonce: [0; 24], addresses };
        let mut link = LinkHandshake::initiator(initiator);
        let mut buffer = [0; 4096];
        let mut greeting = Vec::new();
        loop {
            stream.write_all(&link.take_output()).await?;
            stream.flush().await?;
            if link.is_done() {
                break;
            }
            let length = stream.read(&mut buffer).await?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            greeting.extend_from_slice(&buffer[..length]);
            link.receive(&buffer[..length]).unwrap();
        }
        let (_, decoder) = link.finish().unwrap();
        Ok(Self { stream, decoder, opened: 0, greeting })
    }

    /// The relay's certificates: the CERTS cell, which comes behind VERSIONS.
    pub(crate) fn certificates(&self) -> Certs {
        let length = |at: usize| usize::from(u16::from_be_bytes([self.greeting[at], self.greeting[at + 1]]));
        // A circuit's number of two bytes and a command, and then one of four bytes and a command.
        let second = 3 + 2 + length(3);
        let payload = second + 5 + 2;
        Certs::decode(&self.greeting[payload..payload + length(second + 5)]).unwrap()
    }

    /// Sends cells in one go.
    pub(crate) async fn send(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.try_send(cells).await.unwrap();
    }

    /// The same to a relay that may have hung up.
    pub(crate) async fn try_send(&mut self, cells: impl IntoIterator<Item = Cell>) -> io::Result<()> {
        let mut bytes = Vec::new();
        cells.into_iter().for_each(|cell| cell.encode(&mut bytes));
        self.send_bytes(&bytes).await
    }

    /// Sends bytes that need not be whole cells.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// The next cell; `None` if the relay has hung up.
    pub(crate) async fn next(&mut self) -> Option<Cell> {
        self.next_for("the next cell on the link").await
    }

    /// The same, for a wait that has a name.
    async fn next_for(&mut self, what: &str) -> Option<Cell> {
        let mut buffer = [0; 16 << 10];
        let cell = async {
            loop {
                if let Some(cell) = self.decoder.next().unwrap() {
                    return Some(cell);
                }
                match self.stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => return None,
                    Ok(length) => self.decoder.receive(&buffer[..length]),
                }
            }
        };
        timeout(DEADLINE, cell).await.unwrap_or_else(|_| panic!("waited {DEADLINE:?} for {what}"))
    }

    /// Creates a circuit, and waits for the answer, which nobody checks.
    pub(crate) async fn created(&mut self, relay: &ListedRelay, circuit: u32) {
        self.send([create(relay, circuit)]).await;
        assert!(matches!(self.next().await, Some(Cell { message: Message::Created2(_), .. })));
    }

    /// A number for a circuit that was not given out yet.
    pub(crate) fn fresh_number(&mut self) -> u32 {
        self.opened += 1;
        0x8000_0000 | self.opened
    }

    /// A circuit of one hop.
    pub(crate) async fn open(&mut self, relay: &ListedRelay) -> RawCircuit {
        self.open_with(relay, Request::NONE).await
    }

    /// A circuit of one hop, which has agreed to `request`.
    pub(crate) async fn open_with(&mut self, relay: &ListedRelay, request: Request) -> RawCircuit {
        let number = self.fresh_number();
        let (waiting, onionskin) = NtorV3Default::default().start(&onion_key(relay), &request.encode()).unwrap();
        let create = Create2::new(HandshakeType::NtorV3.number(), onionskin).unwrap();
        self.send([Cell { circuit: number, message: Message::Create2(create) }]).await;
        let message = loop {
            let cell = self.next_for("the answer to a creation").await.expect("the creation is answered");
            if cell.circuit == number {
                break cell.message;
            }
        };
        let Message::Created2(created) = message else { panic!("no circuit: {message:?}") };
        let mut circuit = RawCircuit { number, onion: Onion::default() };
        circuit.add(waiting, &created);
        circuit
    }

    /// Adds a hop; what comes instead of EXTENDED2 otherwise.
    pub(crate) async fn extend(&mut self, circuit: &mut RawCircuit, relay: &ListedRelay) -> Result<(), Heard> {
        let last = circuit.onion.hops() - 1;
        let (waiting, onionskin) = NtorV3Default::default().start(&onion_key(relay), &[0]).unwrap();
        let body = extend2(relay.address(), relay.identity(), &onionskin);
        self.send([circuit.early(last, RelayCommand::EXTEND2, &body)]).await;
        match self.hear(circuit).await {
            Heard::Said(_, RelayCommand::EXTENDED2, _, body) => {
                circuit.add(waiting, &Created2::new(body[2..].to_vec()).unwrap());
                Ok(())
            }
            other => Err(other),
        }
    }

    /// What comes next on the circuit; cells of other circuits are dropped.
    pub(crate) async fn hear(&mut self, circuit: &mut RawCircuit) -> Heard {
        let what = format!("a cell on circuit {:#x}", circuit.number);
        loop {
            let Some(cell) = self.next_for(&what).await else { return Heard::Over(None) };
            if cell.circuit == circuit.number
                && let Some(heard) = circuit.hear(cell)
            {
                return heard;
            }
        }
    }
}

impl RawCircuit {
    /// A relay message in a cell for a hop, counted from 0.
    pub(crate) fn cell(&mut self, hop: usize, command: RelayCommand, stream: u16, body: &[u8]) -> Cell {
        let payload = self.wrapped(hop, Command::RELAY, command, stream, body);
        Cell { circuit: self.number, message: Message::Relay(payload) }
    }

    /// The same as RELAY_EARLY, which EXTEND2 needs.
    pub(crate) fn early(&mut self, hop: usize, command: RelayCommand, body: &[u8]) -> Cell {
        let payload = self.wrapped(hop, Command::RELAY_EARLY, command, 0, body);
        Cell { circuit: self.number, message: Message::RelayEarly(payload) }
    }

    /// A part of a message for the first hop, of which `left` bytes are announced, these included.
    pub(crate) fn part(&mut self, command: RelayCommand, left: u16, body: &[u8]) -> Cell {
        let mut payload = Box::new([0; PAYLOAD]);
        Format::V0.encode(&mut payload, Header { command, stream: 0, length: left }, body);
        self.onion.wrap(0, Command::RELAY, &mut payload).expect("there is a hop");
        Cell { circuit: self.number, message: Message::Relay(payload) }
    }

    /// The circuit's end.
    pub(crate) fn destroy(&self) -> Cell {
        Cell { circuit: self.number, message: Message::Destroy(DestroyReason::NONE) }
    }

    /// What a cell of this circuit's says.
    pub(crate) fn hear(&mut self, cell: Cell) -> Option<Heard> {
        match cell.message {
            Message::Destroy(reason) => Some(Heard::Over(Some(reason))),
            Message::Relay(mut payload) => {
                let (hop, _) = self.onion.unwrap(Command::RELAY, &mut payload).expect("a hop has made the cell");
                let (header, body) = Format::V0.decode(&payload).unwrap();
                Some(Heard::Said(hop, header.command, header.stream, body.to_vec()))
            }
            _ => None,
        }
    }

    fn wrapped(
        &mut self,
        hop: usize,
        kind: Command,
        command: RelayCommand,
        stream: u16,
        body: &[u8],
    ) -> Box<[u8; PAYLOAD]> {
        let mut payload = Box::new([0; PAYLOAD]);
        let length = u16::try_from(body.len()).unwrap();
        let written = Format::V0.encode(&mut payload, Header { command, stream, length }, body);
        assert_eq!(written, body.len(), "it fits one cell");
        self.onion.wrap(hop, kind, &mut payload).expect("there is such a hop");
        payload
    }

    fn add(&mut self, waiting: impl Client, created: &Created2) {
        let keys = waiting.finish(created.reply()).unwrap().keys;
        self.onion.push(ClientLayer::new(Crypto::Tor1, &keys).unwrap());
    }
}

/// The body of EXTEND2 with a creation by ntor-v3, to that identity at that address.
pub(crate) fn extend2(address: SocketAddr, identity: &[u8; 32], onionskin: &[u8]) -> Vec<u8> {
    let IpAddr::V4(ip) = address.ip() else { panic!("the tests are at home in 127.0.0.0/8") };
    let mut body = vec![2, 0, 6];
    body.extend_from_slice(&ip.octets());
    body.extend_from_slice(&address.port().to_be_bytes());
    body.extend_from_slice(&[3, 32]);
    body.extend_from_slice(identity);
    body.extend_from_slice(&HandshakeType::NtorV3.number().to_be_bytes());
    body.extend_from_slice(&u16::try_from(onionskin.len()).unwrap().to_be_bytes());
    body.extend_from_slice(onionskin);
    body
}

/// A relay's key for ntor-v3, from its line.
fn onion_key(relay: &ListedRelay) -> NtorV3RelayPublic {
    let line: serde_json::Value = serde_json::from_str(&relay.to_line()).unwrap();
    let digits = line["keys"]["x25519"].as_str().unwrap();
    let onion_key = base16ct::mixed::decode_vec(digits).unwrap().try_into().unwrap();
    NtorV3RelayPublic { identity: *relay.identity(), onion_key }
}

/// CREATE2 by ntor-v3, whose answer nobody will check.
pub(crate) fn create(relay: &ListedRelay, circuit: u32) -> Cell {
    let (_, onionskin) = NtorV3Default::default().start(&onion_key(relay), &[0]).unwrap();
    Cell { circuit, message: Message::Create2(Create2::new(HandshakeType::NtorV3.number(), onionskin).unwrap()) }
}

/// Believes everybody.
#[derive(Debug)]
struct Anything;

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
