//! The relays that an authority knows: who may register what, and who is listed.
//!
//! A relay that registers waits until it has answered at all of its addresses and with its keys ([`Reach`]). From then on it is listed, and counted in
//! the networks of these addresses. So claims keep nobody out of a network: only relays that are there have its places. What it registers later is listed
//! when that has been proved too; until then, what was proved before.

use super::places::{Place, Places};
use super::reach::{Answer, Claim, Due, Reach, ReachLimits};
use crate::census::Census;
use crate::policy::is_public;
use crate::prefix::Prefix;
use candor_onion::directory::{Consensus, Descriptor, Fingerprint, MOST_RELAYS, Relay};
use candor_primitives::hash::Sha256;
use digest::Digest;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// Bounds on what is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistryLimits {
    /// Relays that have answered, in all; those that are over it are refused, those that are known go on.
    pub relays: usize,
    /// Relays in one /24 of IPv4 or /48 of IPv6 that have answered there, at the first or the second of their addresses. Test networks are exempt.
    pub relays_per_network: usize,
    /// The same for a /16 of IPv4 or a /32 of IPv6, which is what a provider has: networks are cheap there. Test networks are exempt.
    pub relays_per_provider: usize,
    /// Seconds that a descriptor is good for.
    pub lifetime: u64,
    /// Seconds by which a descriptor may be older, or newer, than the authority's clock when it arrives.
    pub window: u64,
}

impl Default for RegistryLimits {
    /// As many as a consensus has room for; 16 a network and 512 a provider; 18 hours, as in Tor; an hour.
    fn default() -> Self {
        Self {
            relays: MOST_RELAYS,
            relays_per_network: 16,
            relays_per_provider: 512,
            lifetime: 18 * 3600,
            window: 3600,
        }
    }
}

/// Why a descriptor was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("{0}")]
    Invalid(candor_onion::Error),
    #[error(
        "descriptor was published {by} s before this authority's time {now}; expected at most {window} s: it is old, or a clock is wrong"
    )]
    Old { by: u64, now: u64, window: u64 },
    #[error(
        "descriptor was published {by} s after this authority's time {now}; expected at most {window} s: one of the clocks is wrong"
    )]
    Future { by: u64, now: u64, window: u64 },
    #[error("a descriptor of this relay that is as new or newer is registered already")]
    Replayed,
    #[error("this identity is registered with another ML-DSA key")]
    OtherKey,
    #[error("the X25519 onion key is registered by another relay")]
    KeyTaken,
    #[error(
        "{0} is not a public address, which relays of this directory have (the directory's --test-networks lifts that)"
    )]
    Private(IpAddr),
    #[error("too many relays are registered")]
    Full,
    #[error("too many relays that nobody has reached yet are registered{}; try again later", if *.network { " from your network" } else { "" })]
    Waiting { network: bool },
    #[error("too many relays are registered in the network {0}")]
    NetworkFull(Prefix),
}

impl Refused {
    /// The HTTP status that says it.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Invalid(_) | Self::Old { .. } | Self::Future { .. } | Self::Private(_) => 400,
            Self::Replayed | Self::KeyTaken => 409,
            Self::OtherKey => 403,
            Self::Full | Self::NetworkFull(_) | Self::Waiting { .. } => 503,
        }
    }
}

/// A descriptor and its bytes.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    pub(super) descriptor: Descriptor,
    /// What the relay has to be tried for.
    pub(super) claims: Vec<Claim>,
}

impl Stored {
    /// Reads a descriptor and verifies its signatures. That computes, so do it before the registry is locked.
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, Refused> {
        let descriptor = Descriptor::decode(&bytes).map_err(Refused::Invalid)?;
        let keys = digest_of_keys(&descriptor.relay);
        let addresses = descriptor.relay.addresses.iter().enumerate();
        let claims = addresses.map(|(index, address)| Claim { address: *address, keys: (index == 0).then_some(keys) });
        Ok(Self { claims: claims.collect(), bytes, descriptor })
    }
}

/// What circuits with a relay prove: all of it is of fixed length, or comes last.
fn digest_of_keys(relay: &Relay) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(relay.x25519);
    for kem in relay.kems {
        hash.update([u8::from(kem.is_some())]);
        hash.update(kem.unwrap_or_default());
    }
    relay.handshakes.iter().for_each(|handshake| hash.update(handshake.to_be_bytes()));
    hash.finalize().into()
}

struct Known {
    newest: Arc<Stored>,
    /// For views of a moment before the newest had settled or had answered.
    before: Option<Arc<Stored>>,
    reach: Reach,
    place: Place,
    /// What is listed of it.
    shown: Option<Arc<Stored>>,
    /// Why it did not answer the last time.
    silence: String,
}

/// The relays.
pub(super) struct Registry {
    limits: RegistryLimits,
    reach: ReachLimits,
    /// Networks without limits.
    exempt: Vec<Prefix>,
    /// Networks where relays may be although their addresses are not public.
    private: Vec<Prefix>,
    known: BTreeMap<[u8; 32], Known>,
    /// Which relay has an X25519 onion key.
    keys: HashMap<[u8; 32], [u8; 32]>,
    places: Places,
    /// When any relay has answered last.
    answered: Instant,
    /// How far time has got for silence: it stands while no relay answers, since then it is the authority that is cut off.
    moment: Instant,
    /// The ML-DSA keys of relays that have answered, or were in the last consensus.
    pins: HashMap<[u8; 32], Fingerprint>,
    changes: u64,
}

impl Registry {
    /// `private`: networks where relays may be although their addresses are not public; those that are `exempt` from limits are too.
    pub(super) fn new(
        limits: RegistryLimits,
        reach: ReachLimits,
        exempt: Vec<Prefix>,
        private: Vec<Prefix>,
        now: Instant,
    ) -> Self {
        Self {
            limits,
            reach,
            exempt,
            private,
            known: BTreeMap::new(),
            keys: HashMap::new(),
            places: Places::default(),
            answered: now,
            moment: now,
            pins: HashMap::new(),
            changes: 0,
        }
    }

    /// Takes a descriptor that has just arrived from there. `times`: the time of day, and what it would be if the clock had not jumped; either will do.
    pub(super) fn register(
        &mut self,
        stored: Stored,
        from: IpAddr,
        times: [u64; 2],
        at: Instant,
    ) -> Result<(), Refused> {
        let relay = &stored.descriptor.relay;
        let (published, window) = (relay.published, self.limits.window);
        let [now, course] = times;
        let now = if course.abs_diff(published) < now.abs_diff(published) { course } else { now };
        if published.saturating_add(window) < now {
            return Err(Refused::Old { by: now - published, now, window });
        }
        if published > now.saturating_add(window) {
            return Err(Refused::Future { by: published - now, now, window });
        }
        let addresses = relay.addresses.iter().map(SocketAddr::ip);
        if let Some(private) = addresses.into_iter().find(|address| !self.may_be_at(*address)) {
            return Err(Refused::Private(private));
        }
        self.check(relay)?;
        let reach = match self.known.get(&relay.identity) {
            Some(known) => {
                let mut reach = known.reach.clone();
                reach.republished(Prefix::around(from), self.is_proved(&known.reach, &stored), at, &self.reach);
                reach
            }
            None => {
                self.make_room(from)?;
                Reach::new(Prefix::around(from), at)
            }
        };
        self.put(Arc::new(stored), reach)
    }

    /// Takes one that had answered before a restart, if it has not ended since.
    pub(super) fn restore(&mut self, stored: Stored, now: u64, at: Instant) -> Result<(), Refused> {
        let relay = &stored.descriptor.relay;
        if self.has_ended(relay, now) || !relay.addresses.iter().all(|address| self.may_be_at(address.ip())) {
            return Ok(());
        }
        self.check(relay)?;
        let reach = Reach::restored(&stored.claims, &relay.identity, (at, self.moment), self.reach.every);
        self.put(Arc::new(stored), reach)
    }

    /// Whether the relay may say so of itself.
    fn check(&self, relay: &Relay) -> Result<(), Refused> {
        let identity = relay.identity;
        let known = self.known.get(&identity);
        let newest = known.map(|known| &known.newest.descriptor.relay);
        let pinned = self.pins.get(&identity).or(newest.map(|newest| &newest.fingerprint));
        if pinned.is_some_and(|pinned| *pinned != relay.fingerprint) {
            return Err(Refused::OtherKey);
        }
        // Who lists another's KEM key, which nobody can prove to hold, harms his own handshakes only. Refusing it would let him who is first
        // at an authority keep out the relay whose key it is.
        if self.keys.get(&relay.x25519).is_some_and(|owner| *owner != identity) {
            return Err(Refused::KeyTaken);
        }
        if newest.is_some_and(|newest| newest.published >= relay.published) {
            return Err(Refused::Replayed);
        }
        let is_listed = known.is_some_and(|known| known.place.is_listed());
        if !is_listed && self.places.listed() >= self.limits.relays {
            return Err(Refused::Full);
        }
        let networks = self.networks_of(relay.addresses.iter().map(SocketAddr::ip));
        match self.full_network(&networks, known.map(|known| &known.place)) {
            Some(network) => Err(Refused::NetworkFull(network)),
            None => Ok(()),
        }
    }

    /// One of a relay's networks, or a provider, that has no place for it. `place`: the one that it has.
    fn full_network(&self, networks: &[Prefix], place: Option<&Place>) -> Option<Prefix> {
        let is_full = |network: &Prefix| {
            let has_one = place.is_some_and(|place| place.is_in(network));
            !has_one && self.places.listed_in(network) >= self.limits.relays_per_network
        };
        let is_full_provider = |provider: &Prefix| {
            let has_one = place.is_some_and(|place| place.is_with(provider));
            !has_one && self.places.listed_with(provider) >= self.limits.relays_per_provider
        };
        let full = networks.iter().copied().find(is_full);
        full.or_else(|| networks.iter().map(|network| network.provider()).find(is_full_provider))
    }

    /// A place among those that wait, for one from there. When there is none, somebody gives way ([`Census`]); who was tried in vain counts as idle.
    fn make_room(&mut self, from: IpAddr) -> Result<(), Refused> {
        let own = self.places.waiting_from(&Prefix::around(from));
        if own >= self.reach.waiting_per_network && !self.exempt.iter().any(|prefix| prefix.contains(from)) {
            return Err(Refused::Waiting { network: true });
        }
        if self.waiting() < self.reach.waiting_in_all {
            return Ok(());
        }
        let waiting = || self.known.values().filter(|known| !known.place.is_listed());
        let census = Census::of(waiting().map(|known| known.reach.from), Prefix::around(from));
        let candidate = |known: &Known| {
            let (reach, in_vain) = (&known.reach, known.reach.was_in_vain());
            let crowd = census.gives_way(reach.from, in_vain || census.has_more(reach.from))?;
            Some(((crowd, in_vain, Reverse(reach.since())), known.newest.descriptor.relay.identity))
        };
        let loser = waiting().filter_map(candidate).max_by_key(|(rank, _)| *rank);
        let (_, identity) = loser.ok_or(Refused::Waiting { network: false })?;
        self.forget(&identity);
        Ok(())
    }

    fn put(&mut self, stored: Arc<Stored>, reach: Reach) -> Result<(), Refused> {
        let identity = stored.descriptor.relay.identity;
        let old = self.forget(&identity);
        let silence = old.as_ref().map(|old| old.silence.clone()).unwrap_or_default();
        let before = old.map(|old| {
            // What has answered is kept for views, until what is newer has.
            let is_proved = |stored: &Arc<Stored>| self.is_proved(&reach, stored);
            let earlier = old.before.filter(|before| is_proved(before) && !is_proved(&old.newest));
            earlier.unwrap_or(old.newest)
        });
        // While a view may still list the older key, nobody else takes it.
        for stored in before.iter().chain([&stored]) {
            self.keys.insert(stored.descriptor.relay.x25519, identity);
        }
        let place = Place::Waiting(reach.from);
        self.places.enter(&place);
        self.known.insert(identity, Known { newest: stored, before, reach, place, shown: None, silence });
        self.settle(&identity)
    }

    /// Gives a relay the place that it has a right to by now. If there is none for it, it is forgotten.
    fn settle(&mut self, identity: &[u8; 32]) -> Result<(), Refused> {
        let Some(known) = self.known.get(identity) else { return Ok(()) };
        let shown = self.shown(known);
        let place = match &shown {
            // Claims that nobody could try take no place in their network.
            Some(stored) => {
                let asked = stored.claims.iter().filter(|claim| known.reach.was_asked(claim));
                Place::Listed(self.networks_of(asked.map(|claim| claim.address.ip())))
            }
            None => Place::Waiting(known.reach.from),
        };
        if let (Some(stored), Place::Listed(networks)) = (&shown, &place) {
            let is_new = !known.place.is_listed();
            let refused = match self.full_network(networks, Some(&known.place)) {
                Some(network) => Some(Refused::NetworkFull(network)),
                None => (is_new && self.places.listed() >= self.limits.relays).then_some(Refused::Full),
            };
            if let Some(refused) = refused {
                self.forget(identity);
                return Err(refused);
            }
            self.pins.insert(*identity, stored.descriptor.relay.fingerprint);
        }
        let Some(known) = self.known.get_mut(identity) else { return Ok(()) };
        let is_as_before = match (&known.shown, &shown) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        known.shown = shown;
        let old = std::mem::replace(&mut known.place, place.clone());
        self.places.leave(&old);
        self.places.enter(&place);
        self.changes += u64::from(!is_as_before);
        Ok(())
    }

    /// What may be listed of a relay: the newest that it has said of itself and has answered as.
    fn shown(&self, known: &Known) -> Option<Arc<Stored>> {
        let mut all = [&known.newest].into_iter().chain(&known.before);
        all.find(|stored| self.is_proved(&known.reach, stored)).cloned()
    }

    /// Takes a relay out of all tables but the pins.
    fn forget(&mut self, identity: &[u8; 32]) -> Option<Known> {
        let known = self.known.remove(identity)?;
        for stored in known.before.iter().chain([&known.newest]) {
            self.keys.remove(&stored.descriptor.relay.x25519);
        }
        self.places.leave(&known.place);
        Some(known)
    }

    /// The relays whose turn it is to be tried.
    pub(super) fn due(&self, at: Instant) -> Vec<Due> {
        let due = |known: &Known| {
            let newest = &known.newest;
            let lane = known.reach.lane(self.is_proved(&known.reach, newest));
            Due::new(newest.descriptor.relay.identity, &newest.claims, &known.reach, lane, &self.exempt)
        };
        self.known.values().filter(|known| known.reach.is_due(at)).map(due).collect()
    }

    /// Nothing was learnt from trying a relay.
    pub(super) fn put_off(&mut self, identity: &[u8; 32], at: Instant) {
        if let Some(known) = self.known.get_mut(identity) {
            known.reach.put_off(at, &self.reach);
        }
    }

    /// What a relay has said of itself last.
    pub(super) fn newest(&self, identity: &[u8; 32]) -> Option<Arc<Stored>> {
        self.known.get(identity).map(|known| Arc::clone(&known.newest))
    }

    /// A relay is being tried.
    pub(super) fn begin(&mut self, identity: &[u8; 32]) {
        if let Some(known) = self.known.get_mut(identity) {
            known.reach.begin();
        }
    }

    /// What has come of it.
    pub(super) fn tried(
        &mut self,
        identity: &[u8; 32],
        answers: &[(Claim, Answer)],
        at: Instant,
    ) -> Result<(), (String, Refused)> {
        let Some(known) = self.known.get_mut(identity) else { return Ok(()) };
        let name = name_of(&known.newest.descriptor.relay);
        let kept: Vec<_> =
            known.before.iter().chain([&known.newest]).flat_map(|stored| stored.claims.iter().copied()).collect();
        if answers.iter().any(|(_, answer)| matches!(answer, Answer::Holds | Answer::Busy(_))) {
            // Others have until their next turn to answer, however long nobody could.
            self.moment += at.saturating_duration_since(self.answered).min(self.reach.every);
            self.answered = at;
        }
        known.reach.tried(answers, &kept, (at, self.moment), &self.reach);
        if !answers.iter().map(|(claim, _)| claim).eq(&known.newest.claims) {
            // It has published something else meanwhile.
            known.reach.put_off(at, &self.reach);
        }
        for (_, answer) in answers {
            if let Answer::Fails(why) | Answer::Busy(why) = answer {
                known.silence.clone_from(why);
            }
        }
        self.settle(identity).map_err(|refused| (name, refused))
    }

    /// Forgets relays that have not answered for too long: what they are called, and why.
    pub(super) fn forget_silent(&mut self, at: Instant) -> Vec<(String, String)> {
        let is_silent = |known: &&Known| match known.place {
            Place::Waiting(_) => known.reach.is_given_up(at, &self.reach),
            Place::Listed(_) => self.shown(known).is_none(),
        };
        let silent: Vec<[u8; 32]> =
            self.known.values().filter(is_silent).map(|known| known.newest.descriptor.relay.identity).collect();
        let mut forgotten = Vec::new();
        for identity in silent {
            let Some(known) = self.forget(&identity) else { continue };
            self.changes += u64::from(known.shown.is_some());
            forgotten.push((name_of(&known.newest.descriptor.relay), known.silence));
        }
        forgotten
    }

    /// Whether all that the relay says there has held lately.
    fn is_proved(&self, reach: &Reach, stored: &Stored) -> bool {
        reach.is_proved(&stored.claims, self.moment, self.reach.good_for)
    }

    fn may_be_at(&self, address: IpAddr) -> bool {
        is_public(address) || self.exempt.iter().chain(&self.private).any(|prefix| prefix.contains(address))
    }

    /// The networks that a relay with these addresses counts in.
    fn networks_of(&self, addresses: impl Iterator<Item = IpAddr>) -> Vec<Prefix> {
        let counts = |address: &IpAddr| !self.exempt.iter().any(|prefix| prefix.contains(*address));
        // The two are of different kinds, and so are their networks.
        addresses.filter(counts).map(Prefix::around).collect()
    }

    fn has_ended(&self, relay: &Relay, now: u64) -> bool {
        relay.published.saturating_add(self.limits.lifetime) <= now || relay.keys_until <= now
    }

    /// Forgets relays whose newest descriptors have ended. `listed`: the keys of the last consensus's relays stay known.
    pub(super) fn forget_ended(&mut self, now: u64, listed: &HashMap<[u8; 32], Fingerprint>) {
        let ended = |known: &&Known| self.has_ended(&known.newest.descriptor.relay, now);
        let ended: Vec<_> =
            self.known.values().filter(ended).map(|known| known.newest.descriptor.relay.identity).collect();
        for identity in ended {
            self.forget(&identity);
            self.changes += 1;
        }
        self.pins.retain(|identity, _| self.known.contains_key(identity) || listed.contains_key(identity));
        listed.iter().for_each(|(identity, key)| {
            self.pins.entry(*identity).or_insert(*key);
        });
    }

    /// What a view of that moment says: of each relay that has answered the newest descriptor of before `settled`, or the oldest there is.
    /// Descriptors that the relay is just passing on to all authorities are left for the next round, since some may not have them yet.
    pub(super) fn view(&self, settled: u64, at: u64) -> Vec<Arc<Stored>> {
        let of = |known: &Known| {
            let is_settled = known.newest.descriptor.relay.published <= settled;
            let (newest, before) = (Some(&known.newest), known.before.as_ref());
            let shown = if is_settled { [newest, before] } else { [before, newest] };
            let is_good = |stored: &&Arc<Stored>| {
                self.is_proved(&known.reach, stored) && !self.has_ended(&stored.descriptor.relay, at)
            };
            shown.into_iter().flatten().find(is_good).cloned()
        };
        self.known.values().filter_map(of).take(MOST_RELAYS).collect()
    }

    /// The KEM keys of a consensus's relays, in its order. They come from the descriptors that the round's view was made of: a relay that registers
    /// other keys before the round is over takes none away. What the view did not have may be known by now.
    pub(super) fn kem_keys(&self, viewed: &[Arc<Stored>], consensus: &Consensus, kem: usize) -> Vec<u8> {
        let viewed: HashMap<_, _> = viewed.iter().map(|stored| (stored.descriptor.relay.identity, stored)).collect();
        let key = |relay: &Relay| {
            let digest = relay.kems[kem]?;
            let known = self.known.get(&relay.identity).into_iter();
            let known = known.flat_map(|known| known.before.iter().chain([&known.newest]));
            let mut stored = viewed.get(&relay.identity).copied().into_iter().chain(known);
            let found = stored.find(|stored| stored.descriptor.relay.kems[kem] == Some(digest))?;
            found.descriptor.kems[kem].clone()
        };
        consensus.relays.iter().filter_map(|listed| key(&listed.relay)).flatten().collect()
    }

    /// The newest descriptors that have answered.
    pub(super) fn stored(&self) -> Vec<Arc<Stored>> {
        self.view(u64::MAX, 0)
    }

    /// How many relays have answered.
    pub(super) fn count(&self) -> usize {
        self.places.listed()
    }

    /// How many wait for being reached.
    pub(super) fn waiting(&self) -> usize {
        self.places.waiting()
    }

    /// How often something that views show has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }
}

fn name_of(relay: &Relay) -> String {
    let [a, b, c, d, ..] = relay.identity;
    let addresses: Vec<_> = relay.addresses.iter().map(SocketAddr::to_string).collect();
    format!("{} ({a:02x}{b:02x}{c:02x}{d:02x}…) at {}", relay.name, addresses.join(" and "))
}

#[cfg(test)]
mod tests;
