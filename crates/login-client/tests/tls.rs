//! TLS between client and server.

use candor_login::{Config, Log, Server};
use candor_login_client::{Client, Error, Limits, Options};
use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::{ClientConfig, NamedGroup, RootCertStore};
use std::error::Error as StdError;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A server with a certificate for `localhost`, which is its own authority.
async fn start() -> Result<(TempDir, Server, CertifiedKey<KeyPair>), Box<dyn StdError>> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    std::fs::write(file("chain.pem"), pair.cert.pem())?;
    std::fs::write(file("key.pem"), pair.signing_key.serialize_pem())?;
    let mut config = Config::default();
    for (name, value) in [
        ("state", folder.path().display().to_string()),
        ("listen", "127.0.0.1:0".to_owned()),
        ("ksf", "8:1:1".to_owned()),
        ("registration", "open".to_owned()),
        ("tls-certificate", file("chain.pem")),
        ("tls-key", file("key.pem")),
    ] {
        config.set("test", name, &value)?;
    }
    let server = Server::start(config, Log::default()).await?;
    Ok((folder, server, pair))
}

#[tokio::test]
async fn the_server_prefers_the_post_quantum_group_and_takes_a_classical_one() -> Result<(), Box<dyn StdError>> {
    let (_folder, server, pair) = start().await?;
    let negotiated = async |groups: Option<&'static dyn SupportedKxGroup>| {
        let mut provider = aws_lc_rs::default_provider();
        if let Some(group) = groups {
            provider.kx_groups = vec![group];
        }
        let mut roots = RootCertStore::empty();
        roots.add(pair.cert.der().clone())?;
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tcp = TcpStream::connect(server.address()).await?;
        let tls = TlsConnector::from(Arc::new(config)).connect("localhost".try_into()?, tcp).await?;
        let group = tls.get_ref().1.negotiated_key_exchange_group().ok_or("a handshake has a group")?;
        Ok::<_, Box<dyn StdError>>(group.name())
    };
    // As this crate's client offers them.
    assert_eq!(negotiated(None).await?, NamedGroup::X25519MLKEM768);
    assert_eq!(negotiated(Some(kx_group::X25519)).await?, NamedGroup::X25519);
    Ok(())
}

#[tokio::test]
async fn the_client_trusts_only_a_certificate_of_its_authorities() -> Result<(), Box<dyn StdError>> {
    let (_folder, server, pair) = start().await?;
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    assert!(server.url().starts_with("https://"));
    let url = format!("https://localhost:{}", server.address().port());
    let register = async |client: Result<Client, Error>| {
        client?.with_limits(Limits::NONE).register("alice", "pw", None, &Options::default()).await.map(drop)
    };
    let stranger = register(Client::with_authorities(&url, other.cert.pem().as_bytes())).await;
    assert!(matches!(stranger, Err(Error::Connect { .. })), "{stranger:?}");
    let of_this_machine = register(Client::new(&url)).await;
    assert!(matches!(of_this_machine, Err(Error::Connect { .. })), "{of_this_machine:?}");
    assert_eq!(register(Client::with_authorities(&url, pair.cert.pem().as_bytes())).await, Ok(()));
    // What is no TLS gets nothing.
    let plain = Client::new(&format!("http://127.0.0.1:{}", server.address().port()));
    assert!(matches!(register(plain).await, Err(Error::Answer { .. })));
    Ok(())
}
