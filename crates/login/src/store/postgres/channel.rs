//! How the database is spoken to: in the clear on this machine, otherwise by TLS with its certificate and its name verified.
//!
//! | `sslmode` of the URL | what it means |
//! |---|---|
//! | `verify-full` | TLS 1.3; the certificate must be valid for the host of the URL |
//! | `disable` | no encryption |
//! | not there | `disable` on this machine, otherwise `verify-full` |
//!
//! `sslrootcert` is a PEM file of the certificate authorities to trust in place of this machine's; it means `verify-full`. Modes that encrypt without verifying are refused: whoever can read
//! the network can often answer on it.

use crate::store::error::StoreError;
use percent_encoding::percent_decode_str;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// What a URL says: where to connect, and how to verify who is there. Without the latter nothing is encrypted.
pub(super) fn read(url: &str) -> Result<(Config, Option<Verified>), StoreError> {
    let wrong = |why: String| StoreError::Url(format!("bad URL of a database: {why}"));
    let (mut mode, mut authorities, mut rest) = (None, None, Vec::new());
    let (base, parameters) = url.split_once('?').unwrap_or((url, ""));
    let mut names = BTreeSet::new();
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
        // Of two values one would be ignored, and nobody could tell which.
        if !names.insert(name) {
            return Err(wrong(format!("`{name}` is given twice; leave one of them out")));
        }
        match parameter.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value),
            Some(("sslrootcert", file)) => {
                let file = percent_decode_str(file).decode_utf8();
                authorities = Some(file.map_err(|_| wrong("`sslrootcert` is not UTF-8".to_owned()))?);
            }
            _ => rest.push(parameter),
        }
    }
    let mut config: Config = format!("{base}?{}", rest.join("&"))
        .parse()
        .map_err(|error: tokio_postgres::Error| wrong(error.to_string()))?;
    let encrypt = match (mode, &authorities) {
        (Some("verify-full"), _) | (None, Some(_)) => true,
        (Some("disable"), None) => false,
        (Some("disable"), Some(_)) => {
            return Err(wrong("`sslrootcert` has no use with `sslmode=disable`; leave one of them out".to_owned()));
        }
        (Some(other), _) => {
            return Err(wrong(format!("`sslmode={other}`; expected `verify-full` or `disable`")));
        }
        (None, None) => !is_here(&config),
    };
    config.ssl_mode(if encrypt { SslMode::Require } else { SslMode::Disable });
    let verified = if encrypt { Some(Verified::new(authorities.as_deref())?) } else { None };
    Ok((config, verified))
}

/// Whether the database is on this machine.
fn is_here(config: &Config) -> bool {
    // Where addresses are given, they are what is connected to, and names are not looked up.
    if !config.get_hostaddrs().is_empty() {
        return config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    }
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
    })
}

/// Makes encrypted connections to hosts that prove their names.
#[derive(Clone)]
pub(super) struct Verified(TlsConnector);

impl Verified {
    fn new(authorities: Option<&str>) -> Result<Self, StoreError> {
        let mut roots = RootCertStore::empty();
        match authorities {
            Some(file) => {
                let wrong = |why: &dyn std::fmt::Display| StoreError::Tls(format!("{file}: {why}"));
                let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
                for certificate in read.map_err(|error| wrong(&error))? {
                    roots.add(certificate).map_err(|error| wrong(&error))?;
                }
                if roots.is_empty() {
                    return Err(wrong(&"no certificate in it"));
                }
            }
            // Certificates that can't be read are skipped, as other programs do; without any, no database is trusted.
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| StoreError::Tls(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Verified {
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, InvalidDnsNameError> {
        Ok(Handshake { connector: self.0.clone(), name: ServerName::try_from(host.to_owned())? })
    }
}

/// A handshake with one host.
pub(super) struct Handshake {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { self.connector.connect(self.name, stream).await.map(Encrypted) })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        // The certificate was verified; binding the password to it as well would need its signature's hash.
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_elsewhere_is_verified_unless_its_url_says_otherwise() {
        let is_verified = |url: &str| read(url).map(|(_, verified)| verified.is_some());
        for plain in [
            "postgres://login@localhost/login",
            "postgres://login@127.0.0.1:5433/login",
            "postgres://login@[::1]/login",
            "postgres:///login?user=login&host=/run/postgresql",
            "postgres://login@db.internal/login?sslmode=disable",
            "postgres://login@db.internal/login?hostaddr=127.0.0.1",
        ] {
            assert_eq!(is_verified(plain), Ok(false), "{plain}");
        }
        for verified in [
            "postgres://login@db.internal/login",
            "postgres://login@10.0.0.9/login",
            "postgres://login@localhost,db.internal/login",
            "postgres://login@localhost/login?hostaddr=10.0.0.9",
            "postgres://login@localhost/login?sslmode=verify-full",
            "postgres://login@db.internal/login?application_name=x&sslmode=verify-full",
        ] {
            assert_eq!(is_verified(verified), Ok(true), "{verified}");
            assert_eq!(read(verified).unwrap().0.get_ssl_mode(), SslMode::Require, "{verified}");
        }
        for twice in ["sslmode=verify-full&sslmode=disable", "sslmode=disable&sslmode=disable", "port=1&port=2"] {
            let url = format!("postgres://login@db.internal/login?{twice}");
            assert!(matches!(is_verified(&url), Err(StoreError::Url(_))), "{twice}");
        }
        for mode in ["require", "prefer", "verify-ca", "Disable", ""] {
            let url = format!("postgres://login@db.internal/login?sslmode={mode}");
            assert!(matches!(is_verified(&url), Err(StoreError::Url(_))), "{mode}");
        }
        let nowhere = "postgres://login@localhost/login?sslrootcert=%2Fno%20where%2Fca.pem";
        let error = is_verified(nowhere).unwrap_err().to_string();
        assert!(error.starts_with("TLS to the database: /no where/ca.pem: "), "{error}");
        let both = "postgres://login@localhost/login?sslmode=disable&sslrootcert=ca.pem";
        assert!(matches!(is_verified(both), Err(StoreError::Url(_))));
    }
}
