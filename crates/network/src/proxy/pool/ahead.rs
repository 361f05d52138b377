//! Circuits that are built before anybody asks for them, for the ports that were asked for lately.

use super::{Passed, Pool, Pooled};
use crate::Error;
use crate::clock::instant;
use crate::link::locked;
use crate::paths::Candidate;
use crate::proxy::ProxyEvent;
use crate::proxy::trouble::Trouble;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often circuits are looked through.
const TURN: Duration = Duration::from_secs(5);
/// The wait after a circuit could not be built ahead: at first, and at most.
const PAUSE: Duration = Duration::from_millis(500);
const MOST_PAUSE: Duration = Duration::from_secs(60);
/// Circuits are built ahead for a port for so long after it was asked for.
const RECENT: Duration = Duration::from_secs(3600);
/// An unused circuit is given up after this.
const UNUSED: Duration = Duration::from_secs(1800);

/// Keeps circuits ready as long as the proxy runs.
pub(in crate::proxy) async fn keep_ready(pool: Arc<Pool>) {
    let mut pause = PAUSE;
    loop {
        pool.clear();
        let Some((port, host)) = pool.lacks() else {
            let _ = timeout(TURN, pool.changed.notified()).await;
            continue;
        };
        match pool.build(host.as_deref(), port, &Passed::default(), None, pending()).await {
            Ok(built) => {
                pause = PAUSE;
                if !pool.is_of_no_use(&built) {
                    pool.keep(&built, None);
                }
            }
            Err(trouble) => {
                // A port that no exit leads to now needs none; it comes again when it is asked for.
                match trouble {
                    Trouble::Network(Error::Path(_)) => drop(locked(&pool.state).ports.remove(&port)),
                    Trouble::Network(error) => pool.journal.say(ProxyEvent::NoCircuits { error }),
                    _ => {}
                }
                sleep(pause).await;
                pause = (pause * 2).min(MOST_PAUSE);
            }
        }
    }
}

impl Pool {
    /// Gives up what is over, has been used or kept for too long.
    fn clear(&self) {
        let now = instant();
        let mut state = locked(&self.state);
        let reuse = self.reuse;
        let gone = state.remove(|pooled| {
            let age = now.duration_since(pooled.since);
            pooled.built.is_over() || age >= if pooled.isolation.is_some() { reuse } else { UNUSED }
        });
        state.ports.retain(|_, (when, _)| now.duration_since(*when) < RECENT);
        state.turns.retain(|_, turn| turn.strong_count() > 0);
        drop(state);
        drop(gone);
    }

    /// A port that has too few circuits, with a host there.
    fn lacks(&self) -> Option<(u16, Option<String>)> {
        let state = locked(&self.state);
        // The last quarter of all places is for streams.
        if state.count >= self.most - self.most / 4 {
            return None;
        }
        let ready = |host: Option<&str>, port| {
            let fits =
                |pooled: &&Pooled| pooled.isolation.is_none() && Candidate::permits(pooled.built.exit(), host, port);
            state.circuits.iter().filter(fits).count()
        };
        let mut ports: Vec<_> = state.ports.iter().collect();
        ports.sort();
        let lacking = ports.into_iter().find(|(port, (_, host))| ready(host.as_deref(), **port) < self.spare);
        lacking.map(|(port, (_, host))| (*port, host.clone()))
    }
}
