//! A neighbour of a relay's that does what it likes: a link by hand.
#![allow(dead_code)] // not every test needs all of it

use candor_network::ListedRelay;
use candor_onion::cell::payload::Create2;
use candor_onion::cell::{Cell, Decoder, Message};
use candor_onion::handshake::{Handshake, NtorV3Default, NtorV3RelayPublic, number};
use candor_onion::link::{Binding, EXPORTER_CONTEXT, EXPORTER_LABEL, Initiator, LinkHandshake};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use sha2::Digest;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) struct Neighbour {
    stream: TlsStream<TcpStream>,
    decoder: Decoder,
}

impl Neighbour {
    /// Makes a link as a client, with these groups for TLS.
    pub(crate) async fn new(relay: &ListedRelay, groups: Vec<&'static dyn SupportedKxGroup>) -> Self {
        let provider = Arc::new(CryptoProvider { kx_groups: groups, ..aws_lc_rs::default_provider() });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anything))
            .with_no_client_auth();
        config.enable_sni = false;
        let tcp = TcpStream::connect(relay.address()).await.unwrap();
        let name = ServerName::IpAddress(relay.address().ip().into());
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap();
        let connection = stream.get_ref().1;
        let exporter =
            connection.export_keying_material([0; 32], EXPORTER_LABEL, Some(EXPORTER_CONTEXT.as_slice())).unwrap();
        let certificate = sha2::Sha256::digest(&connection.peer_certificates().unwrap()[0]).into();
        let binding = Binding { exporter, certificate };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let expect = Some(*relay.identity());
        let mut link = LinkHandshake::initiator(Initiator { relay: None, expect, binding, now, nonce: [0; 24] });
        let mut buffer = [0; 4096];
        loop {
            stream.write_all(&link.take_output()).await.unwrap();
            if link.is_done() {
                break;
            }
            let length = stream.read(&mut buffer).await.unwrap();
            assert!(length > 0, "the relay has hung up");
            link.receive(&buffer[..length]).unwrap();
        }
        let (_, decoder) = link.finish().unwrap();
        Self { stream, decoder }
    }

    /// Sends cells in one go.
    pub(crate) async fn send(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.try_send(cells).await.unwrap();
    }

    /// The same to a relay that may have hung up.
    pub(crate) async fn try_send(&mut self, cells: impl IntoIterator<Item = Cell>) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        cells.into_iter().for_each(|cell| cell.encode(&mut bytes));
        self.stream.write_all(&bytes).await?;
        self.stream.flush().await
    }

    /// The next cell; `None` if the relay has hung up.
    pub(crate) async fn next(&mut self) -> Option<Cell> {
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(cell) = self.decoder.next().unwrap() {
                return Some(cell);
            }
            match self.stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.decoder.receive(&buffer[..length]),
            }
        }
    }

    /// Creates a circuit, and waits for the answer.
    pub(crate) async fn created(&mut self, relay: &ListedRelay, circuit: u32) {
        self.send([create(relay, circuit)]).await;
        assert!(matches!(self.next().await, Some(Cell { message: Message::Created2(_), .. })));
    }
}

/// CREATE2 by ntor-v3, whose answer nobody will check.
pub(crate) fn create(relay: &ListedRelay, circuit: u32) -> Cell {
    let line: serde_json::Value = serde_json::from_str(&relay.to_line()).unwrap();
    let digits = line["keys"]["x25519"].as_str().unwrap();
    let byte = |index: usize| u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).unwrap();
    let public = NtorV3RelayPublic { identity: *relay.identity(), onion_key: std::array::from_fn(byte) };
    let (_, onionskin) = NtorV3Default::default().start(&public, &[0]).unwrap();
    Cell { circuit, message: Message::Create2(Create2::new(number::NTOR_V3, onionskin).unwrap()) }
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
