//! Relay lists: JSON, a relay a line.
//!
//! A line is what `candor onion relay` prints when it is ready, so a list is such lines put together:
//!
//! ```json
//! {"name":"ada","address":"127.0.0.1:9001","identity":"<Ed25519>","handshakes":["ntor-v3","hybrid-768-auth"],"keys":{"x25519":"…","ml-kem-768":"…"}}
//! ```
//!
//! `name` is for people and may be left out. `exit` is the exit policy; without it the relay is no exit, or does not say so. `bandwidth` is in kB/s and weighs
//! the choice of paths; `family` has the identities of other relays of the same people. `rsa_identity`, 20 bytes, is there for relays of Tor's,
//! which `ntor` names by it.
//! A circuit is as authentic as the list that it was built from.

use crate::onion_keys::{KEMS, Offer};
use crate::{Error, Policy, files};
use candor_onion::directory::{self, Consensus};
use candor_onion::handshake::{HandshakeType, UnknownHandshake};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// The most bytes that a list may have: some 1000 relays.
const MOST: usize = 8 << 20;

/// How long another process may keep a list locked.
const PATIENCE: Duration = Duration::from_secs(10);

/// The relays that a client may build circuits through.
#[derive(Debug, Default)]
pub struct RelayList {
    relays: Vec<ListedRelay>,
    /// When a consensus was signed, and when it ends.
    times: Option<(u64, u64)>,
}

/// A relay as others know it; its keys are parsed.
pub struct ListedRelay {
    line: Line,
    address: SocketAddr,
    identity: [u8; 32],
    rsa_identity: Option<[u8; 20]>,
    exit: Policy,
    family: Vec<[u8; 32]>,
    /// Its family's number in the consensus that it is from, or 0.
    family_number: u16,
    /// Whether it may be drawn as a guard: Tor's authorities say of which relays that is true.
    is_guard: bool,
    offers: Vec<(HandshakeType, Offer)>,
}

/// A relay's line.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    address: String,
    identity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rsa_identity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bandwidth: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    family: Vec<String>,
    handshakes: Vec<String>,
    keys: BTreeMap<String, String>,
}

impl RelayList {
    /// Reads a list from a file.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::RelayList`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::file(path, &error);
        let mut text = String::new();
        // One byte more than a list may have, so that a longer one is refused by its length and read no further.
        File::open(path).map_err(failed)?.take(MOST as u64 + 1).read_to_string(&mut text).map_err(failed)?;
        Self::parse(&text)
    }

    /// Reads a list. Empty lines are skipped.
    ///
    /// # Errors
    /// [`Error::RelayList`], with the line.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let at = |line: usize, why: String| Error::RelayList { line: line + 1, why };
        if text.len() > MOST {
            return Err(at(0, format!("the list is longer than {MOST} bytes")));
        }
        let mut relays: Vec<ListedRelay> = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line: Line = serde_json::from_str(line).map_err(|error| at(number, error.to_string()))?;
            let relay = ListedRelay::parse(line).map_err(|why| at(number, why))?;
            if relays.iter().any(|other| other.identity == relay.identity) {
                return Err(at(number, format!("the relay {relay} is listed twice")));
            }
            relays.push(relay);
        }
        Ok(Self { relays, times: None })
    }

    /// The relays, in the list's order.
    pub fn relays(&self) -> &[ListedRelay] {
        &self.relays
    }

    /// Puts a relay's entry into the list at `path`, which is made if it is not there. Entries that have the same identity, address or name
    /// are replaced. Several processes may do so at a time, and a reader sees all of a list or the one before.
    ///
    /// # Errors
    /// [`Error::File`], also if another process keeps the list locked for ten seconds; [`Error::RelayList`] if there is a file that is not
    /// a list.
    pub fn update(path: &Path, relay: &ListedRelay) -> Result<(), Error> {
        Self::update_within(path, relay, PATIENCE)
    }

    fn update_within(path: &Path, relay: &ListedRelay, patience: Duration) -> Result<(), Error> {
        // The lock is the directory's, since the file is replaced. It ends with the handle.
        let _lock = lock(files::folder_of(path), patience).map_err(|error| Error::file(path, &error))?;
        let list = match Self::load(path) {
            Ok(list) => list,
            Err(Error::File { .. }) if !path.exists() => Self::default(),
            Err(error) => return Err(error),
        };
        let same = |other: &&ListedRelay| {
            other.identity == relay.identity
                || other.address == relay.address
                || (other.line.name.is_some() && other.line.name == relay.line.name)
        };
        let others = list.relays.iter().filter(|other| !same(other));
        let text: String = others.chain([relay]).map(|relay| relay.to_line() + "\n").collect();
        files::replace(path, &text, 0o644)
    }

    /// The relays themselves, in the list's order.
    pub fn into_relays(self) -> Vec<ListedRelay> {
        self.relays
    }

    /// The relays of a consensus that offer `handshake`, or all if none is asked for. `kems` gives the static KEM key of a digest. Handshakes
    /// whose keys are not at hand, and relays that are left with none, are left out.
    pub fn of_consensus(
        consensus: &Consensus,
        handshake: Option<HandshakeType>,
        kems: &dyn Fn(&[u8; 32]) -> Option<Vec<u8>>,
    ) -> Self {
        let listed = |listed: &directory::Listed| {
            let relay =
                ListedRelay::of_directory(&listed.relay, handshake, kems)?.with_bandwidth(listed.relay.bandwidth);
            Some(ListedRelay { family_number: listed.family, ..relay })
        };
        let relays = consensus.relays.iter().filter_map(listed).collect();
        Self { relays, times: Some((consensus.times.valid_after, consensus.times.valid_until)) }
    }

    /// Relays of Tor's, as a consensus says that was signed and ends at these times, in seconds since 1970.
    #[cfg(feature = "tor")]
    pub(crate) fn signed(relays: Vec<ListedRelay>, at: u64, until: u64) -> Self {
        Self { relays, times: Some((at, until)) }
    }

    /// Takes relays that are known already.
    pub fn of(relays: Vec<ListedRelay>) -> Self {
        Self { relays, times: None }
    }

    /// The identities of relays that are [called](ListedRelay::is_called) so, as far as they are in the list.
    ///
    /// # Errors
    /// [`Error::Path`] if several relays are called by one name: names are anybody's.
    pub(crate) fn called(&self, names: &[String]) -> Result<Vec<[u8; 32]>, Error> {
        let mut found = Vec::new();
        for name in names {
            let mut called = self.relays.iter().filter(|relay| relay.is_called(name));
            found.extend(called.next().map(|relay| relay.identity));
            if called.next().is_some() {
                return Err(Error::Path(format!("several relays are called `{name}`; say the identity of one")));
            }
        }
        Ok(found)
    }

    /// When the authorities signed it, in seconds since 1970, if it is a consensus's.
    pub fn signed_at(&self) -> Option<u64> {
        self.times.map(|(at, _)| at)
    }

    /// When it ends, in seconds since 1970, if it is a consensus's.
    pub fn valid_until(&self) -> Option<u64> {
        self.times.map(|(_, until)| until)
    }
}

impl ListedRelay {
    pub(crate) fn new(
        name: Option<String>,
        address: SocketAddr,
        identity: [u8; 32],
        rsa_identity: Option<[u8; 20]>,
        x25519: [u8; 32],
        kems: [Vec<u8>; 3],
        handshakes: &[HandshakeType],
    ) -> Result<Self, Error> {
        let mut keys = BTreeMap::from([("x25519".to_owned(), base16ct::lower::encode_string(&x25519))]);
        let wanted = |index| match index {
            0 => handshakes.contains(&HandshakeType::Hybrid512Auth),
            1 => handshakes.contains(&HandshakeType::Hybrid768Auth),
            _ => handshakes.contains(&HandshakeType::Hybrid1024Auth),
        };
        for index in (0..3).filter(|index| wanted(*index)) {
            keys.insert(KEMS[index].to_owned(), base16ct::lower::encode_string(&kems[index]));
        }
        let line = Line {
            name,
            address: address.to_string(),
            identity: base16ct::lower::encode_string(&identity),
            rsa_identity: rsa_identity.map(|identity| base16ct::lower::encode_string(&identity)),
            exit: None,
            bandwidth: None,
            family: Vec::new(),
            handshakes: handshakes.iter().map(|handshake| handshake.name().to_owned()).collect(),
            keys,
        };
        Self::parse(line).map_err(Error::Internal)
    }

    /// A relay of Tor's; `None` if it offers no handshake.
    #[cfg(feature = "tor")]
    pub(crate) fn of_tor(
        name: String,
        address: SocketAddr,
        identity: [u8; 32],
        rsa_identity: [u8; 20],
        x25519: [u8; 32],
        handshakes: &[HandshakeType],
    ) -> Option<Self> {
        let kems = Default::default();
        let listed = Self::new(Some(name), address, identity, Some(rsa_identity), x25519, kems, handshakes);
        listed.ok().filter(|_| !handshakes.is_empty())
    }

    /// The same relay, never drawn as a guard.
    #[cfg(feature = "tor")]
    #[must_use]
    pub(crate) fn not_a_guard(self) -> Self {
        Self { is_guard: false, ..self }
    }

    /// Whether it may be drawn as a guard.
    pub(crate) fn is_guard(&self) -> bool {
        self.is_guard
    }

    /// A relay as a directory has it, with its preferred address; `None` if there is no handshake to offer.
    pub(crate) fn of_directory(
        relay: &directory::Relay,
        wanted: Option<HandshakeType>,
        kems: &dyn Fn(&[u8; 32]) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let keys = relay.kems.map(|digest| digest.and_then(|digest| kems(&digest)));
        let is_at_hand = |handshake: &HandshakeType| match handshake {
            HandshakeType::Hybrid512Auth => keys[0].is_some(),
            HandshakeType::Hybrid768Auth => keys[1].is_some(),
            HandshakeType::Hybrid1024Auth => keys[2].is_some(),
            _ => true,
        };
        let known = relay.handshakes.iter().filter_map(|number| HandshakeType::numbered(*number));
        let wanted = |handshake: &HandshakeType| wanted.is_none_or(|wanted| wanted == *handshake);
        let handshakes: Vec<_> = known.filter(wanted).filter(is_at_hand).collect();
        if handshakes.is_empty() {
            return None;
        }
        let name = (!relay.name.is_empty()).then(|| relay.name.clone());
        let keys = keys.map(Option::unwrap_or_default);
        let listed = Self::new(name, *relay.addresses.first()?, relay.identity, None, relay.x25519, keys, &handshakes);
        Some(listed.ok()?.with_exit(&Policy::of(&relay.exit)))
    }

    fn parse(line: Line) -> Result<Self, String> {
        let address =
            line.address.parse().map_err(|_| format!("`{}` is not an address; expected IP:PORT", line.address))?;
        let identity = array(&line.identity).ok_or("the identity is not 64 hexadecimal digits")?;
        let rsa_identity = match &line.rsa_identity {
            Some(text) => Some(array(text).ok_or("rsa_identity is not 40 hexadecimal digits")?),
            None => None,
        };
        if let Some(name) = line.keys.keys().find(|name| *name != "x25519" && !KEMS.contains(&name.as_str())) {
            return Err(format!("unknown key `{name}`; expected x25519, {}", KEMS.join(", ")));
        }
        let x25519 = line.keys.get("x25519").and_then(|text| array(text));
        let x25519 = x25519.ok_or("the key x25519 is missing, or not 64 hexadecimal digits")?;
        let kem = |index: usize| {
            let text = line.keys.get(KEMS[index]).ok_or_else(|| format!("the key {} is missing", KEMS[index]))?;
            base16ct::mixed::decode_vec(text).map_err(|_| format!("the key {} is not hexadecimal", KEMS[index]))
        };
        let mut offers: Vec<(HandshakeType, Offer)> = Vec::new();
        for name in &line.handshakes {
            let handshake: HandshakeType = name.parse().map_err(|unknown: UnknownHandshake| unknown.to_string())?;
            if offers.iter().any(|(known, _)| *known == handshake) {
                return Err(format!("the handshake {handshake} is listed twice"));
            }
            offers.push((handshake, Offer::new(handshake, &identity, rsa_identity, x25519, &kem)?));
        }
        let exit = Policy::parse(line.exit.as_deref().unwrap_or_default()).map_err(|error| error.to_string())?;
        let family: Option<Vec<_>> = line.family.iter().map(|member| array(member)).collect();
        let family = family.ok_or("a member of the family is not 64 hexadecimal digits")?;
        Ok(Self { line, address, identity, rsa_identity, exit, family, family_number: 0, is_guard: true, offers })
    }

    /// The relay's line in a list, without a line's end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(&self.line).expect("text has a JSON form")
    }

    /// The same relay with that exit policy.
    #[must_use]
    pub fn with_exit(mut self, policy: &Policy) -> Self {
        self.line.exit = (!policy.is_empty()).then(|| policy.to_string());
        self.exit = policy.clone();
        self
    }

    /// The same relay with what it carries, in kB/s.
    #[must_use]
    pub fn with_bandwidth(mut self, bandwidth: u32) -> Self {
        self.line.bandwidth = Some(bandwidth);
        self
    }

    /// The same relay with the identities that it names as its family.
    #[must_use]
    pub fn with_family(mut self, family: Vec<[u8; 32]>) -> Self {
        self.line.family = family.iter().map(|member| base16ct::lower::encode_string(member)).collect();
        self.family = family;
        self
    }

    /// What it carries, in kB/s: 1 MB/s where its entry does not say.
    pub fn bandwidth(&self) -> u32 {
        self.line.bandwidth.unwrap_or(1000)
    }

    /// Whether the two are of one family: they name each other, or a consensus gave them the same number.
    pub fn is_family_of(&self, other: &Self) -> bool {
        let names = |one: &Self, other: &Self| one.family.contains(&other.identity);
        let numbered = self.family_number != 0 && self.family_number == other.family_number;
        numbered || (names(self, other) && names(other, self))
    }

    /// Whether it is an exit to anywhere, as far as its entry says.
    pub fn is_exit(&self) -> bool {
        !self.exit.is_empty()
    }

    /// Whether, as far as its entry says, it is an exit to `port` of `host`.
    pub fn permits(&self, host: &str, port: u16) -> bool {
        self.exit.may_permit(host, port)
    }

    /// Its exit policy, as far as its entry says.
    pub(crate) fn exit(&self) -> &Policy {
        &self.exit
    }

    /// Its name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.line.name.as_deref()
    }

    /// Its name, or the beginning of its identity where it has none.
    pub fn label(&self) -> String {
        self.line.name.clone().unwrap_or_else(|| self.line.identity.chars().take(8).collect())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its Ed25519 identity.
    pub fn identity(&self) -> &[u8; 32] {
        &self.identity
    }

    /// The digest of its RSA identity, if it has one.
    pub fn rsa_identity(&self) -> Option<&[u8; 20]> {
        self.rsa_identity.as_ref()
    }

    /// Whether that is its name, the beginning of its identity, eight digits or more, or `$` and its RSA identity. Several relays may have one name.
    pub fn is_called(&self, wanted: &str) -> bool {
        let digits = wanted.to_ascii_lowercase();
        let rsa = || digits.strip_prefix('$').and_then(array).is_some_and(|rsa| self.rsa_identity == Some(rsa));
        self.line.name.as_deref() == Some(wanted)
            || (digits.len() >= 8 && base16ct::lower::encode_string(&self.identity).starts_with(&digits))
            || rsa()
    }

    /// The handshakes that it offers.
    pub fn handshakes(&self) -> impl Iterator<Item = HandshakeType> {
        self.offers.iter().map(|(handshake, _)| *handshake)
    }

    /// Its keys for a handshake.
    pub(crate) fn offer(&self, handshake: HandshakeType) -> Result<&Offer, Error> {
        let offer = self.offers.iter().find(|(offered, _)| *offered == handshake);
        offer.map(|(_, offer)| offer).ok_or_else(|| {
            let offered: Vec<_> = self.handshakes().map(HandshakeType::name).collect();
            Error::Handshake(format!("the relay {self} does not offer {handshake}; it offers {}", offered.join(", ")))
        })
    }
}

impl fmt::Display for ListedRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line.name {
            Some(name) => write!(f, "{name} at {}", self.address),
            None => write!(f, "{}… at {}", &self.line.identity[..8], self.address),
        }
    }
}

impl fmt::Debug for ListedRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListedRelay({self})")
    }
}

/// Locks a folder, once nobody else has it locked.
fn lock(folder: &Path, patience: Duration) -> io::Result<File> {
    let folder = File::open(folder)?;
    let deadline = Instant::now() + patience;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Err(TryLockError::WouldBlock) => {
                let why = format!("its folder has been locked by another process for {} s", patience.as_secs());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
            }
        }
    }
}

/// The bytes behind exactly as many hexadecimal digits as they need.
fn array<const N: usize>(text: &str) -> Option<[u8; N]> {
    base16ct::mixed::decode_vec(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RelayKeys;

    fn line() -> String {
        let keys = RelayKeys::generate().unwrap();
        keys.listed(Some("ada".into()), "127.0.0.1:9001".parse().unwrap(), &HandshakeType::ALL).unwrap().to_line()
    }

    #[test]
    fn relays_put_themselves_into_a_list_at_once_and_none_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("relays.jsonl");
        let relay = |name: &str, port: u16| {
            let keys = RelayKeys::generate().unwrap();
            let listed =
                keys.listed(Some(name.to_owned()), ([192, 0, 2, 1], port).into(), &HandshakeType::ALL).unwrap();
            listed.with_exit(&Policy::parse("*:80").unwrap())
        };
        std::thread::scope(|scope| {
            for port in 1..=8 {
                let (path, relay) = (&path, &relay);
                scope.spawn(move || RelayList::update(path, &relay(&format!("relay {port}"), port)).unwrap());
            }
        });
        assert_eq!(RelayList::load(&path).unwrap().relays().len(), 8);
        // The same name, and then the same address, with new keys.
        RelayList::update(&path, &relay("relay 1", 9)).unwrap();
        RelayList::update(&path, &relay("relay 10", 2)).unwrap();
        let list = RelayList::load(&path).unwrap();
        assert_eq!(list.relays().len(), 8);
        let last = &list.relays()[7];
        assert!(last.is_called("relay 10") && last.permits("example.org", 80) && !last.permits("example.org", 81));

        std::fs::write(&path, "something else\n").unwrap();
        assert!(matches!(RelayList::update(&path, &relay("eve", 1)), Err(Error::RelayList { line: 1, .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else\n");
    }

    #[test]
    fn a_list_that_stays_locked_or_can_not_be_written_is_an_error_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("relays.jsonl");
        let relay = ListedRelay::parse(serde_json::from_str(&line()).unwrap()).unwrap();
        let held = File::open(directory.path()).unwrap();
        held.lock().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let to = path.clone();
        let entry = ListedRelay::parse(serde_json::from_str(&line()).unwrap()).unwrap();
        std::thread::spawn(move || tell.send(RelayList::update_within(&to, &entry, Duration::ZERO)));
        let answer = told.recv_timeout(Duration::from_secs(60)).expect("it does not wait for the lock");
        let error = answer.unwrap_err().to_string();
        assert!(error.contains("locked by another process") && !path.exists(), "{error}");
        drop(held);
        RelayList::update_within(&path, &relay, Duration::ZERO).unwrap();
        // A folder in the way of the partial file: nothing can be written.
        let partial = directory.path().join("relays.jsonl.partial");
        assert!(!partial.exists(), "nothing is left beside it");
        std::fs::create_dir(&partial).unwrap();
        let before = std::fs::read_to_string(&path).unwrap();
        let other = ListedRelay::parse(serde_json::from_str(&line()).unwrap()).unwrap();
        assert!(RelayList::update(&path, &other).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }

    #[test]
    fn a_family_is_who_name_each_other_or_have_one_number() {
        let parsed = || ListedRelay::parse(serde_json::from_str(&line()).unwrap()).unwrap();
        let (ada, bob) = (parsed(), parsed());
        let (a, b) = (ada.identity, bob.identity);
        let ada = ada.with_family(vec![[9; 32], b]);
        assert!(!ada.is_family_of(&bob) && !bob.is_family_of(&ada), "one alone can claim no other");
        let bob = bob.with_family(vec![a]);
        assert!(ada.is_family_of(&bob) && bob.is_family_of(&ada));
        let again = RelayList::parse(&format!("{}\n{}", ada.to_line(), bob.to_line())).unwrap();
        assert!(again.relays()[0].is_family_of(&again.relays()[1]), "and their lines say so");
        let numbered = |number| ListedRelay { family_number: number, ..parsed() };
        assert!(numbered(3).is_family_of(&numbered(3)) && !numbered(3).is_family_of(&numbered(4)));
        assert!(!numbered(0).is_family_of(&numbered(0)));
        assert_eq!((ada.bandwidth(), ada.with_bandwidth(7).bandwidth()), (1000, 7));
    }

    #[test]
    fn a_relay_is_called_by_its_identities_and_by_a_name_only_if_nobody_else_has_it() {
        let (ada, eve) = (line(), line());
        let rsa = "0123456789abcdef0123456789ABCDEF01234567";
        let with_rsa = ada.replacen("\"handshakes\"", &format!("\"rsa_identity\":\"{rsa}\",\"handshakes\""), 1);
        let alone = RelayList::parse(&with_rsa).unwrap();
        let identity = *alone.relays()[0].identity();
        let digits = base16ct::lower::encode_string(&identity);
        let (upper, part, rsa) = (digits.to_uppercase(), digits[..8].to_owned(), format!("${rsa}"));
        for name in ["ada", &digits, &upper, &part, &rsa, &rsa.to_uppercase()] {
            assert_eq!(alone.called(&[name.to_owned()]).unwrap(), [identity], "{name}");
        }
        for nobody in ["Ada", &digits[..7], &rsa[..40], "$", ""] {
            assert!(alone.called(&[nobody.to_owned()]).unwrap().is_empty(), "{nobody}");
        }
        // Somebody else takes the name.
        let both = RelayList::parse(&format!("{with_rsa}\n{eve}")).unwrap();
        let error = both.called(&["ada".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("several relays are called `ada`"), "{error}");
        assert_eq!(both.called(&[digits, rsa]).unwrap(), [identity; 2]);
    }

    #[test]
    fn a_list_is_lines_put_together() {
        let (first, second) = (line(), line());
        let list = RelayList::parse(&format!("{first}\n\n{second}\n")).unwrap();
        assert_eq!(list.relays().len(), 2);
        assert_eq!(list.relays()[1].to_line(), second);
        assert_eq!(list.relays()[0].handshakes().count(), 8);
        assert_eq!(list.relays()[0].to_string(), "ada at 127.0.0.1:9001");
    }

    #[test]
    fn mistakes_name_their_line() {
        let good = line();
        let edit = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            good.replacen(from, to, 1)
        };
        let wrong = [
            ("{", "EOF"),
            (&edit("\"address\"", "\"adress\""), "adress"),
            (&edit("127.0.0.1:9001", "127.0.0.1"), "not an address; expected IP:PORT"),
            (&edit("\"identity\":\"", "\"identity\":\"zz"), "identity"),
            (&edit("\"ntor-v3\"", "\"ntor-v9\""), "unknown handshake `ntor-v9`"),
            (&edit("\"ntor-v3\"", "\"ntor\""), "twice"),
            (&edit("\"x25519\"", "\"x448\""), "x448"),
            (&edit("\"ml-kem-768\":\"", "\"ml-kem-768\":\"ffff"), "ml-kem-768"),
        ];
        for (line, why) in wrong {
            let error = RelayList::parse(&format!("\n{line}")).unwrap_err();
            assert!(matches!(error, Error::RelayList { line: 2, .. }), "{error}");
            assert!(error.to_string().contains(why), "{error} does not say {why}");
        }
        let twice = RelayList::parse(&format!("{good}\n{good}")).unwrap_err().to_string();
        assert!(twice.contains("listed twice"), "{twice}");
    }
}
