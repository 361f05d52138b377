//! A proxy's circuits: those in use, each for one isolation, and those built ahead.

mod ahead;
mod attempt;
mod blame;
mod making;
mod turns;

pub(super) use ahead::keep_ready;
pub(super) use attempt::Trial;

use super::metrics::{Count, Counters, Held};
use super::readings::CircuitReading;
use super::trouble::{Trouble, is_onion};
use super::{ExitUpgrade, Journal, ProxyConfig, ProxyEvent};
use crate::client::{Circuit, Client};
use crate::clock::{Clock, Even, instant};
use crate::link::locked;
use crate::paths::{Absent, Guards, When, Wish, fresh};
use crate::policy::{host_address, is_public};
use crate::relay_list::{ListedRelay, RelayList};
use crate::stream::CircuitStream;
use crate::{Error, files};
use attempt::Passed;
use candor_onion::handshake::HandshakeType;
use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;
use turns::Turns;

/// Streams with the same share circuits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Isolation {
    pub(super) key: [u8; 32],
    /// The client's address, whose circuits are counted.
    pub(super) from: IpAddr,
}

/// What is done with a circuit.
type Working<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// The port of an exit that is asked before any port was.
const HTTPS: u16 = 443;
/// How long a stream is waited for before the relays of its circuit are asked for a sign of life, and how long they have for that; or a third of what a stream may
/// take, if it is less.
const SIGN: Duration = Duration::from_secs(5);
/// Circuits that are built at a time.
const BUILDING: usize = 8;
/// Whoever has so many circuits takes none of the last eighth of all places.
const MANY: usize = 8;
/// Seconds after the end of a consensus in which circuits are still built by it. A network whose authorities fail for a night goes on; and nobody who keeps newer ones from a client
/// holds it for longer to relays that the authorities have dropped since. C tor's clients take as much (`REASONABLY_LIVE_TIME`), and relays keep older onion keys for a week.
const GRACE: u64 = 24 * 3600;
/// Ports that circuits are built ahead for.
const MOST_PORTS: usize = 8;

pub(super) struct Pool {
    client: Client,
    clock: Clock,
    even: Mutex<Even>,
    hops: usize,
    handshake: HandshakeType,
    upgrade: ExitUpgrade,
    /// Exits that have said that they have no upgrade, where none is used without.
    plain: Mutex<Vec<[u8; 32]>>,
    test_network: bool,
    entries: Vec<String>,
    reuse: Duration,
    spare: usize,
    most: usize,
    patience: Duration,
    sign: Duration,
    relays: Mutex<Arc<RelayList>>,
    guards: Mutex<Guards>,
    absent: Mutex<Absent>,
    /// Held while the guards are written; whether the file lacks what they are now.
    saving: tokio::sync::Mutex<()>,
    unsaved: AtomicBool,
    building: Arc<Turns>,
    state: Mutex<State>,
    /// There may be a circuit to build ahead.
    changed: Notify,
    /// What goes on although the client has left: at most one task for each circuit. `None` once the proxy ends.
    behind: Mutex<Option<JoinSet<()>>>,
    counters: Arc<Counters>,
    journal: Arc<Journal>,
}

#[derive(Default)]
struct State {
    circuits: Vec<Pooled>,
    /// Ports that were asked for: when last, and at which host.
    ports: HashMap<u16, (Instant, Option<String>)>,
    /// Whoever builds for an isolation holds its lock, so that streams that come together share what is built.
    turns: HashMap<Isolation, Weak<tokio::sync::Mutex<()>>>,
    /// Circuits that are there or being built; and how many of them each address has.
    count: usize,
    of_address: HashMap<IpAddr, usize>,
}

struct Pooled {
    built: Arc<Built>,
    /// `None`: not used yet.
    isolation: Option<Isolation>,
    /// When it was first used, or built.
    since: Instant,
    /// When it was last used.
    used: Instant,
}

/// A circuit, and what it was built for.
pub(super) struct Built {
    circuit: Circuit,
    list: Arc<RelayList>,
    path: Vec<usize>,
    /// How long the link and each hop took.
    stages: Vec<Duration>,
    number: u64,
    /// When it was begun, and when it was there.
    began: Instant,
    since: Instant,
    /// A stream was not opened in time, or its client has left before that: no other gets the circuit until its relays have given a sign of life.
    is_in_doubt: watch::Sender<bool>,
    /// They are being asked for it, though no client waits.
    is_asked: AtomicBool,
    place: Place,
    _counted: Held,
}

/// What there is for a stream.
enum Found {
    Circuit(Arc<Built>),
    /// One that is in doubt, until that is over.
    InDoubt(watch::Receiver<bool>),
    Nothing,
}

/// A circuit's place among the most that there may be, and the address of the client that has it, once there is one.
struct Place {
    pool: Arc<Pool>,
    from: OnceLock<IpAddr>,
}

impl Place {
    fn is_for(&self, from: IpAddr, of_address: &mut HashMap<IpAddr, usize>) {
        if self.from.set(from).is_ok() {
            *of_address.entry(from).or_default() += 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = locked(&self.pool.state);
        state.count -= 1;
        if let Some(from) = self.from.get()
            && let Some(count) = state.of_address.get_mut(from)
        {
            *count -= 1;
            state.of_address.retain(|_, count| *count > 0);
        }
    }
}

impl Built {
    fn guard(&self) -> &ListedRelay {
        &self.list.relays()[self.path[0]]
    }

    fn exit(&self) -> &ListedRelay {
        &self.list.relays()[self.path[self.path.len() - 1]]
    }

    fn relays(&self) -> impl Iterator<Item = &ListedRelay> {
        self.path.iter().map(|place| &self.list.relays()[*place])
    }

    fn is_over(&self) -> bool {
        self.circuit.failure().is_some()
    }
}

impl Pool {
    pub(super) fn new(
        client: Client,
        config: &ProxyConfig,
        guards: Guards,
        relays: RelayList,
        counters: Arc<Counters>,
        journal: Arc<Journal>,
    ) -> Arc<Self> {
        let now = instant();
        let expected = config.expected.iter().take(MOST_PORTS).map(|port| (*port, (now, None)));
        Arc::new(Self {
            client,
            even: Mutex::new(Even::since(config.client.clock.moment())),
            clock: config.client.clock.clone(),
            hops: config.hops,
            handshake: config.handshake,
            upgrade: config.upgrade,
            plain: Mutex::default(),
            test_network: config.test_network,
            entries: config.entries.clone(),
            reuse: config.reuse,
            spare: config.spare,
            most: config.circuits,
            patience: config.patience,
            sign: SIGN.min(config.client.stream / 3),
            relays: Mutex::new(Arc::new(relays)),
            guards: Mutex::new(guards),
            absent: Mutex::default(),
            saving: tokio::sync::Mutex::new(()),
            unsaved: AtomicBool::new(false),
            building: Turns::new(BUILDING),
            state: Mutex::new(State { ports: expected.collect(), ..State::default() }),
            changed: Notify::new(),
            behind: Mutex::new(Some(JoinSet::new())),
            counters,
            journal,
        })
    }

    pub(super) fn know(&self, relays: RelayList) {
        *locked(&self.relays) = Arc::new(relays);
        locked(&self.plain).clear();
        self.changed.notify_one();
    }

    /// Opens a stream, over another circuit if one fails. Keep what is returned beside it until the stream is over.
    pub(super) async fn open(
        self: &Arc<Self>,
        isolation: Isolation,
        host: &str,
        port: u16,
    ) -> Result<(CircuitStream, Trial), Trouble> {
        if is_onion(host) {
            return Err(Trouble::OnionService);
        }
        self.expect(host, port);
        let what = format!("opening a stream to {host}:{port}");
        self.attempt(isolation, host, port, what, |built| {
            let (pool, host) = (Arc::clone(self), host.to_owned());
            Box::pin(async move { pool.begin(&built, &host, port).await })
        })
        .await
    }

    /// The addresses of a name, as an exit knows them; an address stands for itself.
    pub(super) async fn addresses(self: &Arc<Self>, isolation: Isolation, host: &str) -> Result<Vec<IpAddr>, Trouble> {
        if is_onion(host) {
            return Err(Trouble::OnionService);
        }
        if let Some(address) = host_address(host) {
            return Ok(vec![address]);
        }
        let looked_up = self.attempt(isolation, host, self.usual_port(), format!("looking up {host}"), |built| {
            let host = host.to_owned();
            Box::pin(async move { built.circuit.addresses(&host).await })
        });
        let (mut addresses, mut trial) = looked_up.await?;
        trial.heard(true);
        // An exit that lies could make a program take a machine of its own network for one outside.
        addresses.retain(|address| self.test_network || is_public(address.to_canonical()));
        if addresses.is_empty() { Err(Trouble::PrivateAddress) } else { Ok(addresses) }
    }

    /// The name of an address, as an exit knows it.
    pub(super) async fn name(self: &Arc<Self>, isolation: Isolation, address: IpAddr) -> Result<String, Trouble> {
        let host = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let what = format!("looking up {address}");
        let looked_up = self.attempt(isolation, &host, self.usual_port(), what, |built| {
            Box::pin(async move { built.circuit.name(address).await })
        });
        let (name, mut trial) = looked_up.await?;
        trial.heard(true);
        Ok(name)
    }

    /// The port that was asked for last, whose exits are to be asked: a look-up has none of its own.
    fn usual_port(&self) -> u16 {
        let state = locked(&self.state);
        state.ports.iter().max_by_key(|(_, (when, _))| *when).map_or(HTTPS, |(port, _)| *port)
    }

    async fn begin(&self, built: &Built, host: &str, port: u16) -> Result<CircuitStream, Error> {
        let start = instant();
        let stream = built.circuit.open(host, port).await?;
        self.counters.stream.took(instant() - start);
        Ok(stream)
    }

    /// A circuit for a stream: one that its isolation has, one that was built ahead, or a new one.
    async fn circuit(
        self: &Arc<Self>,
        isolation: Isolation,
        host: &str,
        port: u16,
        passed: &Passed,
    ) -> Result<Arc<Built>, Trouble> {
        let find = |waits| locked(&self.state).find(isolation, host, port, passed, self.reuse, waits);
        // Who took another circuit at once would have the client build one after the other by giving up again and again.
        let found = loop {
            match find(true) {
                Found::InDoubt(mut doubt) => drop(doubt.wait_for(|is_in_doubt| !is_in_doubt).await),
                found => break found,
            }
        };
        if let Found::Circuit(found) = found {
            self.changed.notify_one();
            return Ok(found);
        }
        let turn = locked(&self.state).turn(isolation);
        let held = turn.lock_owned().await;
        if let Found::Circuit(found) = find(false) {
            return Ok(found);
        }
        let (mut tell, told) = oneshot::channel();
        let (pool, host, passed) = (Arc::clone(self), host.to_owned(), passed.clone());
        // A client that leaves meanwhile doesn't keep the pool from learning who was not there.
        self.behind(async move {
            let made = pool.build(Some(&host), port, &passed, Some(isolation.from), tell.closed()).await;
            if let Ok(built) = &made {
                pool.keep(built, Some(isolation));
            }
            drop(held);
            let _ = tell.send(made);
        });
        told.await.unwrap_or(Err(Trouble::Busy))
    }

    /// Does something that no client waits for.
    fn behind(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let (Some(tasks), Ok(runtime)) = (&mut *locked(&self.behind), Handle::try_current()) {
            while tasks.try_join_next().is_some() {}
            tasks.spawn_on(work, &runtime);
        }
    }

    /// The proxy ends, and everything that goes on here.
    pub(super) fn end(&self) {
        let tasks = locked(&self.behind).take();
        drop(tasks);
    }

    fn keep(&self, built: &Arc<Built>, isolation: Option<Isolation>) {
        let now = instant();
        let pooled = Pooled { built: Arc::clone(built), isolation, since: now, used: now };
        locked(&self.state).circuits.push(pooled);
    }

    fn discard(&self, built: &Arc<Built>) {
        let gone = locked(&self.state).remove(|pooled| Arc::ptr_eq(&pooled.built, built));
        drop(gone);
        built.is_in_doubt.send_replace(false);
    }

    /// A place for another circuit, for a client at that address or for none yet; one that nobody uses gives way. The last eighth is for those who have few, and whoever has
    /// many displaces only those who have more.
    fn place(self: &Arc<Self>, from: Option<IpAddr>) -> Result<Place, Trouble> {
        let mut guard = locked(&self.state);
        let state = &mut *guard;
        let count_of = |address| state.of_address.get(&address).copied().unwrap_or(0);
        let has_few = from.is_some_and(|from| count_of(from) < MANY);
        let most = if has_few { self.most } else { self.most - self.most / 8 };
        let gone = if state.count >= most {
            let gives_way = |pooled: &Pooled| {
                let has_as_many = |other| from.is_some_and(|from| from == other || count_of(other) > count_of(from));
                let is_in_excess = pooled.isolation.is_none_or(|isolation| has_as_many(isolation.from));
                Arc::strong_count(&pooled.built) == 1 && (has_few || is_in_excess)
            };
            let idle = state.circuits.iter().enumerate().filter(|(_, pooled)| gives_way(pooled));
            let idlest = idle.min_by_key(|(_, pooled)| pooled.used).map(|(index, _)| index);
            Some(state.circuits.remove(idlest.ok_or(Trouble::Busy)?))
        } else {
            None
        };
        state.count += 1;
        let place = Place { pool: Arc::clone(self), from: OnceLock::new() };
        from.into_iter().for_each(|from| place.is_for(from, &mut state.of_address));
        // Its place is given back with the lock free.
        drop(guard);
        drop(gone);
        Ok(place)
    }

    async fn build(
        self: &Arc<Self>,
        host: Option<&str>,
        port: u16,
        passed: &Passed,
        from: Option<IpAddr>,
        leaves: impl Future<Output = ()>,
    ) -> Result<Arc<Built>, Trouble> {
        let place = self.place(from)?;
        // Nothing has begun yet that would be lost with a client that leaves.
        let turn = tokio::select! {
            biased;
            () = leaves => None,
            turn = self.building.take(from) => turn,
        };
        let _turn = turn.ok_or(Trouble::Busy)?;
        let list = Arc::clone(&locked(&self.relays));
        let ago = list.valid_until().and_then(|until| self.clock.now().checked_sub(until));
        if let Some(ago) = ago.filter(|ago| *ago >= GRACE) {
            return Err(Error::ConsensusEnded { ago }.into());
        }
        let path = self.path(&list, host, port, passed).await?;
        let relays: Vec<&ListedRelay> = path.iter().map(|place| &list.relays()[*place]).collect();
        let began = instant();
        let made = self.make(&relays).await;
        self.note(&relays, began, made.as_ref().map(drop)).await;
        match made {
            Ok((circuit, stages)) => {
                let number = self.counters.circuits_built.next();
                let since = instant();
                let counted = Count::hold(&self.counters, |counters| &counters.circuits);
                let list = Arc::clone(&list);
                Ok(Arc::new(Built {
                    circuit,
                    list,
                    path,
                    stages,
                    number,
                    began,
                    since,
                    is_in_doubt: watch::Sender::new(false),
                    is_asked: AtomicBool::new(false),
                    place,
                    _counted: counted,
                }))
            }
            Err(error) => {
                self.counters.circuits_failed.add(1);
                Err(error.into())
            }
        }
    }

    async fn path(
        &self,
        list: &RelayList,
        host: Option<&str>,
        port: u16,
        passed: &Passed,
    ) -> Result<Vec<usize>, Error> {
        let (hops, handshake, test_network) = (self.hops, self.handshake, self.test_network);
        let entries = list.called(&self.entries)?;
        let entries = (!self.entries.is_empty()).then_some(&entries[..]);
        let absent = &locked(&self.absent).now(list.relays().len(), instant())[..];
        let Passed { exits, spoilt, guards: doubted, .. } = passed;
        let plain = locked(&self.plain).clone();
        let not_exits = &[&exits[..], &plain].concat()[..];
        let wish = Wish { hops, handshake, host, port, test_network, not_exits, spoilt, doubted, absent, entries };
        let mut random = fresh()?;
        let at = self.clock.moment();
        let is_even = locked(&self.even).is_believed(at);
        let day = list.signed_at().unwrap_or(at.now);
        let when = When { day, is_sure: is_even || list.signed_at().is_some(), instant: instant() };
        let chosen = locked(&self.guards).path(list.relays(), &wish, when, &mut random);
        let (path, changed) = chosen.map_err(|error| making::without(error, plain.len()))?;
        // What a full disk did not take, it may take now.
        if changed || self.unsaved.load(Ordering::Relaxed) {
            self.save().await;
        }
        Ok(path)
    }

    async fn save(&self) {
        let _held = self.saving.lock().await;
        let Some((path, text)) = locked(&self.guards).document() else { return };
        let written = tokio::task::spawn_blocking(move || files::replace(&path, &text, 0o600)).await;
        self.unsaved.store(!matches!(written, Ok(Ok(()))), Ordering::Relaxed);
        if let Ok(Err(error)) = written {
            self.journal.say(ProxyEvent::GuardsNotSaved { error });
        }
    }

    /// The circuits of the moment, the oldest first.
    pub(super) fn circuits(&self) -> Vec<CircuitReading> {
        let now = instant();
        let state = locked(&self.state);
        let reading = |pooled: &Pooled| {
            let built = &pooled.built;
            CircuitReading {
                number: built.number,
                path: built.path.iter().map(|place| built.list.relays()[*place].label()).collect(),
                stages: built.stages.iter().map(Duration::as_secs_f64).collect(),
                age: now.duration_since(built.since).as_secs_f64(),
                streams: Arc::strong_count(built) - 1,
                used: pooled.isolation.is_some(),
            }
        };
        let mut circuits: Vec<_> = state.circuits.iter().map(reading).collect();
        circuits.sort_by_key(|circuit| circuit.number);
        circuits
    }

    /// Notes that a port was asked for.
    fn expect(&self, host: &str, port: u16) {
        let mut state = locked(&self.state);
        let now = instant();
        if !state.ports.contains_key(&port) && state.ports.len() >= MOST_PORTS {
            let oldest = state.ports.iter().min_by_key(|(_, (when, _))| *when).map(|(port, _)| *port);
            oldest.and_then(|port| state.ports.remove(&port));
        }
        state.ports.insert(port, (now, Some(host.to_owned())));
    }
}

impl State {
    fn find(
        &mut self,
        isolation: Isolation,
        host: &str,
        port: u16,
        passed: &Passed,
        reuse: Duration,
        waits: bool,
    ) -> Found {
        let now = instant();
        let fits = |pooled: &Pooled| {
            let built = &pooled.built;
            !built.is_over() && built.exit().permits(host, port) && !passed.passes(built)
        };
        let is_in_doubt = |pooled: &Pooled| *pooled.built.is_in_doubt.borrow();
        let own = |pooled: &Pooled| pooled.isolation == Some(isolation) && now.duration_since(pooled.since) < reuse;
        let unused = |pooled: &Pooled| pooled.isolation.is_none();
        let all = &self.circuits;
        let place = all.iter().position(|pooled| own(pooled) && fits(pooled) && !is_in_doubt(pooled));
        let doubtful = all.iter().find(|pooled| waits && place.is_none() && own(pooled) && fits(pooled));
        if let Some(doubtful) = doubtful {
            return Found::InDoubt(doubtful.built.is_in_doubt.subscribe());
        }
        let place = place.or_else(|| all.iter().position(|pooled| unused(pooled) && fits(pooled)));
        let Some(place) = place else { return Found::Nothing };
        let pooled = &mut self.circuits[place];
        if pooled.isolation.is_none() {
            pooled.isolation = Some(isolation);
            pooled.since = now;
            pooled.built.place.is_for(isolation.from, &mut self.of_address);
        }
        pooled.used = now;
        Found::Circuit(Arc::clone(&pooled.built))
    }

    fn turn(&mut self, isolation: Isolation) -> Arc<tokio::sync::Mutex<()>> {
        let turn = self.turns.get(&isolation).and_then(Weak::upgrade);
        turn.unwrap_or_else(|| {
            let turn = Arc::default();
            self.turns.insert(isolation, Arc::downgrade(&turn));
            turn
        })
    }

    /// Takes out circuits. Drop them with the lock free: dropping a circuit does work.
    fn remove(&mut self, is_gone: impl Fn(&Pooled) -> bool) -> Vec<Pooled> {
        self.circuits.extract_if(.., |pooled| is_gone(pooled)).collect()
    }
}

#[cfg(test)]
mod tests;
