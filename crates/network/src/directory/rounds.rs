//! Rounds: how authorities come to one consensus.
//!
//! A round begins at every multiple of the interval. Each authority fixes its view, and fetches the others'. When it has all of them, or the
//! time for views is over, it merges what it has (`candor_onion::directory::merge`), signs the outcome, and fetches the others' signatures.
//! With enough signatures of the same outcome there is a consensus; without, the last one is served until it ends. An authority remembers which
//! round it has signed for and never signs two outcomes of one.
//!
//! What it signs, it signs for a time, and a clock can be set wrong from outside. So an authority whose clock has jumped shows no view and signs nothing, until
//! the clock is back where it was or has gone on evenly for an hour, or until enough others have signed views of the round that its clock says it is.

use super::authority::{AuthorityEvent, Shared};
use super::exchange::{failed, get};
use super::{DirectoryAddress, exchange};
use crate::Error;
use crate::link::locked;
use candor_onion::directory::{Consensus, Endorsement, MOST_CONSENSUS, Times, View, merge};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

/// The most time for views, and then for signatures. Short intervals have a quarter of theirs.
const STAGE: u64 = 60;
/// How long to wait before an authority is asked again.
const AGAIN: Duration = Duration::from_millis(200);
/// Before the beginning of a round, the seconds in which descriptors that arrive are left for the next one; short intervals have a tenth.
const SETTLING: u64 = 60;

/// Holds rounds until it is dropped.
pub(super) async fn keep(shared: Arc<Shared>) {
    let mut seen = None;
    // When it was last told that consensuses of the future are in the way.
    let mut seen_ahead: Option<u64> = None;
    // When it was last told that its clock has jumped.
    let mut doubted: Option<Instant> = None;
    loop {
        shared.networks.forget_quiet();
        let now = shared.clock.now();
        let doubt = shared.doubt();
        if doubt.is_none() {
            doubted = None;
            renew_keys(&shared).await;
        }
        let begins = if shared.peers.is_empty() {
            if let Some(by) = doubt {
                if doubted.is_none_or(|at| at.elapsed().as_secs() >= shared.interval) {
                    doubted = Some(Instant::now());
                    shared.tell(&AuthorityEvent::NoConsensus { number: now, why: jumped(by) });
                }
                sleep(AGAIN).await;
                continue;
            }
            // There is nobody to wait for. Large networks change all the time, and need not have each change at once.
            let (changes, pause) = {
                let registry = locked(&shared.registry);
                (registry.changes(), 1 + registry.count() as u64 / 100)
            };
            let is_due =
                seen.is_none_or(|(at, before)| (changes != before && at + pause <= now) || at + shared.interval <= now);
            let signed = shared.last_signed();
            if now + shared.interval < signed && seen_ahead.is_none_or(|at| at + shared.interval <= now) {
                seen_ahead = Some(now);
                let ahead = signed - now;
                let why = format!(
                    "the last consensus is of {ahead} s from now, when this machine's clock was ahead; there is no other until then, unless the \
                     authority is started without the files `signed` and `consensus` of its state folder"
                );
                shared.tell(&AuthorityEvent::NoConsensus { number: now, why });
            }
            if !is_due || now <= signed {
                sleep(AGAIN).await;
                continue;
            }
            seen = Some((now, changes));
            now
        } else {
            let finder = Arc::clone(&shared);
            tokio::spawn(async move { finder.find_peers().await });
            let next = (now / shared.interval + 1) * shared.interval;
            let begins = loop {
                match shared.clock.now() {
                    now if now >= next => break Some(next),
                    // The clock has gone back: the round that is next now is another.
                    now if now + shared.interval < next => break None,
                    now => sleep(Duration::from_secs(next - now).min(AGAIN)).await,
                }
            };
            let Some(begins) = begins else { continue };
            begins
        };
        if let Err(error) = hold(&shared, begins).await {
            shared.tell(&AuthorityEvent::NoConsensus { number: begins, why: error.to_string() });
        }
    }
}

async fn renew_keys(shared: &Arc<Shared>) {
    let now = shared.clock.now();
    if !locked(&shared.keys).is_due(now) {
        return;
    }
    let shared = Arc::clone(shared);
    let work = move || {
        let renewed = locked(&shared.keys).renewed(now);
        match renewed {
            Ok(keys) => {
                *locked(&shared.keys) = keys;
                shared.tell(&AuthorityEvent::KeysRenewed);
            }
            Err(error) => shared.tell(&AuthorityEvent::State { why: format!("can't renew the signing key: {error}") }),
        }
    };
    // It fails only if it panics, and then the old keys stay.
    let _ = tokio::task::spawn_blocking(work).await;
}

async fn hold(shared: &Arc<Shared>, begins: u64) -> Result<(), Error> {
    let interval = shared.interval;
    let times = Times {
        valid_after: begins,
        fresh_until: begins + interval,
        valid_until: begins + interval * shared.intervals_valid,
    };
    let stage = Duration::from_millis((interval * 250).min(STAGE * 1000));
    if let Some(by) = shared.doubt() {
        let agree = views(shared, times, Instant::now() + stage).await.len();
        if agree < shared.authorities.threshold().min(shared.peers.len()) {
            return Err(Error::Internal(jumped(by)));
        }
        shared.vouched();
        let why = format!(
            "this machine's clock has jumped by {by} s, and {agree} other authorities say that it is right now"
        );
        return Err(Error::Internal(why));
    }
    let internal = |error: candor_onion::Error| Error::Internal(error.to_string());
    let settling = if shared.peers.is_empty() { 0 } else { SETTLING.min(interval / 10) };
    let viewed = locked(&shared.registry).view(begins - settling, begins);
    let own = {
        let relays: Vec<_> =
            viewed.iter().map(|stored| (stored.descriptor.relay.clone(), stored.descriptor.family.clone())).collect();
        let keys = locked(&shared.keys);
        let (key, certificate) = keys.signing(begins).ok_or_else(no_key)?;
        View::sign(times, &relays, key, certificate).map_err(internal)?
    };
    let view = View::verify(&own, &shared.authorities).map_err(internal)?;
    shared.serve(|served| served.view = Some((begins, own.into())));

    let start = Instant::now();
    let mut views = views(shared, times, start + stage).await;
    views.push(view);
    let merged = Arc::new(merge(times, &views, shared.authorities.threshold()).map_err(internal)?);
    drop(views);
    shared.will_sign(begins)?;
    let signature = {
        let keys = locked(&shared.keys);
        let (key, certificate) = keys.signing(begins).ok_or_else(no_key)?;
        merged.sign(key, certificate).map_err(internal)?
    };
    let mut encoded = Vec::new();
    signature.encode(&mut encoded);
    shared.serve(|served| served.signature = Some((begins, encoded.into())));

    let agreed = Arc::clone(&merged);
    let take = move |bytes: &[u8], shared: &Shared| {
        let signature = Endorsement::from_bytes(bytes)?;
        agreed.check(&signature, &shared.authorities).map(|()| signature)
    };
    let others = gather(shared, format!("/signature/{begins}"), Endorsement::LENGTH, start + 2 * stage, take).await;
    let signatures: Vec<_> = others.into_iter().map(|(_, signature)| signature).chain([signature]).collect();
    let document = merged.signed(&signatures);
    let consensus = Consensus::verify(&document, &shared.authorities).map_err(internal)?;
    let (number, relays, signers) = (consensus.number(), consensus.relays.len(), consensus.signers.len());
    let publisher = Arc::clone(shared);
    // Writes to the disk.
    let _ = tokio::task::spawn_blocking(move || publisher.publish(document, &consensus, &viewed)).await;
    shared.tell(&AuthorityEvent::Consensus { number, relays, signers });
    Ok(())
}

/// The others' views of a round.
async fn views(shared: &Arc<Shared>, times: Times, deadline: Instant) -> Vec<View> {
    let take = |bytes: &[u8], shared: &Shared| View::verify(bytes, &shared.authorities);
    let others = gather(shared, format!("/view/{}", times.valid_after), 2 * MOST_CONSENSUS, deadline, take).await;
    let mut views = Vec::new();
    for (from, view) in others {
        if from.fingerprint() != Some(&view.authority) {
            peer(shared, &from, "serves a view of another authority");
        } else if view.times != times {
            peer(shared, &from, "has other times; all authorities need the same --interval");
        } else {
            views.push(view);
        }
    }
    views
}

fn jumped(by: u64) -> String {
    format!(
        "this machine's clock has jumped by {by} s; nothing is signed before it is back, or has gone on evenly for an hour, or the other \
         authorities hold the same rounds"
    )
}

fn no_key() -> Error {
    Error::Internal("no signing key holds at this time; is the clock right?".to_owned())
}

fn peer(shared: &Shared, from: &DirectoryAddress, why: &str) {
    shared.tell(&AuthorityEvent::Peer { url: from.url().to_string(), why: why.to_owned() });
}

/// Asks every other authority for a document until it has one, or the time is over. What is wrong with what it gets is told.
async fn gather<T: Send + 'static>(
    shared: &Arc<Shared>,
    below: String,
    most: usize,
    deadline: Instant,
    take: impl Fn(&[u8], &Shared) -> Result<T, candor_onion::Error> + Clone + Send + Sync + 'static,
) -> Vec<(DirectoryAddress, T)> {
    let mut asked = JoinSet::new();
    for from in shared.peers.clone() {
        let (shared, below, take) = (Arc::clone(shared), below.clone(), take.clone());
        asked.spawn(async move {
            let mut last = failed(from.url(), "did not answer in time");
            let asking = async {
                loop {
                    match get(&from, &below, None, most)
                        .await
                        .and_then(|reply| exchange::Reply::success(reply, from.url()))
                    {
                        Ok(reply) => match take(&reply.body, &shared) {
                            Ok(taken) => return taken,
                            Err(error) => last = failed(from.url(), error),
                        },
                        Err(error) => last = error,
                    }
                    sleep(AGAIN).await;
                }
            };
            let taken = timeout_at(deadline, asking).await;
            match taken {
                Ok(taken) => Some((from, taken)),
                Err(_) => {
                    peer(&shared, &from, &last.to_string());
                    None
                }
            }
        });
    }
    let mut all: Vec<_> = asked.join_all().await.into_iter().flatten().collect();
    // Two addresses of one authority count once.
    all.sort_by_key(|(from, _): &(DirectoryAddress, T)| from.fingerprint().copied());
    all.dedup_by_key(|(from, _)| from.fingerprint().copied());
    all
}
