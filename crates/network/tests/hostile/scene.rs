//! Where the attacks happen, and what must hold there.

use crate::raw::Raw;
use crate::town::{Town, client};
use candor_network::{RelayConfig, RelayHeld, RelayList, Target};
use std::fmt::Debug;
use std::net::IpAddr;
use std::ops::Deref;
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
        let lines: Vec<_> = scene.path().iter().map(|relay| relay.to_line()).collect();
        let list = RelayList::parse(&lines.join("\n")).unwrap();
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

    /// An honest client builds a circuit through all three relays and fetches a page.
    pub(crate) async fn serves(&self) {
        let served = async {
            let client = client();
            let circuit = self.circuit(&client).await;
            assert_eq!(self.fetch(&circuit, 50_000).await, Target::digest(50_000));
        };
        timeout(DEADLINE, served).await.expect("the honest client is served in time");
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
