//! What a stream does to be opened: it tries one circuit after the other. And what is learnt from each try, also when its client doesn't wait for that.

use super::{Built, Isolation, Pool, Working};
use crate::Error;
use crate::clock::instant;
use crate::proxy::trouble::{
    Trouble, failed_hop, is_a_refusal, is_spoilt, is_the_exits, is_the_guards, is_the_links, leaves_the_circuit,
};
use crate::relay_list::ListedRelay;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::time::{sleep, timeout};

/// How often a stream is tried, each time with another circuit.
const TRIES: usize = 3;
/// How many circuits may fail to come about before a stream is given up. Each time the client learns of a relay that isn't there.
const BUILDS: usize = 8;

/// What a stream has been tried with in vain: identities of relays, and circuits.
#[derive(Clone, Default)]
pub(super) struct Passed {
    /// None of these is its exit.
    pub(super) exits: Vec<[u8; 32]>,
    /// Relays behind the guard of circuits on which a cell was spoilt, and middle relays that have ended circuits. None of these is on its path, unless there is no other
    /// from the same guard.
    pub(super) spoilt: Vec<[u8; 32]>,
    /// The guards of those circuits.
    suspects: Vec<[u8; 32]>,
    /// The guards of circuits that failed it behind them, or nobody knows where.
    entered: Vec<[u8; 32]>,
    /// Those of them over which a second try fared no better. It begins at none of these, unless there is no other that was reached.
    pub(super) guards: Vec<[u8; 32]>,
    /// Numbers of circuits that take no more streams.
    full: Vec<u64>,
}

impl Passed {
    /// Whether a circuit that is there is not for this stream.
    pub(super) fn passes(&self, built: &Built) -> bool {
        let (guard, exit) = (built.guard().identity(), built.exit().identity());
        let is_spoilt = built.relays().skip(1).any(|relay| self.spoilt.contains(relay.identity()));
        // Nor does one that happens to be there lead to another guard: not for what the relays behind the first have done, and for a spoilt cell not before a second try
        // over it.
        let mut entered = self.suspects.iter().chain(&self.entered).peekable();
        let is_elsewhere =
            self.guards.is_empty() && entered.peek().is_some() && !entered.any(|entered| entered == guard);
        let is_full = self.full.contains(&built.number);
        is_full || is_spoilt || is_elsewhere || self.guards.contains(guard) || self.exits.contains(exit)
    }

    /// Notes what has come of a try, for the next.
    pub(super) fn learn(&mut self, built: &Built, error: &Error) {
        if is_spoilt(error) {
            self.met_a_spoilt_cell(built);
        } else if matches!(error, Error::TooManyStreams) {
            self.full.push(built.number);
        } else {
            if is_the_exits(error, built.path.len()) {
                self.exits.push(*built.exit().identity());
            } else if let Some(middle) = failed_hop(error).filter(|hop| *hop > 1) {
                self.spoilt.extend(built.relays().nth(middle - 1).map(ListedRelay::identity));
            }
            // Otherwise a relay behind the guard, a middle one too, would choose the guard by failing what others carry.
            if built.path.len() > 1 && !is_a_refusal(error) {
                self.entered.push(*built.guard().identity());
            }
        }
    }

    /// Notes a circuit on which a cell was spoilt. Nobody knows whether by the guard or by one of those behind it. These are new with each try and must not choose the
    /// guard, so it is left only if a second try over it fares no better, by other relays if there are any.
    fn met_a_spoilt_cell(&mut self, built: &Built) {
        let guard = *built.guard().identity();
        self.spoilt.extend(built.relays().skip(1).map(ListedRelay::identity));
        let list = if self.suspects.contains(&guard) { &mut self.guards } else { &mut self.suspects };
        list.push(guard);
    }
}

/// A stream's try of a circuit. Keep it beside the stream until that is over. If it is dropped before anything has come, the circuit's relays are asked for a sign of life.
pub(in crate::proxy) struct Trial {
    pool: Arc<Pool>,
    pub(super) built: Arc<Built>,
    began: Instant,
    /// The exit has opened the stream.
    is_open: bool,
    /// It is known what the circuit is good for, as far as this stream can tell.
    is_settled: bool,
}

impl Trial {
    pub(super) fn new(pool: &Arc<Pool>, built: Arc<Built>) -> Self {
        Self { pool: Arc::clone(pool), built, began: instant(), is_open: false, is_settled: false }
    }

    /// The exit has sent something of the stream: bytes, or else its end. That a stream was opened says little: who ends each circuit then carries nothing either.
    pub(in crate::proxy) fn heard(&mut self, is_data: bool) {
        if !self.is_settled && is_data {
            self.pool.carried(&self.built);
        }
        self.is_settled |= is_data || !self.built.is_over();
    }

    /// What comes of the work; or where the circuit is stuck, if there is no answer for some time: an exit says by itself that a target doesn't answer.
    async fn outcome<T>(&self, work: Working<T>) -> Result<T, Error> {
        let (circuit, sign) = (&self.built.circuit, self.pool.sign);
        let is_in_doubt = |doubt| {
            self.built.is_in_doubt.send_replace(doubt);
        };
        let stuck = async {
            sleep(sign).await;
            is_in_doubt(true);
            if let Some(error) = circuit.silent_hop(sign).await {
                return error;
            }
            is_in_doubt(false);
            pending().await
        };
        tokio::select! {
            biased;
            done = work => {
                // An answer, whatever it says, is a sign of life. And where none has come in the time for it, the relays have answered.
                is_in_doubt(false);
                done
            }
            error = stuck => Err(error),
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        if !self.is_open {
            self.built.is_in_doubt.send_replace(true);
        }
        if self.built.is_asked.swap(true, Ordering::Relaxed) {
            return;
        }
        let (pool, built, began) = (Arc::clone(&self.pool), Arc::clone(&self.built), self.began);
        self.pool.behind(async move {
            if let Some(error) = built.circuit.silent_hop(pool.sign).await {
                pool.failed(&built, &error, began).await;
            }
            built.is_asked.store(false, Ordering::Relaxed);
            built.is_in_doubt.send_replace(false);
        });
    }
}

impl Pool {
    /// Does something with a circuit whose exit leads to the host and port, and with another if it fails.
    pub(super) async fn attempt<T>(
        self: &Arc<Self>,
        isolation: Isolation,
        host: &str,
        port: u16,
        what: String,
        work: impl Fn(Arc<Built>) -> Working<T>,
    ) -> Result<(T, Trial), Trouble> {
        let trying = async {
            let mut trouble = None;
            let mut passed = Passed::default();
            let (mut tried, mut failed) = (0, 0);
            while tried < TRIES && failed < BUILDS {
                if tried + failed > 0 {
                    self.counters.retries.add(1);
                }
                let error = match self.circuit(isolation, host, port, &passed).await {
                    Ok(built) => {
                        let mut trial = Trial::new(self, built);
                        match trial.outcome(work(Arc::clone(&trial.built))).await {
                            Ok(done) => {
                                trial.is_open = true;
                                return Ok((done, trial));
                            }
                            Err(error) => {
                                trial.is_settled = true;
                                if is_the_guards(&error) || is_the_links(&error) {
                                    failed += 1;
                                } else {
                                    tried += 1;
                                    passed.learn(&trial.built, &error);
                                }
                                if !leaves_the_circuit(&error) {
                                    self.failed(&trial.built, &error, trial.began).await;
                                }
                                error.into()
                            }
                        }
                    }
                    // What went wrong before says more than that there is no path left.
                    Err(Trouble::Network(Error::Path(why))) => {
                        return Err(trouble.unwrap_or(Trouble::Network(Error::Path(why))));
                    }
                    Err(error) => {
                        failed += 1;
                        error
                    }
                };
                if !error.is_the_paths() {
                    return Err(error);
                }
                trouble = Some(error);
            }
            Err(trouble.unwrap_or(Trouble::Busy))
        };
        timeout(self.patience, trying).await.map_err(|_| Error::Timeout { what, after: self.patience })?
    }
}
