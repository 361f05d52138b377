//! Tries whether relays are where they say, and do what they say.
//!
//! A relay has to make a link with its identity at each of its addresses. On the first of these links it has to make a circuit by each handshake that it
//! offers, which proves that it holds the onion keys of its descriptor, and to answer a cell on the last of them: padding doesn't do. Whether it goes on to other
//! relays nobody tries. A relay that refuses a circuit for want of room is not taken for one that is gone: its clients, or somebody in this authority's network,
//! may have brought that about.

use super::authority::{AuthorityEvent, Shared};
use super::reach::{Answer, Claim, Due, Turns};
use super::registry::Stored;
use crate::Error;
use crate::client::{Client, ClientOptions};
use crate::clock::instant;
use crate::link::{connect, locked};
use crate::policy::is_public;
use crate::relay_list::ListedRelay;
use crate::tls::Connector;
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::{Cause, Failure};
use candor_onion::directory::kem_digest;
use std::collections::HashMap;
use std::net::{Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::{Id, JoinSet};
use tokio::time::timeout;

/// How often is looked whose turn it is, if nobody comes.
const TURN: Duration = Duration::from_millis(500);
/// At least so long, so that a crowd of newcomers makes no work without end.
const SHORTEST: Duration = Duration::from_millis(20);
/// Lines of the log about relays that don't answer, in a minute.
const LINES: usize = 20;

/// What has come of trying a relay.
type Answers = Vec<(Claim, Answer)>;

/// The tries that are under way.
#[derive(Default)]
struct Running {
    tasks: JoinSet<Answers>,
    of: HashMap<Id, Due>,
}

impl Running {
    fn start(&mut self, due: Due, work: impl Future<Output = Answers> + Send + 'static) {
        let id = self.tasks.spawn(work).id();
        self.of.insert(id, due);
    }

    /// The next that is over. One that has panicked was in vain: its place is free, and it is tried again like any other.
    async fn next(&mut self) -> Option<(Due, Answers)> {
        let (id, answers) = match self.tasks.join_next_with_id().await? {
            Ok((id, answers)) => (id, Some(answers)),
            Err(error) => (error.id(), None),
        };
        let due = self.of.remove(&id)?;
        let failed = |claim: &Claim| (*claim, Answer::Fails("this authority failed to try it".to_owned()));
        let answers = answers.unwrap_or_else(|| due.claims.iter().map(failed).collect());
        Some((due, answers))
    }
}

/// Whether this machine has a way to public addresses of IPv6. Nothing is sent.
pub(super) fn has_ipv6() -> bool {
    // Documentation's (RFC 3849); a route to it is a default route.
    let anywhere = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|socket| socket.connect((anywhere, 9))).is_ok()
}

/// Tries relays in their turns until it is dropped.
pub(super) async fn keep(shared: Arc<Shared>, connector: Connector) {
    let mut turns = Turns::default();
    let mut running = Running::default();
    let mut minute = (instant(), 0);
    loop {
        let now = instant();
        let limits = shared.reach;
        // Certificates hold for a time. Under a clock that has jumped, all would seem to have ended.
        let chosen: Vec<(Due, Arc<Stored>)> = if shared.doubt().is_some() {
            Vec::new()
        } else {
            let mut registry = locked(&shared.registry);
            let chosen = turns.choose(registry.due(now), now, &limits);
            chosen.iter().for_each(|due| registry.begin(&due.identity));
            chosen.into_iter().filter_map(|due| registry.newest(&due.identity).map(|newest| (due, newest))).collect()
        };
        for (due, newest) in chosen {
            let (shared, connector) = (Arc::clone(&shared), connector.clone());
            running.start(due, async move { attempt(&shared, &connector, &newest).await });
        }
        tokio::select! {
            Some((due, answers)) = running.next() => {
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

async fn attempt(shared: &Shared, connector: &Connector, said: &Stored) -> Answers {
    let mut answers = Vec::new();
    for (index, claim) in said.claims.iter().enumerate() {
        let answer = match claim.keys {
            Some(_) => circuits(shared, connector, said).await,
            None if is_out_of_reach(index, claim, &*shared.ipv6) => Ok(Answer::Unasked),
            None => {
                let (identity, patience) = (said.descriptor.relay.identity, shared.reach.patience);
                let now = shared.clock.now();
                let made = connect(connector, None, claim.address, Some(identity), None, now, patience).await;
                made.map(|_| Answer::Holds).map_err(|error| error.to_string())
            }
        };
        answers.push((*claim, answer.unwrap_or_else(Answer::Fails)));
    }
    answers
}

/// Whether an address is one that nobody can be asked at: a second one, of IPv6, where there is no way to it. Clients use the first, which has to answer in
/// any case.
fn is_out_of_reach(index: usize, claim: &Claim, has_ipv6: &dyn Fn() -> bool) -> bool {
    index > 0 && claim.address.is_ipv6() && is_public(claim.address.ip()) && !has_ipv6()
}

/// Makes circuits of one hop, at a relay's first address.
async fn circuits(shared: &Shared, connector: &Connector, said: &Stored) -> Result<Answer, String> {
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
    match made.map_err(|_| format!("made no circuit within {} s", 2 * patience.as_secs()))? {
        Ok(()) => Ok(Answer::Holds),
        Err(error) if is_busy(&error) => Ok(Answer::Busy(error.to_string())),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether a relay, whose link has proved its identity, has no room for a circuit at this moment.
fn is_busy(error: &Error) -> bool {
    let busy = Failure { hop: Some(1), cause: Cause::Destroyed(DestroyReason::RESOURCELIMIT) };
    matches!(error, Error::Circuit { failure, .. } if *failure == busy)
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

#[cfg(test)]
mod tests {
    use super::super::authority::{Authority, AuthorityConfig};
    use super::super::authority_keys::AuthorityKeys;
    use super::super::reach::{Lane, Reach};
    use super::*;
    use crate::client::scripted::{Script, Scripted};
    use crate::prefix::Prefix;
    use crate::{Clock, Words};
    use std::cell::Cell;

    fn claim(address: &str) -> Claim {
        Claim { address: address.parse().unwrap(), keys: None }
    }

    #[tokio::test]
    async fn a_try_that_panics_gives_its_place_back_and_was_in_vain() {
        let reach = Reach::new(Prefix::LOOPBACK[0], instant());
        let due = |number: u8| Due::new([number; 32], &[claim("8.8.8.8:1")], &reach, Lane::Listed, &[]);
        let mut running = Running::default();
        running.start(due(1), async { panic!("a mistake of ours") });
        running.start(due(2), async { vec![(claim("8.8.8.8:1"), Answer::Holds)] });
        let mut all = [running.next().await.unwrap(), running.next().await.unwrap()];
        all.sort_by_key(|(due, _)| due.identity);
        assert_eq!((&all[0].0, &all[1].0), (&due(1), &due(2)));
        assert!(matches!(&all[0].1[..], [(_, Answer::Fails(_))]), "{:?}", all[0].1);
        assert_eq!(all[1].1, [(claim("8.8.8.8:1"), Answer::Holds)]);
        assert!(running.next().await.is_none() && running.of.is_empty());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_relay_that_answers_circuits_with_padding_is_not_there() {
        let mut config = AuthorityConfig::new(([127, 0, 0, 1], 0).into());
        config.reach.patience = Duration::from_secs(2);
        let keys = AuthorityKeys::generate(Clock::default().now()).unwrap();
        let authority = Authority::start(keys, config).await.unwrap();
        let connector = Connector::new().unwrap();
        let relays = [Scripted::start(Script::Pads).await, Scripted::start(Script::Honest).await];
        let said = relays.each_ref().map(|relay| Stored::read(relay.relay.descriptor(&Words::default()).unwrap()));
        let [pads, honest] = said.map(Result::unwrap);
        let answer = circuits(authority.shared(), &connector, &pads).await;
        assert!(answer.as_ref().is_err_and(|why| why.contains("no answer")), "{answer:?}");
        assert_eq!(circuits(authority.shared(), &connector, &honest).await, Ok(Answer::Holds));
    }

    #[test]
    fn a_second_address_of_ipv6_is_asked_as_soon_as_there_is_a_way() {
        let way = Cell::new(false);
        let is_out_of_reach = |index, address| is_out_of_reach(index, &claim(address), &|| way.get());
        assert!(is_out_of_reach(1, "[2600::1]:1"));
        for (index, address) in [(0, "[2600::1]:1"), (1, "8.8.8.8:1"), (1, "[::1]:1")] {
            assert!(!is_out_of_reach(index, address), "{address}");
        }
        way.set(true);
        assert!(!is_out_of_reach(1, "[2600::1]:1"));
    }
}
