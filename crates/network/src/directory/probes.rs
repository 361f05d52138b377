//! Tries whether relays are where they say, and do what they say.
//!
//! A relay has to make a link with its identity at each of its addresses. On the first of these links it has to make a circuit by each handshake that it
//! offers, which proves that it holds the onion keys of its descriptor, and to answer a cell on the last of them. Whether it goes on to other relays
//! nobody tries.

use super::authority::{AuthorityEvent, Shared};
use super::reach::{Due, Turns};
use super::registry::Stored;
use crate::client::{Client, ClientOptions};
use crate::clock::instant;
use crate::link::{connect, locked};
use crate::relay_list::ListedRelay;
use crate::tls::Connector;
use candor_onion::directory::kem_digest;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How often is looked whose turn it is, if nobody comes.
const TURN: Duration = Duration::from_millis(500);
/// At least so long, so that a crowd of newcomers makes no work without end.
const SHORTEST: Duration = Duration::from_millis(20);
/// Lines of the log about relays that don't answer, in a minute.
const LINES: usize = 20;

/// What has come of trying a relay: its addresses, and why one has not answered.
type Tried = (Due, Vec<(SocketAddr, Result<(), String>)>);

/// Whether this machine has a way to public addresses of IPv6. Nothing is sent.
pub(super) fn has_ipv6() -> bool {
    // Documentation's (RFC 3849); a route to it is a default route.
    let anywhere = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|socket| socket.connect((anywhere, 9))).is_ok()
}

/// Tries relays in their turns until it is dropped.
pub(super) async fn keep(shared: Arc<Shared>, connector: Connector) {
    let mut turns = Turns::default();
    let mut running: JoinSet<Tried> = JoinSet::new();
    let mut minute = (instant(), 0);
    loop {
        let now = instant();
        let limits = shared.reach;
        // Certificates hold for a time. Under a clock that has jumped, all would seem to have ended.
        let chosen = if shared.doubt().is_some() {
            Vec::new()
        } else {
            let mut registry = locked(&shared.registry);
            let chosen = turns.choose(registry.due(now), now, &limits);
            chosen.iter().for_each(|due| registry.begin(&due.identity));
            chosen
        };
        for due in chosen {
            let (shared, connector) = (Arc::clone(&shared), connector.clone());
            running.spawn(async move { attempt(&shared, &connector, due).await });
        }
        tokio::select! {
            Some(tried) = running.join_next() => if let Ok((due, answers)) = tried {
                turns.done(due.lane);
                if shared.doubt().is_some() {
                    locked(&shared.registry).put_off(&due.identity, instant());
                } else if let Err((relay, refused)) = locked(&shared.registry).tried(&due.identity, &answers, instant()) {
                    tell(&shared, &mut minute, AuthorityEvent::NotListed { relay, why: refused.to_string() });
                }
            },
            _ = timeout(TURN, shared.registered.notified()) => tokio::time::sleep(SHORTEST).await,
        }
        if shared.doubt().is_some() {
            continue;
        }
        let lost = locked(&shared.registry).forget_silent(instant());
        for (relay, why) in lost {
            tell(&shared, &mut minute, AuthorityEvent::NotListed { relay, why });
        }
    }
}

async fn attempt(shared: &Shared, connector: &Connector, due: Due) -> Tried {
    let mut answers = Vec::new();
    let newest = locked(&shared.registry).newest(&due.identity);
    for (index, address) in due.addresses.iter().enumerate() {
        let (now, patience) = (shared.clock.now(), shared.reach.patience);
        let said =
            newest.as_ref().filter(|newest| index == 0 && newest.descriptor.relay.addresses.first() == Some(address));
        let made = match said {
            Some(newest) => circuits(shared, connector, newest).await,
            None => {
                let made = connect(connector, None, *address, Some(due.identity), None, now, patience).await;
                made.map(drop).map_err(|error| error.to_string())
            }
        };
        answers.push((*address, made));
    }
    (due, answers)
}

/// Makes circuits of one hop, at a relay's first address.
async fn circuits(shared: &Shared, connector: &Connector, said: &Stored) -> Result<(), String> {
    let (patience, clock) = (shared.reach.patience, shared.clock.clone());
    let mut options = ClientOptions { link: patience, clock, ..ClientOptions::default() };
    options.limits.build = patience;
    let client = Client::with(connector.clone(), options);
    let key = |digest: &[u8; 32]| {
        let keys = said.descriptor.kems.iter().flatten();
        keys.into_iter().find(|key| kem_digest(key) == *digest).cloned()
    };
    let relay = ListedRelay::of_directory(&said.descriptor.relay, None, &key);
    let relay = relay.ok_or_else(|| "offers no handshake that is known here".to_owned())?;
    let trying = async {
        client.connect(&relay).await?;
        let mut last = None;
        for handshake in relay.handshakes() {
            last = Some(client.first_hop(&relay, handshake).await?);
        }
        match last {
            Some(circuit) => circuit.silent_hop(patience).await.map_or(Ok(()), Err),
            None => Ok(()),
        }
    };
    let made = timeout(2 * patience, trying).await;
    made.map_err(|_| format!("made no circuit within {} s", 2 * patience.as_secs()))?.map_err(|error| error.to_string())
}

/// Tells the log, which strangers can't flood.
fn tell(shared: &Shared, minute: &mut (Instant, usize), event: AuthorityEvent) {
    let now = instant();
    if now.saturating_duration_since(minute.0) >= Duration::from_secs(60) {
        *minute = (now, 0);
    }
    minute.1 += 1;
    if minute.1 <= LINES {
        shared.tell(&event);
    }
}
