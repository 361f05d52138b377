//! What all requests share.

use super::wire::Name;
use crate::config::Config;
use crate::ids::{AccountId, NoRandomness, SessionId, TokenHash};
use crate::log::{Event, Log};
use crate::master::MasterKey;
use crate::metrics::{By, Metrics};
use crate::problem::Problem;
use crate::refresh::RefreshKey;
use crate::ring::{Keys, Ring};
use crate::sessions::Tokens;
use crate::store::{Account, Found, Scope, Store, StoreError, Upkeep};
use crate::throttle::{Places, Throttle, network};
use crate::time::{Clock, UnixTime};
use crate::turns::Turns;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{sleep, timeout};

/// How long the database may take for what a readiness check writes.
const READY: Duration = Duration::from_secs(3);

pub(crate) struct Service {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) ring: Ring,
    pub(crate) throttle: Throttle,
    pub(crate) metrics: Metrics,
    pub(crate) log: Log,
    pub(crate) clock: Clock,
    pub(crate) refreshes: RefreshKey,
    /// When a readiness check wrote last, and whether it could.
    wrote: Mutex<Option<(UnixTime, bool)>>,
    delayed: Arc<Places>,
    refused: Arc<Places>,
    waiting: Arc<Places>,
    /// Where those compute who have used up their guesses.
    last: Turns,
    processors: Semaphore,
    stopping: AtomicBool,
}

impl Service {
    pub(crate) async fn new(
        config: Config,
        store: Store,
        master: &MasterKey,
        log: Log,
        clock: Clock,
    ) -> Result<Arc<Self>, StoreError> {
        let ring = Ring::open(&store, master, config.ksf, clock.now()).await?;
        let limits = config.limits;
        Ok(Arc::new(Self {
            throttle: Throttle::new(config.guesses.clone()),
            refreshes: RefreshKey::new(master),
            wrote: Mutex::new(None),
            metrics: Metrics::new(),
            delayed: Places::new(limits.delayed, limits.delayed_per_network),
            // A quarter of the connections: the others stay free for those who are not turned away.
            refused: Places::new(limits.connections / 4, limits.delayed_per_network),
            waiting: Places::new(limits.waiting, limits.waiting_per_network),
            last: Turns::new(),
            processors: Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)),
            stopping: AtomicBool::new(false),
            config,
            store,
            ring,
            log,
            clock,
        }))
    }

    /// Counts a guess from that address, or turns it away. The refusal is held back for a moment as long as there are places to wait: a client that asks again
    /// at once would otherwise keep the server busy with nothing but refusals.
    pub(crate) async fn arrive(&self, from: IpAddr) -> Result<(), Problem> {
        match self.throttle.arrive(from) {
            Ok(()) => Ok(()),
            Err(wait) => Err(self.turn_away(from, wait).await),
        }
    }

    async fn turn_away(&self, from: IpAddr, wait: Duration) -> Problem {
        self.metrics.throttled(By::Network);
        if let Some(_place) = self.refused.enter(network(from)) {
            sleep(wait.min(self.config.limits.refusal)).await;
        }
        Problem::Throttled(wait)
    }

    /// Counts a token that nobody has; says what is to be answered. It takes nothing from the guesses at passwords.
    pub(crate) async fn missed(&self, from: IpAddr) -> Problem {
        match self.throttle.missed(from) {
            Ok(()) => Problem::NoSession,
            Err(wait) => self.turn_away(from, wait).await,
        }
    }

    /// Counts a sealed state that was used before as a guess; says what is to be answered.
    pub(crate) async fn replayed(&self, from: IpAddr) -> Problem {
        self.arrive(from).await.err().unwrap_or(Problem::StateUsed)
    }

    /// Counts a refresh of a session, or turns it away.
    pub(crate) fn refresh(&self, session: SessionId) -> Result<(), Problem> {
        self.throttle.refresh(session).map_err(|wait| {
            self.metrics.throttled(By::Owner);
            Problem::Throttled(wait)
        })
    }

    /// Counts a registration that is begun with this token, or turns it away.
    pub(crate) fn begin(&self, token: TokenHash) -> Result<(), Problem> {
        self.throttle.begin(token).map_err(|wait| {
            self.metrics.throttled(By::Owner);
            Problem::Throttled(wait)
        })
    }

    /// Counts what the owner of an account does, or turns it away.
    pub(crate) fn own(&self, account: AccountId) -> Result<(), Problem> {
        self.throttle.own(account).map_err(|wait| {
            self.metrics.throttled(By::Owner);
            Problem::Throttled(wait)
        })
    }

    /// Holds a guess at that name back as long as guesses at it have to wait; says whether it had to.
    pub(crate) async fn hold_back(
        &self,
        from: IpAddr,
        name: &Name,
        device: Option<crate::ids::DeviceId>,
    ) -> Result<bool, Problem> {
        let delay = self.throttle.delay(name.key(), device);
        if delay.is_zero() {
            return Ok(false);
        }
        self.metrics.throttled(By::Account);
        let place = self.delayed.enter(network(from)).ok_or(Problem::Throttled(delay))?;
        sleep(delay).await;
        drop(place);
        Ok(true)
    }

    /// Computes something that takes a processor for a while. No more than there are processors compute at a time, so that the rest of the server goes on; who
    /// waits is limited, in all and by network. An address that may not guess again at the moment computes after others: of many, all of which may guess once in a while, one
    /// computes in each round.
    pub(crate) async fn compute<T>(&self, from: IpAddr, work: impl FnOnce() -> T) -> Result<T, Problem> {
        let _place = self.waiting.enter(network(from)).ok_or(Problem::Busy)?;
        if self.throttle.is_spent(from) {
            self.last.after_others().await;
        }
        let _turn = self.processors.acquire().await.map_err(|_| Problem::Busy)?;
        Ok(work())
    }

    /// Fresh tokens of a session.
    pub(crate) fn tokens(&self, session: SessionId, scope: Scope) -> Result<Tokens, NoRandomness> {
        Tokens::fresh(&self.refreshes, session, &self.config, scope, self.clock.now())
    }

    /// The account of that name.
    pub(crate) async fn account(&self, route: &'static str, name: &Name) -> Result<Option<Account>, Problem> {
        self.stored(route, self.store.account(name).await)
    }

    /// What the store said, with what is wrong with it told to the operator.
    pub(crate) fn stored<T>(&self, route: &'static str, outcome: Result<T, StoreError>) -> Result<T, Problem> {
        outcome.map_err(|error| {
            if error.conflict().is_none() {
                self.log.tell(&Event::Database { route, why: error.to_string() });
            }
            error.into()
        })
    }

    /// A failure that the client can't help.
    pub(crate) fn failed(&self, route: &'static str, why: impl std::fmt::Display) -> Problem {
        self.log.tell(&Event::Failed { route, why: why.to_string() });
        Problem::Internal
    }

    /// The key ring, read again if it has changed since: an account that has moved on must not be ahead of the names without one.
    pub(crate) async fn keys_for(&self, route: &'static str, found: &Found) -> Result<Arc<Keys>, Problem> {
        self.stored(route, self.ring.at(found.generation, &self.store).await)
    }

    /// Reads the key ring again.
    pub(super) async fn reload(&self) {
        let _ = self.stored("key ring", self.ring.reload(&self.store).await);
    }

    /// Removes what has expired.
    pub(super) async fn prune(&self, upkeep: &mut Upkeep) {
        let _ = self.stored("pruning", upkeep.run().await);
    }

    /// Not ready from now on.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Whether the database takes changes. Anybody may ask, so this writes once a second at most; whoever asks meanwhile waits for that.
    pub(super) async fn is_writable(&self) -> bool {
        let mut wrote = self.wrote.lock().await;
        let (now, before) = (self.clock.now(), wrote.map(|(_, could)| could));
        if let Some((then, could)) = *wrote
            && then == now
        {
            return could;
        }
        // Noted first: whoever asks and hangs up makes nothing happen a second time.
        *wrote = Some((now, before.unwrap_or(false)));
        let late = || StoreError::Unavailable(format!("no change within {} seconds", READY.as_secs()));
        let written = timeout(READY, self.store.ping()).await.unwrap_or_else(|_| Err(late()));
        let could = self.stored("/readyz", written).is_ok();
        *wrote = Some((now, could));
        could
    }
}
