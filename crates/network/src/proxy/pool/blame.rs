//! Which relay is to blame when a circuit fails, and what follows for its guard and for other circuits.

use super::{Built, Pool};
use crate::Error;
use crate::clock::instant;
use crate::link::locked;
use crate::proxy::trouble::{carried_nothing, failed_hop, is_a_refusal, is_the_guards, is_the_links};
use crate::relay_list::ListedRelay;
use std::time::Instant;

impl Pool {
    /// Remembers which relays of a path could be reached, and which one could not, by a circuit that was begun at `began`.
    pub(super) async fn note(&self, relays: &[&ListedRelay], began: Instant, came: Result<(), &Error>) {
        let path: Vec<_> = relays.iter().map(|relay| *relay.identity()).collect();
        let changed = match came {
            Ok(()) => {
                locked(&self.absent).reached(&path);
                locked(&self.guards).reached(&path[0])
            }
            Err(error) if is_the_guards(error) => {
                locked(&self.guards).failed(&path[0], instant());
                locked(&self.absent).failed(&path, 1, instant());
                false
            }
            // The guard is tried over a new link before it is given up.
            Err(error) if is_the_links(error) => {
                if locked(&self.guards).lost_link(&path[0], began, instant()) {
                    locked(&self.absent).failed(&path, 1, instant());
                }
                self.discard_dead();
                false
            }
            Err(error) if is_a_refusal(error) => {
                locked(&self.guards).went_no_further(&path[0], began, instant());
                false
            }
            Err(error) => {
                if let Some(hop) = failed_hop(error) {
                    locked(&self.absent).failed(&path, hop, instant());
                    if matches!(error, Error::Silent { .. }) {
                        self.discard_unused(&path[hop - 1]);
                    }
                    if hop == 2 {
                        locked(&self.guards).went_no_further(&path[0], began, instant());
                    }
                }
                false
            }
        };
        if changed {
            self.save().await;
        }
    }

    /// Has no new stream use the circuits of links that have gone dead. Streams that they have go on as long as they can.
    fn discard_dead(&self) {
        let gone = locked(&self.state).remove(|pooled| pooled.built.circuit.is_retired());
        drop(gone);
    }

    /// Has no stream begin on a circuit that was built ahead through a relay that has just been found silent.
    fn discard_unused(&self, silent: &[u8; 32]) {
        let leads_there = |built: &Built| built.relays().any(|relay| relay.identity() == silent);
        let gone = locked(&self.state).remove(|pooled| pooled.isolation.is_none() && leads_there(&pooled.built));
        drop(gone);
    }

    /// The same error, or where the circuit is stuck, if a stream was not opened in time for that: an exit says by itself that a target doesn't answer.
    pub(super) async fn named(&self, error: Error, built: &Built) -> Error {
        match error {
            Error::Timeout { .. } => built.circuit.silent_hop(self.sign).await.unwrap_or(error),
            error => error,
        }
    }

    /// Notes that a circuit has failed instead of carrying something.
    pub(super) fn carried_nothing(&self, built: &Built, error: &Error) {
        if let Some(guard) = built.relays().next().filter(|_| carried_nothing(error, built.path.len())) {
            locked(&self.guards).carried_nothing(guard.identity(), built.began, instant());
        }
    }

    /// Notes that a circuit has carried something.
    pub(super) fn carried(&self, built: &Built) {
        if let Some(guard) = built.relays().next() {
            locked(&self.guards).carried(guard.identity());
        }
    }
}
