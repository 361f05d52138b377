//! A relay that stays published, and knows the others.

use super::exchange::post;
use super::{Directory, DirectoryAddress};
use crate::keys::Words;
use crate::relay::Relay;
use crate::relay_list::ListedRelay;
use crate::{Error, clock};
use hyper::body::Bytes;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What a relay does about its directory.
#[derive(Clone, Debug)]
pub struct Attendance {
    /// What it says of itself.
    pub words: Words,
    /// How often it says so; the authorities forget it after 18 hours.
    pub republish: Duration,
}

impl Default for Attendance {
    /// Every six hours.
    fn default() -> Self {
        Self { words: Words::default(), republish: Duration::from_secs(6 * 3600) }
    }
}

/// How often the directories' names are looked up.
const LOOK_UP: Duration = Duration::from_secs(600);
/// How long a look-up may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often is looked whether anything is due.
const TURN: Duration = Duration::from_millis(500);
/// How long to wait after a failure; doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// When something is due again.
struct Due {
    at: Instant,
    wait: Duration,
}

impl Due {
    fn now() -> Self {
        Self { at: clock::instant(), wait: FIRST_WAIT }
    }

    fn is_now(&self) -> bool {
        self.at <= clock::instant()
    }

    fn after(&mut self, pause: Duration) {
        *self = Self { at: clock::instant() + pause, wait: FIRST_WAIT };
    }

    fn failed(&mut self) {
        self.at = clock::instant() + self.wait;
        self.wait = (2 * self.wait).min(LONGEST_WAIT);
    }
}

/// The addresses that each directory's name had when it had any.
#[derive(Default)]
struct Names(HashMap<String, Vec<IpAddr>>);

impl Names {
    /// Looks all names up at once, and tells the relay. Says whether all were found.
    async fn look_up(&mut self, relay: &Relay, directory: &Directory) -> bool {
        let mut lookups = JoinSet::new();
        for url in directory.authorities().map(DirectoryAddress::url) {
            let (host, port) = (url.bare_host().to_owned(), url.port());
            lookups.spawn(async move {
                let found = timeout(PATIENCE, lookup_host((host.as_str(), port))).await.ok().and_then(Result::ok);
                let addresses = found.map(|found| found.map(|address| address.ip()).collect());
                (host, addresses)
            });
        }
        let all_found = self.found(lookups.join_all().await);
        let addresses = self.addresses();
        relay.know_directories(addresses);
        all_found
    }

    /// Takes over what was found. A name that has no address just now keeps those that it had, and no other name waits for it.
    fn found(&mut self, found: Vec<(String, Option<Vec<IpAddr>>)>) -> bool {
        let mut all_found = true;
        for (host, addresses) in found {
            match addresses {
                Some(addresses) => drop(self.0.insert(host, addresses)),
                None => all_found = false,
            }
        }
        all_found
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.0.values().flatten().copied().collect()
    }
}

/// Publishes the relay to every authority, again when its keys change, when a consensus lacks it, and every so often, and tells it of the relays of each new consensus
/// and of the authorities' addresses.
/// Never ends. `told` hears of each step that failed or succeeded; what has failed is tried again.
pub async fn attend(
    relay: &Relay,
    directory: &Directory,
    attendance: &Attendance,
    told: impl Fn(Result<String, Error>),
) {
    let (mut names, mut due) = (Names::default(), Due::now());
    // Before it is published: an authority may try it at once.
    let mut all_found = names.look_up(relay, directory).await;
    let look_up = async {
        loop {
            if all_found {
                due.after(LOOK_UP)
            } else {
                due.failed()
            }
            sleep(due.at.saturating_duration_since(clock::instant())).await;
            all_found = names.look_up(relay, directory).await;
        }
    };
    tokio::select! {
        () = look_up => {}
        () = publish(relay, directory, attendance, told) => {}
    }
}

/// The same, but for the addresses.
async fn publish(relay: &Relay, directory: &Directory, attendance: &Attendance, told: impl Fn(Result<String, Error>)) {
    let mut published: Option<Arc<ListedRelay>> = None;
    let mut authorities: Vec<_> = directory.authorities().map(|authority| (authority, Due::now())).collect();
    let mut consensus = Due::now();
    let mut number = 0;
    let mut published_at = None;
    loop {
        let listed = relay.listed();
        if published.as_ref().is_none_or(|published| !Arc::ptr_eq(published, &listed)) {
            authorities.iter_mut().for_each(|(_, due)| *due = Due::now());
            published = Some(listed);
        }
        if authorities.iter().any(|(_, due)| due.is_now()) {
            match relay.descriptor(&attendance.words) {
                Ok(descriptor) => {
                    let descriptor = Bytes::from(descriptor);
                    published_at = Some(directory.now());
                    // All who are due get the same, so that they agree on it.
                    for (authority, due) in authorities.iter_mut().filter(|(_, due)| due.is_now()) {
                        match post(authority, "/relay", descriptor.clone()).await {
                            Ok(_) => {
                                due.after(attendance.republish);
                                told(Ok(format!("published to {}", authority.url())));
                            }
                            Err(error) => {
                                due.failed();
                                told(Err(error));
                            }
                        }
                    }
                }
                Err(error) => {
                    authorities.iter_mut().for_each(|(_, due)| due.failed());
                    told(Err(error));
                }
            }
        }
        if consensus.is_now() {
            match directory.consensus().await {
                Ok(fetched) if fetched.consensus.number() > number => {
                    number = fetched.consensus.number();
                    relay.know_consensus(&fetched.consensus);
                    consensus.after(FIRST_WAIT);
                    told(Ok(format!("consensus {number} lists {} relays", fetched.consensus.relays.len())));
                    // The authorities may have lost what they knew, or not have reached the relay.
                    let is_listed = fetched.consensus.relay(relay.listed().identity()).is_some();
                    if !is_listed && published_at.is_some_and(|at| at < number) {
                        told(Ok(format!(
                            "this relay is not in it; can the directories reach it at {}?",
                            relay.listed().address()
                        )));
                        authorities.iter_mut().for_each(|(_, due)| *due = Due::now());
                    }
                }
                Ok(fetched) if directory.is_fresh(&fetched.consensus) => consensus.after(FIRST_WAIT),
                // Nobody has a newer one.
                Ok(_) => consensus.failed(),
                Err(error) => {
                    consensus.failed();
                    told(Err(error));
                }
            }
        }
        sleep(TURN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_gone_holds_up_no_other() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let found = |live: &str| (String::from("live"), Some(vec![address(live)]));
        let gone = || (String::from("gone"), None);
        let mut names = Names::default();
        // Before there is any look-up, then one that fails for ever while the other moves.
        assert!(!names.found(vec![(String::from("live"), None), gone()]) && names.addresses().is_empty());
        for live in ["192.0.2.1", "192.0.2.2"] {
            assert!(!names.found(vec![found(live), gone()]));
            assert_eq!(names.addresses(), [address(live)]);
        }
        // The twin: one that fails for a moment keeps what it had.
        assert!(names.found(vec![found("192.0.2.2")]));
        assert!(!names.found(vec![(String::from("live"), None)]));
        assert_eq!(names.addresses(), [address("192.0.2.2")]);
    }
}
