//! Which relay is to blame when a circuit fails, and what follows for its guard and for other circuits.

use super::{Built, Pool};
use crate::Error;
use crate::clock::instant;
use crate::link::locked;
use crate::proxy::trouble::{
    carried_nothing, failed_hop, is_a_refusal, is_spoilt, is_the_guards, is_the_links, may_be_the_exits,
};
use crate::relay_list::ListedRelay;
use std::sync::Arc;
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

    /// Has no stream begin on a circuit that was built ahead through a relay that has just been found silent, or a guard that carries nothing.
    fn discard_unused(&self, useless: &[u8; 32]) {
        let leads_there = |built: &Built| built.relays().any(|relay| relay.identity() == useless);
        let gone = locked(&self.state).remove(|pooled| pooled.isolation.is_none() && leads_there(&pooled.built));
        drop(gone);
    }

    /// Whether the guard of a circuit has come behind others while it was built.
    pub(super) fn is_of_no_use(&self, built: &Built) -> bool {
        locked(&self.guards).is_behind_since(built.guard().identity(), built.began, instant())
    }

    /// A circuit that was built has failed, instead of carrying what was begun on it at that moment.
    pub(super) async fn failed(&self, built: &Arc<Built>, error: &Error, began: Instant) {
        let relays: Vec<_> = built.relays().collect();
        if carried_nothing(error) {
            let (guard, exit) = (built.guard().identity(), built.exit().identity());
            let exit = may_be_the_exits(error, relays.len()).then_some(exit);
            let is_behind = locked(&self.guards).carried_nothing(guard, exit, began, instant());
            if is_behind {
                self.discard_unused(guard);
            }
        }
        // What the guard has ended, or somebody spoilt, says nothing of any other relay.
        if !is_a_refusal(error) && !is_spoilt(error) {
            self.note(&relays, built.began, Err(error)).await;
        }
        self.discard(built);
    }

    /// Notes that a circuit has carried the first bytes of a stream, or the answer to a look-up.
    pub(super) fn carried(&self, built: &Built) {
        locked(&self.guards).carried(built.guard().identity(), built.exit().identity(), built.began);
    }
}
