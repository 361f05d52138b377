//! A relay that stays published, and knows the others.

use super::Directory;
use super::exchange::post;
use super::names::Names;
use crate::keys::Words;
use crate::relay::Relay;
use crate::relay_list::ListedRelay;
use crate::{Error, clock};
use hyper::body::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

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
/// How often is looked whether anything is due.
const TURN: Duration = Duration::from_millis(500);
/// How long to wait after a failure; doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// When something is due again.
pub(crate) struct Due {
    at: Instant,
    wait: Duration,
}

impl Due {
    pub(crate) fn now() -> Self {
        Self { at: clock::instant(), wait: FIRST_WAIT }
    }

    pub(crate) fn is_now(&self) -> bool {
        self.at <= clock::instant()
    }

    pub(crate) fn after(&mut self, pause: Duration) {
        *self = Self { at: clock::instant() + pause, wait: FIRST_WAIT };
    }

    pub(crate) fn failed(&mut self) {
        self.at = clock::instant() + self.wait;
        self.wait = (2 * self.wait).min(LONGEST_WAIT);
    }

    /// The same, with a wait between half and one and a half of that, so that those who wait for the same come one after the other.
    #[cfg(feature = "tor")]
    pub(crate) fn failed_for_all(&mut self) {
        let share = crate::keys::random::<4>().map_or(0, |random| u32::from_le_bytes(*random));
        let wait = self.wait.mul_f64(0.5 + f64::from(share) / f64::from(u32::MAX));
        self.failed();
        self.at = clock::instant() + wait;
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
    let mut all_found = find(&mut names, relay, directory).await;
    let look_up = async {
        loop {
            if all_found {
                due.after(LOOK_UP)
            } else {
                due.failed()
            }
            sleep(due.at.saturating_duration_since(clock::instant())).await;
            all_found = find(&mut names, relay, directory).await;
        }
    };
    tokio::select! {
        () = look_up => {}
        () = publish(relay, directory, attendance, told) => {}
    }
}

/// Tells the relay where the authorities are. Says whether all were found.
async fn find(names: &mut Names, relay: &Relay, directory: &Directory) -> bool {
    let all_found = names.look_up(directory.authorities()).await;
    relay.know_directories(names.addresses());
    all_found
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
