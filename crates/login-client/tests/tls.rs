//! TLS between client and server.

use candor_login::{Config, Log, Server};
use candor_login_client::{Client, Error, Limits, Options};
use std::error::Error as StdError;

#[tokio::test]
async fn the_client_trusts_only_a_certificate_of_its_authorities() -> Result<(), Box<dyn StdError>> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
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
