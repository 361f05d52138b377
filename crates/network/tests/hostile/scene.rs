//! Where the attacks happen, and what must hold there.

use crate::raw::Raw;
use crate::town::Town;
use candor_network::{
    Client, ClientOptions, Error, HandshakeType, ListedRelay, RelayConfig, RelayHeld, RelayList, Target,
};
use std::fmt::Debug;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long anything may take that has to come about. Only a broken relay, or one that is very busy, needs so long.
const DEADLINE: Duration = Duration::from_secs(60);

/// A [`Town`], and what its relays held before the attack.
pub(crate) struct Scene {
    town: Town,
    before: Vec<RelayHeld>,
}

impl Scene {
    /// With a change to every relay's configuration. Limits by network hold, as in a public network; the relays know each other, and have
    /// links with each other, since an honest client was here.
    pub(crate) async fn new(change: impl Fn(&mut RelayConfig)) -> Self {
        let town = Town::with(|config| {
            config.test_networks.clear();
            change(config);
        })
        .await;
        let mut scene = Self { town, before: Vec::new() };
        let list = list(&scene.path());
        (0..3).for_each(|index| scene.relay(index).know(&list));
        scene.serves().await;
        for (index, links) in [1, 2, 1].into_iter().enumerate() {
            until_equal(|| scene.relay(index).held().links, links).await;
            until_equal(|| scene.relay(index).held().circuits, 0).await;
            scene.before.push(scene.relay(index).held());
        }
        scene
    }

    /// A link with a relay from that address.
    pub(crate) async fn raw(&self, relay: usize, from: impl Into<IpAddr>) -> Raw {
        Raw::from(from.into(), self.listed(relay)).await.expect("the relay takes the link")
    }

    /// Honest clients build a circuit through all three relays and fetch a page: one from an address that listed relays have, and one
    /// from an address that nobody has heard of.
    pub(crate) async fn serves(&self) {
        serves(&self.town).await;
    }

    /// The same, but the second client may have to try again.
    pub(crate) async fn serves_in_time(&self) {
        honest(&self.town, None).await.expect("the client from a listed address is served");
        let start = Instant::now();
        while let Err(error) = honest(&self.town, Some(unlisted())).await {
            assert!(start.elapsed() < DEADLINE, "the client from an unlisted address is not served: {error}");
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// How many links a relay had before the attack.
    pub(crate) fn links_before(&self, relay: usize) -> usize {
        self.before[relay].links
    }

    /// Whatever the attack held is given back.
    pub(crate) async fn is_as_before(&self) {
        for (index, before) in self.before.iter().enumerate() {
            until_equal(|| self.relay(index).held(), *before).await;
        }
    }
}

impl Deref for Scene {
    type Target = Town;

    fn deref(&self) -> &Town {
        &self.town
    }
}

/// A list of these relays.
pub(crate) fn list(relays: &[&ListedRelay]) -> RelayList {
    let lines: Vec<_> = relays.iter().map(|relay| relay.to_line()).collect();
    RelayList::parse(&lines.join("\n")).unwrap()
}

/// Another address each time, in a network where no relay is and no attacker.
fn unlisted() -> IpAddr {
    static NETWORK: AtomicU8 = AtomicU8::new(0);
    [127, 9, NETWORK.fetch_add(1, Ordering::Relaxed), 1].into()
}

/// Honest clients from a listed and from an unlisted address are served.
pub(crate) async fn serves(town: &Town) {
    for from in [None, Some(unlisted())] {
        let served = honest(town, from).await;
        served.unwrap_or_else(|error| panic!("the honest client from {from:?} is not served: {error}"));
    }
}

async fn honest(town: &Town, from: Option<IpAddr>) -> Result<(), Error> {
    let served = async {
        let client = Client::new(ClientOptions { from, ..ClientOptions::default() })?;
        let circuit = client.circuit(&town.path(), HandshakeType::Hybrid768).await?;
        let digest = crate::town::fetch(&circuit, town.target.address().port(), 50_000).await?;
        assert_eq!(digest, Target::digest(50_000));
        Ok(())
    };
    timeout(DEADLINE, served).await.expect("an honest client is served, or told why not, in time")
}

/// Whatever an attack on a town held is given back: there are only links of the relays with each other.
pub(crate) async fn holds_nothing(town: &Town) {
    for relay in town.relays.iter().flatten() {
        let rest = || {
            let RelayHeld { half_open, attempts, circuits, streams, cells, .. } = relay.held();
            (half_open, attempts, circuits, streams, cells)
        };
        until_equal(rest, (0, 0, 0, 0, 0)).await;
        until(|| relay.held().links <= 2).await;
    }
}

/// Honest clients are served, and then the relays hold nothing.
pub(crate) async fn recovers(town: &Town) {
    serves(town).await;
    holds_nothing(town).await;
}

/// Waits for something that has to come about.
pub(crate) async fn until(is_so: impl FnMut() -> bool) {
    until_equal(is_so, true).await;
}

/// Waits until something has the value that it has to come to.
pub(crate) async fn until_equal<T: PartialEq + Debug>(mut now: impl FnMut() -> T, wanted: T) {
    let start = Instant::now();
    loop {
        let found = now();
        if found == wanted {
            return;
        }
        assert!(start.elapsed() < DEADLINE, "still {found:?} after {DEADLINE:?}, wanted {wanted:?}");
        sleep(Duration::from_millis(10)).await;
    }
}
