//! A few relays and a target on 127.0.0.1, for the tests.
#![allow(dead_code)] // not every test needs all of it

pub(crate) mod proxied;

use candor_network::{
    Circuit, Client, ClientOptions, HandshakeType, ListedRelay, Policy, Relay, RelayConfig, RelayEvent, RelayKeys,
    Target,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncReadExt;

pub(crate) fn local() -> std::net::SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// How long a fetch may stand still.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What relays have told.
pub(crate) type Told = Arc<Mutex<Vec<RelayEvent>>>;

/// Three relays, the last of which is an exit to the target.
pub(crate) struct Town {
    pub(crate) relays: Vec<Option<Relay>>,
    /// Their lines at the start.
    listed: Vec<Arc<ListedRelay>>,
    pub(crate) target: Target,
    pub(crate) told: Told,
}

impl Town {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// With a change to every relay's configuration.
    pub(crate) async fn with(change: impl Fn(&mut RelayConfig)) -> Self {
        let target = Target::start(local()).await.unwrap();
        let told = Told::default();
        let mut relays = Vec::new();
        for name in ["ada", "bob", "cyd"] {
            let keys = RelayKeys::generate().unwrap();
            let mut config = RelayConfig::new(local());
            config.name = Some(name.to_owned());
            config.policy = Policy::parse(&format!("127.0.0.1:{}", target.address().port())).unwrap();
            config.limits.handshake_threads = 1;
            let told = Arc::clone(&told);
            config.log = Arc::new(move |event| told.lock().unwrap().push(event.clone()));
            change(&mut config);
            relays.push(Some(Relay::start(&keys, config).await.unwrap()));
        }
        let listed: Vec<_> = relays.iter().flatten().map(Relay::listed).collect();
        Self { relays, listed, target, told }
    }

    /// Lists each relay otherwise than it says.
    pub(crate) fn relist(&mut self, change: impl Fn(ListedRelay) -> ListedRelay) {
        for listed in &mut self.listed {
            let list = candor_network::RelayList::parse(&listed.to_line()).unwrap();
            *listed = Arc::new(change(list.into_relays().remove(0)));
        }
    }

    pub(crate) fn relay(&self, index: usize) -> &Relay {
        self.relays[index].as_ref().expect("it was not taken")
    }

    pub(crate) fn listed(&self, index: usize) -> &ListedRelay {
        &self.listed[index]
    }

    pub(crate) fn path(&self) -> Vec<&ListedRelay> {
        (0..3).map(|index| self.listed(index)).collect()
    }

    pub(crate) async fn circuit(&self, client: &Client) -> Circuit {
        client.circuit(&self.path(), HandshakeType::Hybrid768).await.unwrap()
    }

    /// Fetches so many bytes over a new stream, and says their hash as the target does.
    pub(crate) async fn fetch(&self, circuit: &Circuit, length: u64) -> String {
        fetch(circuit, self.target.address().port(), length).await.unwrap()
    }
}

pub(crate) fn client() -> Client {
    Client::new(ClientOptions::default()).unwrap()
}

/// A client that waits for nobody longer than half a second.
pub(crate) fn impatient() -> Client {
    let mut options = ClientOptions { link: Duration::from_millis(500), ..ClientOptions::default() };
    options.limits.build = Duration::from_millis(500);
    Client::new(options).unwrap()
}

/// Fetches so many bytes; `Ok` with their SHA-256 if all came.
pub(crate) async fn fetch(circuit: &Circuit, port: u16, length: u64) -> Result<String, candor_network::Error> {
    use sha2::Digest;
    let stream = circuit.open("127.0.0.1", port).await?;
    let url = candor_network::http::Url::parse(&format!("http://127.0.0.1:{port}/bytes/{length}"))?;
    let mut hash = sha2::Sha256::new();
    let answer = candor_network::http::get(stream, &url, PATIENCE, |bytes| {
        hash.update(bytes);
        Ok(())
    })
    .await?;
    assert_eq!((answer.status, answer.length), (200, length));
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(answer.header("candor-sha256"), Some(hash.as_str()));
    Ok(hash)
}

/// Reads until the other side ends or breaks; how many bytes came.
pub(crate) async fn drain(mut stream: impl tokio::io::AsyncRead + Unpin) -> std::io::Result<usize> {
    let (mut buffer, mut total) = (vec![0; 1 << 16], 0);
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(total),
            length => total += length,
        }
    }
}
