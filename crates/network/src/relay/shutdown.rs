//! What a relay does by the clock, and its end.

use super::{Shared, renewal};
use crate::clock;
use candor_onion::cell::DestroyReason;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How often circuits are asked whether they wait in vain.
const TICK: Duration = Duration::from_millis(500);
/// A link without a circuit is closed after this, or at once if no new circuit is to use it.
const IDLE_LINK: Duration = Duration::from_secs(180);
/// How long a circuit may be idle when room is short.
const IDLE_WHEN_PRESSED: Duration = Duration::from_secs(60);
/// At the end, a circuit that has carried nothing for this long has nothing in flight.
const QUIET: Duration = Duration::from_millis(500);
/// How long links may take to send the last cells.
const LAST_CELLS: Duration = Duration::from_secs(2);

/// Ends circuits that wait in vain or carry nothing, and links that nobody uses, tidies those that once had more circuits, and renews keys, as long as the relay runs.
pub(super) async fn keep_time(relay: Arc<Shared>) {
    let mut idle: HashMap<usize, Instant> = HashMap::new();
    loop {
        sleep(TICK).await;
        renewal::keep_fresh(&relay).await;
        relay.journal.turn();
        relay.networks.forget_quiet();
        let now = clock::instant();
        let links = relay.links.all();
        let too_old = now.checked_sub(relay.idle_circuit());
        for slot in links.iter().flat_map(|link| link.all()).filter(|slot| slot.from_client) {
            slot.circuit.with(|inner| inner.machine.tick(now));
            if let Some(too_old) = too_old {
                slot.circuit.expire(too_old);
            }
        }
        let mut still_idle = HashMap::new();
        for link in &links {
            link.place.set_in_use(link.count() > 0);
            link.tidy();
        }
        for link in links.iter().filter(|link| link.count() == 0) {
            let key = Arc::as_ptr(link).addr();
            let since = *idle.get(&key).unwrap_or(&now);
            if now.duration_since(since) < IDLE_LINK && !link.is_retired() {
                still_idle.insert(key, since);
            } else {
                link.close().into_iter().for_each(|slot| slot.link_closed(link));
            }
        }
        idle = still_idle;
    }
}

/// [`super::Relay::shutdown`].
pub(super) async fn run(relay: &Arc<Shared>, limit: Duration) {
    relay.stop();
    let end = clock::instant() + limit;
    while clock::instant() < end && relay.is_busy() {
        sleep(Duration::from_millis(20)).await;
    }
    relay.close_all(DestroyReason::HIBERNATING);
    let _ = timeout(LAST_CELLS, relay.links.none_left()).await;
}

impl Shared {
    /// How long a circuit without streams may carry nothing.
    fn idle_circuit(&self) -> Duration {
        let most = self.limits.all_circuits;
        let used = most.saturating_sub(self.circuits.available_permits());
        let pressed = used >= most - most / 4;
        if pressed { self.limits.idle_circuit.min(IDLE_WHEN_PRESSED) } else { self.limits.idle_circuit }
    }

    /// Whether any circuit has streams or has just carried something.
    fn is_busy(&self) -> bool {
        let Some(since) = clock::instant().checked_sub(QUIET) else { return true };
        let links = self.links.all();
        links.iter().any(|link| !link.outbox.is_empty() || link.all().iter().any(|slot| slot.circuit.is_busy(since)))
    }

    /// Destroys all circuits and closes all links, once they have sent what is queued.
    pub(super) fn close_all(&self, reason: DestroyReason) {
        let links = self.links.all();
        for slot in links.iter().flat_map(|link| link.all()) {
            slot.circuit.with(|inner| inner.machine.close(reason));
        }
        for link in &links {
            link.close().into_iter().for_each(|slot| slot.link_closed(link));
        }
    }
}
