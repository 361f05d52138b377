//! The relays that an authority knows: who may register what.

use crate::prefix::Prefix;
use candor_onion::directory::{Consensus, Descriptor, Fingerprint, MOST_RELAYS, Relay};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Bounds on what is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistryLimits {
    /// Relays in all; those that are over it are refused, those that are known go on.
    pub relays: usize,
    /// Relays in one /24 of IPv4 or /48 of IPv6, by the addresses that they publish. Test networks are exempt.
    pub relays_per_network: usize,
    /// Seconds that a descriptor is good for.
    pub lifetime: u64,
    /// Seconds by which a descriptor may be older, or newer, than the authority's clock when it arrives.
    pub window: u64,
}

impl Default for RegistryLimits {
    /// As many as a consensus has room for; 16 a network; 18 hours, as in Tor; an hour.
    fn default() -> Self {
        Self { relays: MOST_RELAYS, relays_per_network: 16, lifetime: 18 * 3600, window: 3600 }
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
    #[error("too many relays are registered")]
    Full,
    #[error("too many relays are registered in the network {0}")]
    NetworkFull(Prefix),
}

impl Refused {
    /// The HTTP status that says it.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Invalid(_) | Self::Old { .. } | Self::Future { .. } => 400,
            Self::Replayed | Self::KeyTaken => 409,
            Self::OtherKey => 403,
            Self::Full | Self::NetworkFull(_) => 503,
        }
    }
}

/// A descriptor and its bytes.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    pub(super) descriptor: Descriptor,
}

struct Known {
    newest: Arc<Stored>,
    /// For views of a moment before the newest had settled.
    before: Option<Arc<Stored>>,
}

/// The relays.
pub(super) struct Registry {
    limits: RegistryLimits,
    exempt: Vec<Prefix>,
    known: BTreeMap<[u8; 32], Known>,
    /// Which relay has an X25519 onion key.
    keys: HashMap<[u8; 32], [u8; 32]>,
    networks: HashMap<Prefix, usize>,
    /// The ML-DSA keys of relays that are registered, or were in the last consensus.
    pins: HashMap<[u8; 32], Fingerprint>,
    changes: u64,
}

impl Registry {
    pub(super) fn new(limits: RegistryLimits, exempt: Vec<Prefix>) -> Self {
        Self {
            limits,
            exempt,
            known: BTreeMap::new(),
            keys: HashMap::new(),
            networks: HashMap::new(),
            pins: HashMap::new(),
            changes: 0,
        }
    }

    /// Takes a descriptor that has just arrived.
    pub(super) fn register(&mut self, bytes: Vec<u8>, now: u64) -> Result<(), Refused> {
        let descriptor = Descriptor::decode(&bytes).map_err(Refused::Invalid)?;
        let (published, window) = (descriptor.relay.published, self.limits.window);
        if published.saturating_add(window) < now {
            return Err(Refused::Old { by: now - published, now, window });
        }
        if published > now.saturating_add(window) {
            return Err(Refused::Future { by: published - now, now, window });
        }
        self.take(Stored { bytes, descriptor })
    }

    /// Takes one that was registered before a restart, if it has not ended since.
    pub(super) fn restore(&mut self, bytes: Vec<u8>, now: u64) -> Result<(), Refused> {
        let descriptor = Descriptor::decode(&bytes).map_err(Refused::Invalid)?;
        match self.has_ended(&descriptor.relay, now) {
            true => Ok(()),
            false => self.take(Stored { bytes, descriptor }),
        }
    }

    fn take(&mut self, stored: Stored) -> Result<(), Refused> {
        let relay = &stored.descriptor.relay;
        let identity = relay.identity;
        if self.pins.get(&identity).is_some_and(|pinned| *pinned != relay.fingerprint) {
            return Err(Refused::OtherKey);
        }
        // Who lists another's KEM key, which nobody can prove to hold, harms his own handshakes only. Refusing it would let him who is first
        // at an authority keep out the relay whose key it is.
        if self.keys.get(&relay.x25519).is_some_and(|owner| *owner != identity) {
            return Err(Refused::KeyTaken);
        }
        let known = self.known.get(&identity);
        if known.is_some_and(|known| known.newest.descriptor.relay.published >= relay.published) {
            return Err(Refused::Replayed);
        }
        if known.is_none() && self.known.len() >= self.limits.relays {
            return Err(Refused::Full);
        }
        let network = network_of(relay);
        let moved = known.is_none_or(|known| network_of(&known.newest.descriptor.relay) != network);
        let is_exempt =
            relay.addresses.iter().all(|address| self.exempt.iter().any(|prefix| prefix.contains(address.ip())));
        if moved
            && !is_exempt
            && self.networks.get(&network).is_some_and(|count| *count >= self.limits.relays_per_network)
        {
            return Err(Refused::NetworkFull(network));
        }
        self.pins.insert(identity, relay.fingerprint);
        let before = self.forget(&identity).map(|known| known.newest);
        // While a view may still list the older key, nobody else takes it.
        for stored in before.iter().map(|before| &**before).chain([&stored]) {
            self.keys.insert(stored.descriptor.relay.x25519, identity);
        }
        *self.networks.entry(network).or_default() += 1;
        self.known.insert(identity, Known { newest: Arc::new(stored), before });
        self.changes += 1;
        Ok(())
    }

    /// Takes a relay out of all tables but the pins.
    fn forget(&mut self, identity: &[u8; 32]) -> Option<Known> {
        let known = self.known.remove(identity)?;
        for stored in known.before.iter().chain([&known.newest]) {
            self.keys.remove(&stored.descriptor.relay.x25519);
        }
        let network = network_of(&known.newest.descriptor.relay);
        if let Some(count) = self.networks.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.networks.remove(&network);
            }
        }
        Some(known)
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

    /// What a view of that moment says: of each relay the newest descriptor of before `settled`, or the oldest there is. Descriptors that the
    /// relay is just passing on to all authorities are left for the next round, since some may not have them yet.
    pub(super) fn view(&self, settled: u64, at: u64) -> Vec<Arc<Stored>> {
        let of = |known: &Known| {
            let is_settled = known.newest.descriptor.relay.published <= settled;
            let stored = if is_settled { &known.newest } else { known.before.as_ref().unwrap_or(&known.newest) };
            (!self.has_ended(&stored.descriptor.relay, at)).then(|| Arc::clone(stored))
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

    /// The newest descriptors.
    pub(super) fn stored(&self) -> Vec<Arc<Stored>> {
        self.known.values().map(|known| Arc::clone(&known.newest)).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// How often something has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }
}

fn network_of(relay: &Relay) -> Prefix {
    Prefix::around(relay.addresses[0].ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_onion::directory::{Drafted, Listed, SecretKey, Times};
    use candor_primitives::dh::{DiffieHellman, aws_lc::X25519};
    use std::net::SocketAddr;

    const NOW: u64 = 1_000_000;

    /// A relay's descriptor with an ML-KEM-768 key of that byte.
    fn descriptor(published: u64, byte: u8) -> Vec<u8> {
        let relay = Relay {
            identity: [0; 32],
            fingerprint: [0; 32],
            x25519: [0; 32],
            kems: [None; 3],
            published,
            keys_until: NOW + 100_000,
            bandwidth: 1,
            handshakes: vec![3],
            addresses: vec![SocketAddr::from(([192, 0, 2, 1], 9001))],
            exit: Vec::new(),
            name: String::new(),
        };
        let onion = [7; 32];
        let public = X25519.public_of(&X25519.secret_from_bytes(&onion).unwrap()).unwrap();
        let drafted = Drafted { relay, family: Vec::new(), kems: [None, Some(vec![byte; 1184]), None] };
        drafted.sign(&SecretKey::of_relay(&[1; 32]).unwrap(), (&onion, public)).unwrap()
    }

    #[test]
    fn a_relay_that_changes_its_keys_during_a_round_takes_none_of_the_rounds_away() {
        let mut registry = Registry::new(RegistryLimits::default(), Vec::new());
        registry.register(descriptor(NOW, 1), NOW).unwrap();
        let viewed = registry.view(NOW, NOW);
        let relay = viewed[0].descriptor.relay.clone();
        let times = Times { valid_after: NOW, fresh_until: NOW + 1, valid_until: NOW + 2 };
        let relays = vec![Listed { relay, family: 0 }];
        let consensus = Consensus { times, exit_weight: 0, relays, signers: Vec::new() };
        assert_eq!(registry.kem_keys(&[], &consensus, 1), [1; 1184], "what is known will do");
        assert!(registry.kem_keys(&viewed, &consensus, 0).is_empty(), "it has none for ML-KEM-512");
        registry.register(descriptor(NOW + 1, 2), NOW).unwrap();
        assert_eq!(registry.kem_keys(&[], &consensus, 1), [1; 1184], "the one before is known");
        registry.register(descriptor(NOW + 2, 3), NOW).unwrap();
        assert!(registry.kem_keys(&[], &consensus, 1).is_empty(), "it isn't any more");
        assert_eq!(registry.kem_keys(&viewed, &consensus, 1), [1; 1184]);
    }
}
