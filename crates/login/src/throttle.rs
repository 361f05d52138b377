//! Guesses are slowed down, by account, by address and by network, and nobody is locked out.
//!
//! A login that is begun counts as a guess until it succeeds. Where a name is concerned, nothing here knows whether it has an account.
//!
//! - **By address and by network.** Each has a [`Rate`]. Over it, the answer is 429 with `Retry-After`: only those who share
//!   the guesser's network have to wait.
//! - **By account.** Anybody can guess at anybody's account, so over the rate the answer comes later, the later the more guesses came lately, and never later
//!   than [`AccountLimits::longest`]. Answers that are held back need a place; if guesses from very many networks have taken all, the next is 429. The
//!   owner's known devices are exempt, up to a rate of their own, so they get in even then.
//!
//! Connections, TLS handshakes and requests of any kind have a rate by network as well. Nobody is turned away for them: what comes faster goes on behind others'.
//!
//! Tokens that nobody has count by address, apart from guesses at passwords. What an account's owner does with a password that is right has a rate of its
//! own, and so has each session and each registration token, so that no account fills the database, and nobody who has stolen a session locks the owner out.
//!
//! The tables have a fixed size. They belong to one instance, and [`GuessLimits::instances`] says how many there are: each permits its share. Counting in
//! the database instead would cost every login start a transaction that writes, to which a start would otherwise be a single look-up.

mod places;
mod table;

pub(crate) use places::Places;
pub use table::Rate;

use crate::ids::{AccountId, DeviceId, SessionId, TokenHash};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use table::Table;

/// How fast guesses may come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuessLimits {
    /// From one address: an IPv4 address, or a /64 of IPv6.
    pub address: Rate,
    /// From one network: a /24 of IPv4, or a /48 of IPv6.
    pub network: Rate,
    /// At one account.
    pub account: AccountLimits,
    /// At one account, from one of its known devices.
    pub device: Rate,
    /// Logins that succeed and changes of password and recovery codes, of one account; and apart from those, refreshes of one session, and registrations that are begun with
    /// one token.
    pub owner: Rate,
    /// Connections, TLS handshakes and requests of any kind, from one network. Those over it are not turned away; they go on behind others'.
    pub request: Rate,
    /// Instances that share the database. Each permits its share of every rate, rounded up, except of [`Self::request`], which protects the instance itself.
    pub instances: u32,
    /// Addresses, networks, accounts and devices that are remembered, each.
    pub remembered: usize,
    /// Networks whose guesses count by account only, such as those of a load test.
    pub exempt: Vec<IpNet>,
}

/// What happens to guesses at one account that come from unknown devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountLimits {
    /// Up to this rate nothing.
    pub rate: Rate,
    /// How much later the first answer over it comes; for each further one twice as much.
    pub first: Duration,
    /// And no later than this.
    pub longest: Duration,
}

impl Default for GuessLimits {
    fn default() -> Self {
        Self {
            address: Rate { burst: 20, every: Duration::from_secs(3) },
            network: Rate { burst: 200, every: Duration::from_millis(300) },
            account: AccountLimits {
                rate: Rate { burst: 5, every: Duration::from_secs(60) },
                first: Duration::from_millis(500),
                longest: Duration::from_secs(8),
            },
            device: Rate { burst: 10, every: Duration::from_secs(30) },
            owner: Rate { burst: 60, every: Duration::from_secs(30) },
            request: Rate { burst: 200, every: Duration::from_millis(10) },
            instances: 1,
            remembered: 1 << 16,
            exempt: Vec::new(),
        }
    }
}

impl GuessLimits {
    /// What one of the instances permits.
    fn of_one_instance(mut self) -> Self {
        for rate in [&mut self.address, &mut self.network, &mut self.account.rate, &mut self.device, &mut self.owner] {
            *rate = rate.shared_by(self.instances);
        }
        self
    }
}

/// What has been taken lately.
pub(crate) struct Throttle {
    limits: GuessLimits,
    start: Instant,
    addresses: Table,
    networks: Table,
    accounts: Table,
    devices: Table,
    owners: Table,
    refreshes: Table,
    invitations: Table,
    misses: Table,
    requests: Table,
}

impl Throttle {
    pub(crate) fn new(limits: GuessLimits) -> Self {
        let limits = limits.of_one_instance();
        let table = |rate| Table::new(rate, limits.remembered);
        Self {
            start: Instant::now(),
            addresses: table(limits.address),
            networks: table(limits.network),
            accounts: table(limits.account.rate),
            devices: table(limits.device),
            owners: table(limits.owner),
            refreshes: table(limits.owner),
            invitations: table(limits.owner),
            misses: table(limits.address),
            requests: table(limits.request),
            limits,
        }
    }

    /// Counts a guess from that address, or says how long to wait.
    pub(crate) fn arrive(&self, from: IpAddr) -> Result<(), Duration> {
        let now = self.start.elapsed();
        if self.is_exempt(from) {
            return Ok(());
        }
        self.addresses.take(address(from), now)?;
        // Whoever is turned away for the network has not used up the address's share.
        self.networks.take(network(from), now).inspect_err(|_| self.addresses.give_back(address(from), now))
    }

    /// Whether a guess from that address would be turned away now.
    pub(crate) fn is_spent(&self, from: IpAddr) -> bool {
        let now = self.start.elapsed();
        let spent = || self.addresses.is_spent(address(from), now) || self.networks.is_spent(network(from), now);
        !self.is_exempt(from) && spent()
    }

    /// Counts a connection, a TLS handshake or a request from that address. Says whether it has to go on behind others': its network has made too many, or a guess
    /// from it would be turned away.
    pub(crate) fn comes_last(&self, from: IpAddr) -> bool {
        let is_over = || self.requests.take(network(from), self.start.elapsed()).is_err();
        !self.is_exempt(from) && (is_over() || self.is_spent(from))
    }

    /// Counts a guess at that account from a device that is known or not. The answer has to wait for so long.
    pub(crate) fn delay(&self, account: &str, device: Option<DeviceId>) -> Duration {
        let now = self.start.elapsed();
        if device.is_some_and(|device| self.devices.take(device, now).is_ok()) {
            return Duration::ZERO;
        }
        let AccountLimits { rate, first, longest } = self.limits.account;
        // More than what leads to the longest delay would only make the owner wait longer after the last guess.
        let doublings = (0..32).find(|doublings| first.saturating_mul(1 << doublings) >= longest).unwrap_or(31);
        match self.accounts.press(account, rate.burst.saturating_add(doublings + 1), now) {
            0 => Duration::ZERO,
            over => first.saturating_mul(1u32.checked_shl(over - 1).unwrap_or(u32::MAX)).min(longest),
        }
    }

    /// Counts what the owner of an account does, or says how long to wait.
    pub(crate) fn own(&self, account: AccountId) -> Result<(), Duration> {
        self.owners.take(account, self.start.elapsed())
    }

    /// Counts a refresh of a session, or says how long to wait. Whoever has stolen a session takes nothing from its account's other sessions and logins.
    pub(crate) fn refresh(&self, session: SessionId) -> Result<(), Duration> {
        self.refreshes.take(session, self.start.elapsed())
    }

    /// Counts a registration that is begun with this token, or says how long to wait: it is no guess, and the token is used up only at the end.
    pub(crate) fn begin(&self, token: TokenHash) -> Result<(), Duration> {
        self.invitations.take(token.0, self.start.elapsed())
    }

    /// Counts a token that nobody has from that address, or says how long to wait. Nobody guesses tokens: it takes nothing from the guesses at passwords.
    pub(crate) fn missed(&self, from: IpAddr) -> Result<(), Duration> {
        if self.is_exempt(from) { Ok(()) } else { self.misses.take(address(from), self.start.elapsed()) }
    }

    /// The login succeeded: it was no guess.
    pub(crate) fn succeeded(&self, from: IpAddr, account: &str, device: Option<DeviceId>) {
        self.succeeded_from(from);
        self.succeeded_at(account, device);
    }

    /// What came at that account was no guess.
    pub(crate) fn succeeded_at(&self, account: &str, device: Option<DeviceId>) {
        let now = self.start.elapsed();
        match device {
            Some(device) => self.devices.give_back(device, now),
            None => self.accounts.give_back(account, now),
        }
    }

    /// What came from that address was no guess.
    pub(crate) fn succeeded_from(&self, from: IpAddr) {
        let now = self.start.elapsed();
        if !self.is_exempt(from) {
            self.addresses.give_back(address(from), now);
            self.networks.give_back(network(from), now);
        }
    }

    fn is_exempt(&self, from: IpAddr) -> bool {
        self.limits.exempt.iter().any(|net| net.contains(&from.to_canonical()))
    }
}

/// What counts as one address: with IPv6 a subnet, since each host has as many addresses as it likes.
fn address(from: IpAddr) -> IpNet {
    around(from, 32, 64)
}

/// The network that an address is counted in.
pub(crate) fn network(from: IpAddr) -> IpNet {
    around(from, 24, 48)
}

fn around(from: IpAddr, v4: u8, v6: u8) -> IpNet {
    match from.to_canonical() {
        IpAddr::V4(from) => Ipv4Net::new_assert(from, v4).trunc().into(),
        IpAddr::V6(from) => Ipv6Net::new_assert(from, v6).trunc().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle() -> Throttle {
        let hour = Duration::from_secs(3600);
        Throttle::new(GuessLimits {
            address: Rate { burst: 2, every: hour },
            network: Rate { burst: 3, every: hour },
            account: AccountLimits {
                rate: Rate { burst: 2, every: hour },
                first: Duration::from_secs(1),
                longest: Duration::from_secs(6),
            },
            device: Rate { burst: 2, every: hour },
            owner: Rate { burst: 3, every: hour },
            request: Rate { burst: 2, every: hour },
            instances: 1,
            remembered: 64,
            exempt: vec!["10.0.0.0/8".parse().unwrap()],
        })
    }

    #[test]
    fn an_owner_has_a_rate_and_others_have_their_own() {
        let throttle = throttle();
        let (alice, bob) = (AccountId([1; 16]), AccountId([2; 16]));
        assert_eq!([(); 3].map(|()| throttle.own(alice)), [Ok(()); 3]);
        assert!(throttle.own(alice).is_err());
        assert_eq!(throttle.own(bob), Ok(()));
    }

    #[test]
    fn instances_permit_together_what_one_permits_alone() {
        let limits = |instances| GuessLimits { instances, ..GuessLimits::default() };
        // Guesses from one address that are answered in an hour, if each instance gets as many as it takes.
        let permitted = |instances: u32| -> u32 {
            let limits = limits(instances).of_one_instance();
            let later = 3600 / u32::try_from(limits.address.every.as_secs()).unwrap();
            instances * (limits.address.burst + later)
        };
        assert_eq!([permitted(1), permitted(2), permitted(4)], [1220; 3]);
        // Rounded up: nobody is kept out.
        let many = limits(1000).of_one_instance();
        assert_eq!([many.address.burst, many.account.rate.burst, many.device.burst], [1; 3]);
        assert_eq!(limits(1).of_one_instance(), limits(1));
        let throttles = [(); 2].map(|()| Throttle::new(GuessLimits { exempt: Vec::new(), ..limits(2) }));
        let answered: usize =
            throttles.iter().map(|one| (0..99).filter(|_| one.arrive(ip("192.0.2.1")).is_ok()).count()).sum();
        assert_eq!(answered, 20);
    }

    #[test]
    fn a_network_that_asks_too_often_comes_last_and_others_do_not() {
        let throttle = throttle();
        assert_eq!([1, 2, 3, 1].map(|host| throttle.comes_last([192, 0, 2, host].into())), [false, false, true, true]);
        assert!(!throttle.comes_last(ip("192.0.3.1")), "another network");
        // Whoever has a /48 has 65,536 addresses to ask from.
        let hosts = ["2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:1::1"];
        assert_eq!(hosts.map(|host| throttle.comes_last(ip(host))), [false, false, true, false]);
        assert!((0..9).all(|_| !throttle.comes_last(ip("10.1.2.3"))), "exempt");
        assert_eq!(throttle.arrive(ip("192.0.2.1")), Ok(()), "it may guess as before");
        (0..2).for_each(|_| throttle.arrive(ip("198.51.100.1")).unwrap());
        assert!(throttle.comes_last(ip("198.51.100.1")), "its guesses are used up");
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_and_its_network_are_turned_away_and_others_are_not() {
        let throttle = throttle();
        assert_eq!([throttle.arrive(ip("192.0.2.1")), throttle.arrive(ip("192.0.2.1"))], [Ok(()); 2]);
        assert!(throttle.is_spent(ip("192.0.2.1")) && !throttle.is_spent(ip("192.0.2.2")));
        assert!(throttle.arrive(ip("192.0.2.1")).is_err(), "the address");
        assert_eq!(throttle.arrive(ip("192.0.2.2")), Ok(()));
        assert!(throttle.is_spent(ip("192.0.2.3")) && !throttle.is_spent(ip("192.0.3.1")));
        assert!(throttle.arrive(ip("192.0.2.3")).is_err(), "the network");
        assert_eq!(throttle.arrive(ip("192.0.3.1")), Ok(()));
        throttle.succeeded(ip("192.0.2.1"), "alice", None);
        assert_eq!(throttle.arrive(ip("::ffff:192.0.2.1")), Ok(()), "a success was no guess");
        for _ in 0..9 {
            assert_eq!(throttle.arrive(ip("10.1.2.3")), Ok(()), "exempt");
            assert!(!throttle.is_spent(ip("10.1.2.3")), "exempt");
        }
    }

    #[test]
    fn a_host_with_a_subnet_of_ipv6_is_one_address() {
        let throttle = throttle();
        assert_eq!([throttle.arrive(ip("2001:db8::1")), throttle.arrive(ip("2001:db8::2"))], [Ok(()); 2]);
        assert!(throttle.arrive(ip("2001:db8::3")).is_err());
        assert_eq!(throttle.arrive(ip("2001:db8:0:1::3")), Ok(()));
    }

    #[test]
    fn guesses_at_an_account_are_delayed_ever_longer_and_never_turned_away() {
        let throttle = throttle();
        let delays: Vec<u64> = (0..8).map(|_| throttle.delay("alice", None).as_secs()).collect();
        assert_eq!(delays, [0, 0, 1, 2, 4, 6, 6, 6]);
        assert_eq!(throttle.delay("bob", None), Duration::ZERO);
    }

    #[test]
    fn a_known_device_does_not_wait_while_strangers_guess() {
        let throttle = throttle();
        let (mine, other) = (DeviceId([1; 16]), DeviceId([2; 16]));
        let strangers: Vec<Duration> = (0..20).map(|_| throttle.delay("alice", None)).collect();
        assert_eq!(strangers[19].as_secs(), 6);
        assert_eq!(throttle.delay("alice", Some(mine)), Duration::ZERO);
        assert_eq!(throttle.delay("alice", Some(mine)), Duration::ZERO);
        assert_ne!(throttle.delay("alice", Some(mine)), Duration::ZERO, "whoever steals a device may not guess faster");
        assert_eq!(throttle.delay("alice", Some(other)), Duration::ZERO);
        throttle.succeeded(ip("192.0.2.1"), "alice", Some(mine));
        assert_eq!(throttle.delay("alice", Some(mine)), Duration::ZERO);
    }
}
