//! TLS 1.3 with X25519MLKEM768: no suite of OPAQUE protects a registration, so the channel must, against quantum computers too.

use crate::config::Config;
use crate::serve::StartError;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;

/// How TLS is spoken, if the configuration has a certificate.
pub(crate) fn read(config: &Config) -> Result<Option<Arc<ServerConfig>>, StartError> {
    let (Some(certificate), Some(key)) = (&config.tls_certificate, &config.tls_key) else { return Ok(None) };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain = chain.map_err(|error| wrong(certificate, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificate, &"no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    // With its feature `prefer-post-quantum` rustls has X25519MLKEM768 first; a client that has no post-quantum group gets X25519 or P-256.
    let mut server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| wrong(key, &error))?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(server)))
}

fn wrong(file: &Path, why: &dyn std::fmt::Display) -> StartError {
    StartError::Tls { file: file.to_owned(), why: why.to_string() }
}
