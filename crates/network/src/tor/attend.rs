//! A relay of ours that stays published in a network of C tor's, and knows the others.

use super::policy::lines;
use super::{TorDirectory, TorRelayKey};
use crate::directory::{Due, exchange};
use crate::relay::Relay;
use crate::relay_list::ListedRelay;
use crate::{Crypto, Error};
use candor_tor_directory::RouterDescriptor;
use hyper::body::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// What a relay does about Tor's authorities.
#[derive(Clone, Debug)]
pub struct TorAttendance {
    /// What it can carry, in kB/s.
    pub bandwidth: u32,
    /// How to reach the people who run it.
    pub contact: Option<String>,
    /// RSA identities of relays that the same people run.
    pub family: Vec<[u8; 20]>,
    /// How often it publishes itself; authorities forget a relay after 18 hours to a day.
    pub republish: Duration,
}

impl TorAttendance {
    /// A relay's RSA identity, from `$` and hexadecimal digits.
    pub fn identity(text: &str) -> Option<[u8; 20]> {
        base16ct::mixed::decode_vec(text.strip_prefix('$')?).ok()?.try_into().ok()
    }
}

impl Default for TorAttendance {
    /// 1 MB/s, nothing of its people, and a descriptor every twelve hours.
    fn default() -> Self {
        Self { bandwidth: 1000, contact: None, family: Vec::new(), republish: Duration::from_secs(12 * 3600) }
    }
}

/// How often is looked whether anything is due.
const TURN: Duration = Duration::from_millis(500);
/// How soon a newer consensus is asked for once there should be one. While there is none, the pauses grow.
const SOON: Duration = Duration::from_secs(1);
/// How long the certificate of the onion key holds in a descriptor.
const CERTIFIED: u64 = 7 * 24 * 3600;

/// Publishes the relay to every authority, again when its keys change, when a consensus lacks it, and every so often, and tells it of the relays of each new consensus. Its keys must be
/// those that `key` was [put beside](TorRelayKey::with). Never ends. `told` hears of each step that failed or succeeded; what has failed is tried again.
pub async fn attend(
    relay: &Relay,
    key: &TorRelayKey,
    directory: &TorDirectory,
    attendance: &TorAttendance,
    told: impl Fn(Result<String, Error>),
) {
    let started = directory.now();
    // Before it is published: they may try at once whether it is there.
    relay.know_directories(directory.authorities().iter().map(|authority| authority.address().ip()));
    let mut published: Option<Arc<ListedRelay>> = None;
    let mut published_at = 0;
    let mut authorities: Vec<_> = directory.authorities().iter().map(|authority| (authority, Due::now())).collect();
    let mut consensus = Due::now();
    let mut known = 0;
    loop {
        let listed = relay.listed();
        if published.as_ref().is_none_or(|published| !Arc::ptr_eq(published, &listed)) {
            authorities.iter_mut().for_each(|(_, due)| *due = Due::now());
            published = Some(listed);
        }
        if authorities.iter().any(|(_, due)| due.is_now()) {
            match descriptor(relay, key, attendance, directory.now().saturating_sub(started)) {
                Ok(text) => {
                    published_at = directory.now();
                    let body = Bytes::from(text);
                    for (authority, due) in authorities.iter_mut().filter(|(_, due)| due.is_now()) {
                        let sent = async { exchange::publish(&authority.url("/tor/")?, body.clone()).await };
                        told(match sent.await {
                            Ok(_) => {
                                due.after(attendance.republish);
                                Ok(format!("published to {}", authority.address()))
                            }
                            Err(error) => {
                                due.failed();
                                Err(error)
                            }
                        });
                    }
                }
                Err(error) => {
                    authorities.iter_mut().for_each(|(_, due)| due.failed());
                    told(Err(error));
                }
            }
        }
        if consensus.is_now() {
            // Which cells its circuits have is for each of their clients to say.
            let relays = async {
                let consensus = directory.consensus().await?;
                let is_new = consensus.valid_after > known;
                let list = match is_new {
                    true => Some(directory.relays(&consensus, Crypto::Tor1, false).await?),
                    false => None,
                };
                Ok((list, consensus))
            };
            match relays.await {
                Ok((Some(list), new)) => {
                    known = new.valid_after;
                    consensus.after(SOON);
                    relay.know(&list);
                    let left_out = match new.left_out {
                        0 => String::new(),
                        count => format!("; {count} more have entries that can't be read"),
                    };
                    told(Ok(format!("consensus {known} lists {} relays{left_out}", list.relays().len())));
                    let own = relay.listed();
                    let is_listed = list.relays().iter().any(|other| other.identity() == own.identity());
                    if !is_listed && published_at + directory.interval() < known {
                        told(Ok(format!(
                            "this relay is not in it; can the authorities reach it at {}?",
                            own.address()
                        )));
                        authorities.iter_mut().for_each(|(_, due)| *due = Due::now());
                    }
                }
                Ok((None, same)) if directory.now() < same.fresh_until => consensus.after(SOON),
                // Nobody has a newer one.
                Ok(_) => consensus.failed_for_all(),
                Err(error) => {
                    consensus.failed_for_all();
                    told(Err(error));
                }
            }
        }
        sleep(TURN).await;
    }
}

fn descriptor(relay: &Relay, key: &TorRelayKey, attendance: &TorAttendance, uptime: u64) -> Result<String, Error> {
    let until = relay.now().saturating_add(CERTIFIED);
    let written = relay.tor_descriptor(until, |parts| {
        let SocketAddr::V4(address) = parts.address else {
            return Err(Error::Internal(format!(
                "{} is no IPv4 address, which C tor's authorities want",
                parts.address
            )));
        };
        let (sign, certificate) = &parts.onion_certificate;
        let policy = lines(parts.policy);
        let descriptor = RouterDescriptor {
            nickname: parts.name.unwrap_or("candor"),
            address,
            identity: parts.identity,
            rsa: key.key(),
            ntor: parts.onion_key,
            ntor_certificate: (*sign, certificate),
            published: parts.now,
            uptime,
            bandwidth: attendance.bandwidth,
            policy: &policy,
            has_directory: parts.has_directory,
            family: &attendance.family,
            contact: attendance.contact.as_deref(),
        };
        descriptor.sign().map_err(|error| Error::Internal(error.to_string()))
    });
    written?
}
