//! Which relays a circuit goes through.
//!
//! # The rules
//!
//! 1. A path has `hops` relays, and no relay twice.
//! 2. No two of them are of one family, that is, name each other or have one number in the consensus; or have addresses in one /16 (IPv6: /32). Of a
//!    [`ListedRelay`] only the preferred address is known, so two that prefer IPv6 may have IPv4 addresses in one /16. In a declared test network,
//!    whose relays often share an address, the rule about addresses does not hold.
//! 3. The first is a [guard](Guards), which a client keeps for months. The last is an exit that permits the port, as far as its entry says.
//!    Where a client names the relays to begin at, only those are guards; in a network of C tor's, only relays that its authorities call guards are drawn.
//! 4. The first guard in the client's order from which such a path is possible is taken; then an exit is drawn, then the relays between.
//! 5. Relays are drawn in proportion to their bandwidth, which counts as four times the median of all at most ([`bandwidth_cap`]). Exits are spared for their own position: if all exits together have the share e of
//!    all bandwidth, an exit counts in another position with `(e - 1/3) / e` of its bandwidth, or not at all where e is below a third. Where
//!    only relays that count nothing are left, each is as likely as the next.
//! 6. Relays that [could not be reached lately](Absent) are left out behind the guard, and for one stream those of circuits on which a cell was spoilt,
//!    as long as a path from the same guard is left without them. None of them leads to another guard.
//! 7. Nor does an exit that has refused a stream, or let it wait for too long: it is not asked again, and if no other goes with the guard, there is no path. Where the guard
//!    is the exit too, the next guard is taken.
//!
//! [`choose`] is a function of its arguments alone: the same relays, guards and random numbers give the same path.

mod absent;
mod guards;

pub use absent::Absent;
pub use guards::{GuardRules, Guards, When};

use crate::Error;
use crate::keys::random;
use crate::prefix::Prefix;
use crate::relay_list::ListedRelay;
use candor_onion::directory::bandwidth_cap;
use candor_onion::handshake::HandshakeType;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::net::IpAddr;

/// A relay, as far as the choice of a path needs to know it.
pub trait Candidate {
    /// Its Ed25519 identity.
    fn identity(&self) -> &[u8; 32];
    /// Where it takes links.
    fn addresses(&self) -> Vec<IpAddr>;
    /// Whether the two are of one family, as both of them or the directory say.
    fn is_family_of(&self, other: &Self) -> bool;
    /// What it carries, in kB/s.
    fn bandwidth(&self) -> u32;
    /// Whether it offers the handshake.
    fn offers(&self, handshake: HandshakeType) -> bool;
    /// Whether, as far as is known, it is an exit to `port` of `host`; without a host, to that port of hosts in general.
    fn permits(&self, host: Option<&str>, port: u16) -> bool;
    /// Whether it is an exit to anywhere.
    fn is_exit(&self) -> bool;
    /// Whether it may be drawn as a guard. One that was drawn stays one.
    fn is_guard(&self) -> bool {
        true
    }
}

impl Candidate for ListedRelay {
    fn identity(&self) -> &[u8; 32] {
        self.identity()
    }

    fn addresses(&self) -> Vec<IpAddr> {
        vec![self.address().ip()]
    }

    fn is_family_of(&self, other: &Self) -> bool {
        self.is_family_of(other)
    }

    fn bandwidth(&self) -> u32 {
        self.bandwidth()
    }

    fn offers(&self, handshake: HandshakeType) -> bool {
        self.handshakes().any(|offered| offered == handshake)
    }

    fn permits(&self, host: Option<&str>, port: u16) -> bool {
        // A name that no rule of a policy has.
        self.permits(host.unwrap_or("any.invalid"), port)
    }

    fn is_exit(&self) -> bool {
        self.is_exit()
    }

    fn is_guard(&self) -> bool {
        self.is_guard()
    }
}

/// What a path is for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// How many relays.
    pub hops: usize,
    /// What each must offer.
    pub handshake: HandshakeType,
    /// Where the exit must lead to; without a host, to the port in general.
    pub host: Option<&'a str>,
    /// The port.
    pub port: u16,
    /// Relays may share a /16 (IPv6: /32).
    pub test_network: bool,
    /// Identities of relays that must not be the exit: they have refused this before. They lead to no other guard.
    pub not_exits: &'a [[u8; 32]],
    /// Identities of relays to pass over behind the guard, if there is another path from it: they were on circuits on which a cell was spoilt, maybe by them.
    pub spoilt: &'a [[u8; 32]],
    /// Identities of guards to begin at only where no other that was reached is up: a circuit that began there was spoilt, maybe by them.
    pub doubted: &'a [[u8; 32]],
    /// Identities of relays to pass over behind the guard, if there is another path from it.
    pub absent: &'a [[u8; 32]],
    /// Identities of the only relays that may be the guard; any relay may without.
    pub entries: Option<&'a [[u8; 32]]>,
}

impl Wish<'_> {
    /// Whether that relay may be the guard.
    fn may_enter(&self, relay: &[u8; 32]) -> bool {
        self.entries.is_none_or(|entries| entries.contains(relay))
    }

    /// The same before any exit had refused; `None` if none has, or only guards can have.
    fn before_refusals(&self) -> Option<Self> {
        (self.hops > 1 && !self.not_exits.is_empty()).then_some(Self { not_exits: &[], ..*self })
    }

    /// What to pass over behind a guard, until there is a path: all first, and nothing in the end.
    fn passes(&self) -> impl Iterator<Item = Over> {
        // Where nobody is to be passed over, the next is the same again.
        let is_new = |over: &Over| {
            let spoilt = over.exit || over.middles;
            (!over.absent || !self.absent.is_empty()) && (!spoilt || !self.spoilt.is_empty())
        };
        Over::ORDER.into_iter().filter(is_new)
    }
}

/// Who is passed over behind the guard.
#[derive(Clone, Copy, Debug)]
struct Over {
    /// Those that could not be reached lately.
    absent: bool,
    /// As the exit, those of circuits on which a cell was spoilt.
    exit: bool,
    /// As any other relay, the same.
    middles: bool,
}

impl Over {
    const ABSENT: Self = Self::new(true, false, false);
    const NOBODY: Self = Self::new(false, false, false);
    /// A middle relay that may have spoilt a cell is still better than one that did not answer lately. An exit that may have is asked again last: a middle relay can say of others'
    /// exits that they are not there, and so have a stream meet its friend's twice.
    const ORDER: [Self; 8] = [
        Self::new(true, true, true),
        Self::new(true, true, false),
        Self::new(false, true, true),
        Self::new(false, true, false),
        Self::new(true, false, true),
        Self::new(true, false, false),
        Self::new(false, false, true),
        Self::NOBODY,
    ];

    const fn new(absent: bool, exit: bool, middles: bool) -> Self {
        Self { absent, exit, middles }
    }
}

/// Chooses a path, by the [rules](self). `guards` has the identities of the client's guards in its order. Gives the relays' places in
/// `relays`, the guard first; `None` if no guard allows a path.
pub fn choose<R: Candidate>(
    relays: &[R],
    guards: &[[u8; 32]],
    wish: &Wish<'_>,
    random: &mut impl Rng,
) -> Option<Vec<usize>> {
    let town = Town::new(relays, wish);
    let place = |guard: &[u8; 32]| relays.iter().position(|relay| relay.identity() == guard && town.is_fit(relay));
    let is_possible_before = |guard, random: &mut _| {
        let before = wish.before_refusals();
        before.is_some_and(|wish| Town::new(relays, &wish).path_from(guard, Over::NOBODY, random).is_some())
    };
    for guard in guards.iter().filter(|guard| wish.may_enter(guard)).filter_map(place) {
        // Whoever is passed over has at most the choice behind a guard narrowed: all of that is given up before the next guard is looked at.
        let path = wish.passes().find_map(|over| town.path_from(guard, over, random));
        if path.is_some() || is_possible_before(guard, random) {
            return path;
        }
    }
    None
}

/// Draws a relay to be a guard: one from which a path is possible, and which is not among `known`.
pub fn draw_guard<R: Candidate>(
    relays: &[R],
    known: &[[u8; 32]],
    wish: &Wish<'_>,
    random: &mut impl Rng,
) -> Option<[u8; 32]> {
    let town = Town::new(relays, wish);
    let is_new = |relay: &R| {
        town.is_fit(relay) && wish.may_enter(relay.identity()) && relay.is_guard() && !known.contains(relay.identity())
    };
    let mut left: Vec<usize> = (0..relays.len()).filter(|place| is_new(&relays[*place])).collect();
    while !left.is_empty() {
        let drawn = town.draw(&left, random)?;
        // The draw is only tried out here; a path is drawn anew whenever one is needed. A spoilt cell has no part in it.
        if town.path_from(drawn, Over::ABSENT, random).is_some() {
            return Some(*relays[drawn].identity());
        }
        left.retain(|place| *place != drawn);
    }
    None
}

/// Random numbers for a few draws, from the operating system's and new each time, so that none can be told from earlier ones.
///
/// # Errors
/// [`Error::Internal`] without randomness.
pub(crate) fn fresh() -> Result<impl Rng, Error> {
    Ok(Xoshiro256PlusPlus::from_seed(*random::<32>()?))
}

/// The relays with what a wish makes of them.
struct Town<'a, R> {
    relays: &'a [R],
    wish: &'a Wish<'a>,
    /// What a bandwidth counts as at most.
    cap: u32,
    /// Bandwidth of all, and of the exits.
    all: u128,
    exits: u128,
}

impl<'a, R: Candidate> Town<'a, R> {
    fn new(relays: &'a [R], wish: &'a Wish<'a>) -> Self {
        let cap = bandwidth_cap(relays.iter().map(R::bandwidth));
        let sum = |is: &dyn Fn(&R) -> bool| {
            relays.iter().filter(|relay| is(relay)).map(|relay| u128::from(relay.bandwidth().min(cap))).sum()
        };
        Self { relays, wish, cap, all: sum(&|_| true), exits: sum(&R::is_exit) }
    }

    fn is_fit(&self, relay: &R) -> bool {
        relay.offers(self.wish.handshake)
    }

    /// A path that begins there. Without one with the first exit that is drawn, the next is tried.
    fn path_from(&self, guard: usize, over: Over, random: &mut impl Rng) -> Option<Vec<usize>> {
        let wish = self.wish;
        let leads = |relay: &R| relay.permits(wish.host, wish.port) && !wish.not_exits.contains(relay.identity());
        match wish.hops {
            0 => return None,
            1 => return leads(&self.relays[guard]).then(|| vec![guard]),
            _ => {}
        }
        let is_over = |relay: &R| over.exit && wish.spoilt.contains(relay.identity());
        let may_end = |place: &usize| {
            let relay = &self.relays[*place];
            leads(relay) && !is_over(relay) && self.goes_with(*place, &[guard], over)
        };
        let mut ends: Vec<usize> = (0..self.relays.len()).filter(may_end).collect();
        while !ends.is_empty() {
            let exit = self.draw_by(&ends, |relay| self.bandwidth(relay), random)?;
            if let Some(path) = self.join(guard, exit, over, random) {
                return Some(path);
            }
            ends.retain(|place| *place != exit);
        }
        None
    }

    fn join(&self, guard: usize, exit: usize, over: Over, random: &mut impl Rng) -> Option<Vec<usize>> {
        let mut path = vec![guard, exit];
        while path.len() < self.wish.hops {
            let is_over = |place: &usize| over.middles && self.wish.spoilt.contains(self.relays[*place].identity());
            let fits = |place: &usize| !is_over(place) && self.goes_with(*place, &path, over);
            let between: Vec<usize> = (0..self.relays.len()).filter(fits).collect();
            let middle = self.draw(&between, random)?;
            path.insert(path.len() - 1, middle);
        }
        Some(path)
    }

    /// Whether that relay may be on a path with those.
    fn goes_with(&self, place: usize, path: &[usize], over: Over) -> bool {
        let relay = &self.relays[place];
        let is_there = !over.absent || !self.wish.absent.contains(relay.identity());
        is_there
            && self.is_fit(relay)
            && path.iter().all(|other| *other != place && !self.are_close(relay, &self.relays[*other]))
    }

    fn are_close(&self, one: &R, other: &R) -> bool {
        if one.identity() == other.identity() || one.is_family_of(other) {
            return true;
        }
        let around = |relay: &R| relay.addresses().into_iter().map(|address| Prefix::around(address).provider());
        !self.wish.test_network && around(one).any(|near| around(other).any(|there| near == there))
    }

    /// What it counts as.
    fn bandwidth(&self, relay: &R) -> u128 {
        relay.bandwidth().min(self.cap).into()
    }

    /// Draws one of these for a position that is not the exit's.
    fn draw(&self, places: &[usize], random: &mut impl Rng) -> Option<usize> {
        let (all, exits) = (self.all, self.exits);
        // Times three times the exits' bandwidth, so that all are whole numbers.
        let weight = |relay: &R| match relay.is_exit() {
            true => self.bandwidth(relay) * (3 * exits).saturating_sub(all),
            false => self.bandwidth(relay) * (3 * exits).max(1),
        };
        self.draw_by(places, weight, random)
    }

    fn draw_by(&self, places: &[usize], weight: impl Fn(&R) -> u128, random: &mut impl Rng) -> Option<usize> {
        let weights: Vec<u128> = places.iter().map(|place| weight(&self.relays[*place])).collect();
        let total: u128 = weights.iter().sum();
        if total == 0 {
            let index = below(places.len() as u128, random)?;
            return places.get(index as usize).copied();
        }
        let mut left = below(total, random)?;
        for (place, weight) in places.iter().zip(weights) {
            if left < weight {
                return Some(*place);
            }
            left -= weight;
        }
        None
    }
}

/// A number below `end`, each as likely as the next; `None` if there is none.
fn below(end: u128, random: &mut impl Rng) -> Option<u128> {
    // The numbers behind the last whole multiple of `end` would make small ones more likely.
    let unfair = u128::MAX.checked_rem(end)?.wrapping_add(1) % end;
    loop {
        let drawn = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        if drawn <= u128::MAX - unfair {
            return Some(drawn % end);
        }
    }
}

#[cfg(test)]
impl Wish<'static> {
    /// Two hops with `ntor-v3` to port 443, and nothing that must be passed over.
    const PLAIN: Self = Wish {
        hops: 2,
        handshake: HandshakeType::NtorV3,
        host: None,
        port: 443,
        test_network: false,
        not_exits: &[],
        spoilt: &[],
        doubted: &[],
        absent: &[],
        entries: None,
    };
}

#[cfg(test)]
mod tests;
