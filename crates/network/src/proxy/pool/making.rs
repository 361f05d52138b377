//! How a circuit is made, hop by hop, and what is asked of its exit.

use super::Pool;
use crate::Error;
use crate::client::Circuit;
use crate::clock::instant;
use crate::link::locked;
use crate::proxy::ExitUpgrade;
use crate::relay_list::ListedRelay;
use std::time::Duration;

impl Pool {
    /// A circuit, and how long its link and each hop took.
    pub(super) async fn make(&self, relays: &[&ListedRelay]) -> Result<(Circuit, Vec<Duration>), Error> {
        let Some((first, rest)) = relays.split_first() else {
            return Err(Error::Path("a path has at least one relay".to_owned()));
        };
        let mut start = instant();
        let mut lap = || {
            let now = instant();
            now - std::mem::replace(&mut start, now)
        };
        self.client.connect(first).await?;
        let mut stages = vec![lap()];
        let mut circuit = self.client.first_hop(first, self.handshake).await?;
        stages.push(lap());
        for (index, relay) in rest.iter().enumerate() {
            match self.upgrade != ExitUpgrade::Never && index + 1 == rest.len() {
                false => circuit.extend(relay, self.handshake).await?,
                true => match circuit.extend_and_upgrade(relay, self.handshake).await {
                    Err(Error::NoUpgrade { .. }) if self.upgrade == ExitUpgrade::IfOffered => {}
                    Err(error @ Error::NoUpgrade { .. }) => {
                        locked(&self.plain).push(*relay.identity());
                        return Err(error);
                    }
                    upgraded => upgraded.map(|()| self.counters.upgrades.add(1))?,
                },
            }
            stages.push(lap());
        }
        // Only whole circuits count, so that the stages can be added up.
        let all = std::iter::once(&self.counters.link).chain(&self.counters.hops);
        for (times, stage) in all.zip(&stages) {
            times.took(*stage);
        }
        Ok((circuit, stages))
    }
}

/// An error that there is no path, if so many exits are out of the question because they have no upgrades.
pub(super) fn without(error: Error, plain: usize) -> Error {
    match error {
        Error::Path(why) if plain > 0 => Error::Path(format!(
            "{why}; not counting {plain} exits that have no in-circuit upgrade, which the proxy asks for"
        )),
        error => error,
    }
}
