//! TLS 1.3 below the links.
//!
//! The certificate on a link says nothing: it is self-signed, and a relay makes a new one every day. The CERTS cell says who the other
//! side is, and binds that very certificate to an Ed25519 identity. So a certificate is accepted from anyone, but the TLS handshake's
//! signature by its key is checked as always: without that check a man in the middle could show another relay's certificate.
//!
//! AWS-LC gathers entropy from CPU jitter when a process first asks it for randomness, which takes some tens of milliseconds. The first
//! [`Connector`] or [`Acceptor`] asks, so that no link, and nothing that is timed, has to.

use crate::Error;
use candor_onion::cell::CELL;
use candor_onion::link::{Binding, EXPORTER_LABEL};
use candor_primitives::hash::Sha256;
use digest::Digest;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::{ClientConfig, ConnectionCommon, DigitallySignedStruct, NamedGroup, ServerConfig, SignatureScheme};
use std::sync::{Arc, Once};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Whole cells that fit a record, which are all that is put into one: no cell is put together from two records.
pub(crate) const RECORD: usize = 31 * CELL;
/// What rustls calls so: a record with the five bytes that stand before it.
const FRAGMENT: usize = RECORD + 5;

/// The side that connects.
#[derive(Clone)]
pub(crate) struct Connector(pub(crate) TlsConnector);

/// The side that is connected to, with its certificate.
#[derive(Clone)]
pub(crate) struct Acceptor {
    pub(crate) tls: TlsAcceptor,
    /// SHA-256 of the certificate.
    pub(crate) certificate: [u8; 32],
}

/// AWS-LC, with X25519MLKEM768 first by rustls's feature `prefer-post-quantum`; a neighbour that has no post-quantum group gets X25519 or P-256.
fn provider() -> Arc<CryptoProvider> {
    let provider = aws_lc_rs::default_provider();
    static WARM: Once = Once::new();
    // If it fails here, it fails again where it matters.
    WARM.call_once(|| drop(provider.secure_random.fill(&mut [0; 32])));
    Arc::new(provider)
}

impl Connector {
    pub(crate) fn new() -> Result<Self, Error> {
        let provider = provider();
        let verifier = AnyCertificate(provider.signature_verification_algorithms);
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(broken)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.enable_sni = false;
        config.max_fragment_size = Some(FRAGMENT);
        // A resumed connection would show no certificate, and there is nothing to bind an identity to.
        config.resumption = Resumption::disabled();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Any name: rustls wants one, and does not send it.
    pub(crate) fn name(address: std::net::IpAddr) -> ServerName<'static> {
        ServerName::IpAddress(address.into())
    }
}

impl Acceptor {
    /// With a fresh key and certificate.
    pub(crate) fn new() -> Result<Self, Error> {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(broken)?;
        let mut parameters = rcgen::CertificateParams::default();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        let certificate = parameters.self_signed(&key).map_err(broken)?.der().clone();
        let digest = Sha256::digest(&certificate).into();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(broken)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .map_err(broken)?;
        config.max_fragment_size = Some(FRAGMENT);
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self { tls: TlsAcceptor::from(Arc::new(config)), certificate: digest })
    }
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("can't set up TLS: {error}"))
}

/// Keying material of this connection for a context.
pub(crate) fn keying<Data>(connection: &ConnectionCommon<Data>, context: &[u8; 32]) -> Result<[u8; 32], rustls::Error> {
    connection.export_keying_material([0; 32], EXPORTER_LABEL, Some(context))
}

/// What binds the link handshake to this connection; `context` is that of the keying material.
pub(crate) fn binding<Data>(
    connection: &ConnectionCommon<Data>,
    certificate: [u8; 32],
    context: &[u8; 32],
) -> Result<Binding, rustls::Error> {
    Ok(Binding { exporter: keying(connection, context)?, certificate })
}

/// SHA-256 of the certificate that the other side has shown.
pub(crate) fn shown_certificate<Data>(connection: &ConnectionCommon<Data>) -> Option<[u8; 32]> {
    let first = connection.peer_certificates()?.first()?;
    Some(Sha256::digest(first).into())
}

/// The key exchange that was used, and whether it is post-quantum.
pub(crate) fn group<Data>(connection: &ConnectionCommon<Data>) -> (String, bool) {
    match connection.negotiated_key_exchange_group().map(|group| group.name()) {
        Some(name) => {
            let hybrid = [NamedGroup::X25519MLKEM768, NamedGroup::secp256r1MLKEM768].contains(&name);
            (name.as_str().map_or_else(|| format!("{name:?}"), str::to_owned), hybrid)
        }
        None => ("an unknown group".to_owned(), false),
    }
}

/// Accepts every certificate, and checks that the other side holds its key.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The CERTS cell judges it.
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("links are TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{ClientConnection, ServerConnection};
    use std::io::Write;

    /// What one end says.
    fn said<Data>(by: &mut ConnectionCommon<Data>) -> Vec<u8> {
        let mut bytes = Vec::new();
        while by.wants_write() {
            by.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    fn heard<Data: rustls::SideData>(by: &mut ConnectionCommon<Data>, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            by.read_tls(&mut bytes).unwrap();
            by.process_new_packets().unwrap();
        }
    }

    /// How many cells are in each record that an end makes of a hundred.
    fn cells_of_records<Data>(by: &mut ConnectionCommon<Data>) -> Vec<usize> {
        by.writer().write_all(&[7; 100 * CELL]).unwrap();
        let bytes = said(by);
        let mut rest = &bytes[..];
        let mut cells = Vec::new();
        while let [23, 3, 3, high, low, after @ ..] = rest {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            // The type and the tag.
            let plain = length - 1 - 16;
            assert_eq!(plain % CELL, 0, "a cell is in two records");
            cells.push(plain / CELL);
            rest = &after[length..];
        }
        assert!(rest.is_empty());
        cells
    }

    #[test]
    fn both_ends_put_whole_cells_into_records() {
        let (connector, acceptor) = (Connector::new().unwrap(), Acceptor::new().unwrap());
        let name = Connector::name([127, 0, 0, 1].into());
        let mut client = ClientConnection::new(Arc::clone(connector.0.config()), name).unwrap();
        let mut server = ServerConnection::new(Arc::clone(acceptor.tls.config())).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            heard(&mut server, &said(&mut client));
            heard(&mut client, &said(&mut server));
        }
        assert_eq!(cells_of_records(&mut client), [31, 31, 31, 7]);
        assert_eq!(cells_of_records(&mut server), [31, 31, 31, 7]);
    }
}
