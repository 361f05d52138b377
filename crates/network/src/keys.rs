//! A relay's lasting keys and the file that keeps them.
//!
//! The file is text, a key a line in hexadecimal digits. Its owner alone may read it:
//!
//! ```text
//! candor relay keys 2
//! identity <Ed25519 seed>
//! onion <when the keys below were made, in seconds since 1970>
//! x25519 <secret>
//! ml-kem-512 <secret> <public>
//! ml-kem-768 <secret> <public>
//! ml-kem-1024 <secret> <public>
//! ```
//!
//! The last five lines may come again, for older onion keys that are still accepted. A running relay renews its onion keys and replaces
//! the file in one step ([`Renewal`]).

use crate::clock::{Clock, Moment};
use crate::onion_keys::{KEMS, OnionSecrets};
use crate::relay_list::ListedRelay;
use crate::{Error, files};
use candor_onion::circuit::OnionKeys;
use candor_onion::directory;
use candor_onion::handshake::HandshakeType;
use candor_onion::link::RelayIdentity;
#[cfg(feature = "tor")]
use candor_tor_directory::RelayKey;
use std::fmt::Write as _;
use std::fs::File;
use std::io::ErrorKind;
use std::iter::Peekable;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::Lines;
#[cfg(feature = "tor")]
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

const HEAD: &str = "candor relay keys 2";
/// Sets of onion keys in a file. More than two only if the overlap is longer than the keys are in use, or the clock has jumped. No set is
/// made while so many are accepted.
const MOST_SETS: usize = 4;
/// The most bytes that a file may have.
const MOST: usize = 1 << 17;
/// Keys from further in the future were made under a wrong clock.
const SKEW: u64 = 24 * 3600;

/// How often keys are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// For how long a link certificate is shown; it holds for 30 days.
    pub links: Duration,
    /// For how long onion keys are listed.
    pub onion_keys: Duration,
    /// For how long onion keys are accepted after that.
    pub overlap: Duration,
}

impl Default for Renewal {
    /// A day; four weeks; a week. The last two are Tor's.
    fn default() -> Self {
        let day = Duration::from_secs(24 * 3600);
        Self { links: day, onion_keys: 28 * day, overlap: 7 * day }
    }
}

/// What a relay says of itself in its descriptor that nothing else needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// What it can carry, in kB/s. Clients prefer relays that carry more.
    pub bandwidth: u32,
    /// The identities of relays that the same people run. No circuit goes through two of a family; they must name each other.
    pub family: Vec<[u8; 32]>,
    /// Its address of the other kind, if it has an IPv4 and an IPv6 address.
    pub other_address: Option<SocketAddr>,
}

impl Words {
    /// A relay's identity, from hexadecimal digits.
    pub fn identity(text: &str) -> Option<[u8; 32]> {
        base16ct::mixed::decode_vec(text).ok()?.try_into().ok()
    }
}

impl Default for Words {
    /// 1 MB/s, no family, one address.
    fn default() -> Self {
        Self { bandwidth: 1000, family: Vec::new(), other_address: None }
    }
}

/// A relay's identity and onion keys. Wiped on drop.
#[derive(Clone)]
pub struct RelayKeys {
    identity: Zeroizing<[u8; 32]>,
    /// The public identity.
    id: [u8; 32],
    /// Those that are listed, and then older ones that are still accepted.
    onion: Vec<OnionSet>,
    /// The RSA identity, for networks of C tor's. No file of ours keeps it.
    #[cfg(feature = "tor")]
    rsa: Option<Arc<RelayKey>>,
    /// The file that keeps them.
    path: Option<PathBuf>,
}

#[derive(Clone)]
struct OnionSet {
    /// In seconds since 1970.
    made: u64,
    /// When the next set took its place, by the steady clock; not known of sets from the file.
    replaced: Option<u64>,
    secrets: OnionSecrets,
    x25519_public: [u8; 32],
}

impl OnionSet {
    fn new(made: u64, secrets: OnionSecrets) -> Result<Self, Error> {
        Ok(Self { made, replaced: None, x25519_public: secrets.x25519_public()?, secrets })
    }
}

impl RelayKeys {
    /// Fresh keys.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no randomness.
    pub fn generate() -> Result<Self, Error> {
        Self::new(random()?, vec![OnionSet::new(Clock::default().now(), OnionSecrets::generate()?)?])
    }

    fn new(identity: Zeroizing<[u8; 32]>, onion: Vec<OnionSet>) -> Result<Self, Error> {
        let id = *RelayIdentity::from_seeds(&identity, &[0; 32], &[0; 32], 0).id();
        Ok(Self {
            identity,
            id,
            onion,
            #[cfg(feature = "tor")]
            rsa: None,
            path: None,
        })
    }

    /// The keys in the file, or fresh ones that are then in the file. A relay that is started with them keeps the file up to date.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::KeyFile`] if others than its owner may read it, or it is not a key file.
    pub fn load_or_create(path: &Path) -> Result<Self, Error> {
        let mut keys = match File::open(path) {
            Ok(file) => Self::load(path, file)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let keys = Self::generate()?;
                files::create(path, &keys.text(), 0o600)?;
                keys
            }
            Err(error) => return Err(Error::file(path, &error)),
        };
        keys.path = Some(path.to_owned());
        Ok(keys)
    }

    /// The same keys with an RSA identity, by which C tor's clients and relays know the relay beside the other.
    #[cfg(feature = "tor")]
    #[must_use]
    pub(crate) fn with_rsa(self, key: Arc<RelayKey>) -> Self {
        Self { rsa: Some(key), ..self }
    }

    /// SHA-1 of the RSA identity, which `ntor` names the relay by.
    #[cfg(feature = "tor")]
    fn fingerprint(&self) -> Option<[u8; 20]> {
        self.rsa.as_ref().map(|key| key.fingerprint())
    }

    #[cfg(not(feature = "tor"))]
    fn fingerprint(&self) -> Option<[u8; 20]> {
        None
    }

    fn load(path: &Path, file: File) -> Result<Self, Error> {
        let text = files::read_secret(path, file, MOST)?;
        Self::parse(&text).map_err(|why| Error::KeyFile { path: path.to_owned(), why })
    }

    /// Reads a key file's text.
    ///
    /// # Errors
    /// What is wrong with the text; never a key in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().peekable();
        if lines.next() != Some(HEAD) {
            return Err(format!("expected `{HEAD}` in the first line"));
        }
        let identity = key("identity", next(&mut lines, "identity")?)?;
        let mut onion = Vec::new();
        while onion.is_empty() || lines.peek().is_some() {
            if onion.len() == MOST_SETS {
                return Err(format!("expected at most {MOST_SETS} sets of onion keys"));
            }
            let made = next(&mut lines, "onion")?.parse().map_err(|_| broken("onion"))?;
            let x25519 = key("x25519", next(&mut lines, "x25519")?)?;
            let mut kem = |name: &str| {
                let (secret, public) = next(&mut lines, name)?.split_once(' ').ok_or_else(|| broken(name))?;
                let pair = decode(secret).zip(decode(public)).ok_or_else(|| broken(name))?;
                Ok::<_, String>((pair.0, pair.1.to_vec()))
            };
            let kems = [kem(KEMS[0])?, kem(KEMS[1])?, kem(KEMS[2])?];
            let set = OnionSet::new(made, OnionSecrets { x25519, kems }).map_err(|error| error.to_string())?;
            onion.push(set);
        }
        let keys = Self::new(identity, onion).map_err(|error| error.to_string())?;
        // Parses every key once, so that a broken file is found now and not at the first circuit.
        keys.onion_keys(&HandshakeType::ALL).map_err(|error| error.to_string())?;
        Ok(keys)
    }

    fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(MOST));
        let put = |text: &mut String, name: &str, key: &[u8]| {
            let digits = Zeroizing::new(base16ct::lower::encode_string(key));
            write!(text, "{name} {}", *digits).expect("writing to memory");
        };
        text.push_str(HEAD);
        put(&mut text, "\nidentity", self.identity.as_slice());
        for set in &self.onion {
            write!(text, "\nonion {}", set.made).expect("writing to memory");
            put(&mut text, "\nx25519", set.secrets.x25519.as_slice());
            for (name, (secret, public)) in KEMS.iter().zip(&set.secrets.kems) {
                put(&mut text, &format!("\n{name}"), secret);
                put(&mut text, "", public);
            }
        }
        text.push('\n');
        text
    }

    /// The public identity, an Ed25519 key.
    pub fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// What others need to know to reach the relay at `address`: its line in a relay list.
    ///
    /// # Errors
    /// [`Error::Internal`] if a library fails.
    pub fn listed(
        &self,
        name: Option<String>,
        address: SocketAddr,
        handshakes: &[HandshakeType],
    ) -> Result<ListedRelay, Error> {
        let set = &self.onion[0];
        let kems = [0, 1, 2].map(|index| set.secrets.kems[index].1.clone());
        ListedRelay::new(name, address, self.id, self.fingerprint(), set.x25519_public, kems, handshakes)
    }

    /// The public onion key of `ntor`, and its certificate for the identity until then, in seconds since 1970, with the sign of its point: for a descriptor of Tor's.
    #[cfg(feature = "tor")]
    pub(crate) fn onion_certificate(&self, until: u64) -> ([u8; 32], (u8, Vec<u8>)) {
        let set = &self.onion[0];
        (set.x25519_public, directory::onion_key_certificate(&set.secrets.x25519, &self.id, until))
    }

    /// A signed descriptor for a directory, made at `at`: what the relay's line says, and `words`.
    pub(crate) fn descriptor(
        &self,
        listed: &ListedRelay,
        words: &Words,
        at: u64,
        renewal: &Renewal,
    ) -> Result<Vec<u8>, Error> {
        let set = &self.onion[0];
        let wants = |kem: HandshakeType| listed.handshakes().any(|handshake| handshake == kem);
        let with_kem = [HandshakeType::Hybrid512Auth, HandshakeType::Hybrid768Auth, HandshakeType::Hybrid1024Auth];
        let kems = [0, 1, 2].map(|index| wants(with_kem[index]).then(|| set.secrets.kems[index].1.clone()));
        let mut handshakes: Vec<_> = listed.handshakes().map(HandshakeType::number).collect();
        handshakes.sort_unstable();
        let lasts = renewal.onion_keys.saturating_add(renewal.overlap).as_secs();
        let mut addresses = vec![listed.address()];
        addresses.extend(words.other_address);
        let relay = directory::Relay {
            identity: self.id,
            fingerprint: [0; 32],
            x25519: set.x25519_public,
            kems: [None; 3],
            published: at,
            keys_until: set.made.max(at).saturating_add(lasts),
            bandwidth: words.bandwidth,
            handshakes,
            addresses,
            exit: listed.exit().summary(),
            name: listed.name().unwrap_or_default().to_owned(),
        };
        let drafted = directory::Drafted { relay, family: words.family.clone(), kems };
        let key = directory::SecretKey::of_relay(&self.identity).map_err(Error::Descriptor)?;
        drafted.sign(&key, (&set.secrets.x25519, set.x25519_public)).map_err(Error::Descriptor)
    }

    /// Those that are listed.
    #[cfg(test)]
    pub(crate) fn secrets(&self) -> &OnionSecrets {
        &self.onion[0].secrets
    }

    /// All onion keys that are accepted.
    pub(crate) fn onion_keys(&self, handshakes: &[HandshakeType]) -> Result<OnionKeys, Error> {
        let sets: Vec<_> = self.onion.iter().map(|set| &set.secrets).collect();
        OnionSecrets::offer(&sets, &self.id, self.fingerprint(), handshakes)
    }

    /// The identity with fresh keys below it, and fresh certificates of the RSA identity if there is one, for links made from now on.
    pub(crate) fn link_identity(&self, now: u64) -> Result<RelayIdentity, Error> {
        let identity = RelayIdentity::from_seeds(&self.identity, &*random()?, &*random()?, now);
        #[cfg(feature = "tor")]
        if let Some(key) = &self.rsa {
            let shown = key.for_links(&self.id, now).map_err(|error| Error::Internal(error.to_string()))?;
            return Ok(identity.with_rsa(shown));
        }
        Ok(identity)
    }

    /// Whether onion keys have to be made, dated anew or dropped. Ask only by a clock that is believed.
    pub(crate) fn is_due(&self, at: Moment, renewal: &Renewal) -> bool {
        self.needs_new(at, renewal) || self.is_from_future(at) || self.still_accepted(at, renewal) < self.onion.len()
    }

    /// These keys with what is [due](Self::is_due) done, in the file too. Whether there are new ones stands beside them.
    pub(crate) fn renewed(&self, at: Moment, renewal: &Renewal) -> Result<(Self, bool), Error> {
        let mut keys = self.clone();
        keys.onion.truncate(self.still_accepted(at, renewal));
        if self.is_from_future(at) {
            // Either they were made under a wrong clock, or the clock is wrong now. They begin anew, and so does the overlap of older ones:
            // no set is dropped for what a wrong clock has said.
            keys.onion[0].made = at.now;
            for older in &mut keys.onion[1..] {
                (older.made, older.replaced) = (older.made.min(at.now), Some(at.steady));
            }
        }
        let is_new = self.needs_new(at, renewal);
        if is_new {
            keys.onion[0].replaced = Some(at.steady);
            keys.onion.insert(0, OnionSet::new(at.now, OnionSecrets::generate()?)?);
        }
        if let Some(path) = &self.path {
            files::replace(path, keys.text(), 0o600)?;
        }
        Ok((keys, is_new))
    }

    fn needs_new(&self, at: Moment, renewal: &Renewal) -> bool {
        let is_old = self.onion[0].made.saturating_add(renewal.onion_keys.as_secs()) <= at.now;
        is_old && self.still_accepted(at, renewal) < MOST_SETS
    }

    fn is_from_future(&self, at: Moment) -> bool {
        self.onion[0].made > at.now.saturating_add(SKEW)
    }

    /// How many sets are still accepted: each for the overlap from when the next was made. If that was in this process, the overlap must
    /// really have passed, and not only by the time of day.
    fn still_accepted(&self, at: Moment, renewal: &Renewal) -> usize {
        let overlap = renewal.overlap.as_secs();
        let is_over = |pair: &[OnionSet]| {
            let passed = pair[1].replaced.is_none_or(|since| since.saturating_add(overlap) <= at.steady);
            passed && pair[0].made.saturating_add(overlap) <= at.now
        };
        1 + self.onion.windows(2).take_while(|pair| !is_over(pair)).count()
    }
}

/// The rest of the next line, which has that name.
fn next<'a>(lines: &mut Peekable<Lines<'a>>, name: &str) -> Result<&'a str, String> {
    let line = lines.next().and_then(|line| line.strip_prefix(name)).and_then(|line| line.strip_prefix(' '));
    line.ok_or_else(|| format!("expected a line that begins with `{name}`; restore the file from a backup"))
}

fn key(name: &str, text: &str) -> Result<Zeroizing<[u8; 32]>, String> {
    let bytes = decode(text).and_then(|bytes| bytes.as_slice().try_into().map(Zeroizing::new).ok());
    bytes.ok_or_else(|| broken(name))
}

fn broken(name: &str) -> String {
    format!("the line `{name}` is damaged; restore the file from a backup")
}

impl std::fmt::Debug for RelayKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RelayKeys({})", base16ct::lower::encode_string(&self.id))
    }
}

/// The bytes behind hexadecimal digits. Wiped on drop, since most are secret keys.
fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    base16ct::mixed::decode_vec(text).ok().map(Zeroizing::new)
}

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(bytes.as_mut_slice())
        .map_err(|error| Error::Internal(format!("no randomness from the operating system: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keys_last_in_a_file_that_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let made = RelayKeys::load_or_create(&path).unwrap();
        let read = RelayKeys::load_or_create(&path).unwrap();
        let address = "127.0.0.1:1".parse().unwrap();
        let line = |keys: &RelayKeys| keys.listed(None, address, &HandshakeType::ALL).unwrap().to_line();
        assert_eq!(line(&made), line(&read));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let error = RelayKeys::load_or_create(&path).unwrap_err().to_string();
        assert!(error.contains("chmod 600") && error.contains("640"), "{error}");
    }

    #[test]
    fn a_key_file_that_is_none_is_an_error_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let keys = RelayKeys::generate().unwrap();
        files::create(&path, &keys.text(), 0o600).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        let cut = &good[..good.len() / 2];
        let flipped = good.replace("\nx25519 ", "\nx25519 zz");
        for wrong in [
            "",
            "something else\n",
            "candor relay keys 1\n",
            cut,
            &flipped,
            &format!("{good}more\n"),
            &good.replace("ml-kem-768", "ml-kem-769"),
        ] {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(RelayKeys::load_or_create(&path), Err(Error::KeyFile { .. })), "{wrong:.40}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
        }
        assert!(matches!(RelayKeys::load_or_create(dir.path()), Err(Error::KeyFile { .. })), "a directory");
    }

    const DAY: u64 = 24 * 3600;

    /// A clock that goes on evenly, and has since it began.
    fn even(now: u64) -> Moment {
        Moment { now, steady: now }
    }

    #[test]
    fn onion_keys_are_renewed_in_the_file_and_accepted_for_the_overlap() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let renewal = Renewal::default();
        let first = RelayKeys::load_or_create(&path).unwrap();
        let start = first.onion[0].made;
        assert!(!first.is_due(even(start + 28 * DAY - 1), &renewal));
        assert!(first.is_due(even(start + 28 * DAY), &renewal));
        let (second, is_new) = first.renewed(even(start + 28 * DAY), &renewal).unwrap();
        assert!(is_new && second.onion.len() == 2 && second.id() == first.id());
        assert_eq!(second.onion[1].x25519_public, first.onion[0].x25519_public);
        assert_ne!(second.onion[0].x25519_public, first.onion[0].x25519_public);

        let read = RelayKeys::load_or_create(&path).unwrap();
        assert_eq!(*read.text(), *second.text(), "a restart goes on with the same");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        for second in [second, read] {
            assert!(!second.is_due(even(start + 35 * DAY - 1), &renewal));
            let (third, is_new) = second.renewed(even(start + 35 * DAY), &renewal).unwrap();
            assert!(!is_new && third.onion.len() == 1, "the old one is dropped, the new one stays");
            assert_eq!(third.onion[0].x25519_public, second.onion[0].x25519_public);
            assert_eq!(*RelayKeys::load_or_create(&path).unwrap().text(), *third.text());
        }
    }

    /// By the time of day, everything is over; by the steady clock, hardly anything has passed.
    #[test]
    fn what_a_wrong_clock_says_drops_no_keys() {
        let renewal = Renewal::default();
        let first = RelayKeys::generate().unwrap();
        let start = first.onion[0].made;
        let publics = |keys: &RelayKeys| keys.onion.iter().map(|set| set.x25519_public).collect::<Vec<_>>();
        let known = publics(&first)[0];
        // Back and forth by 31 days, a year and 56 years, each time long enough to be believed.
        let mut keys = first;
        for (hours, now) in (1..).zip([
            start + 31 * DAY,
            start,
            start + 365 * DAY,
            start,
            DAY,
            start + 1,
            DAY,
            start + 2 * 365 * DAY,
            start + 3 * 365 * DAY,
            start + 4 * 365 * DAY,
        ]) {
            let at = Moment { now, steady: hours * 3600 };
            if keys.is_due(at, &renewal) {
                keys = keys.renewed(at, &renewal).unwrap().0;
            }
            assert!(publics(&keys).contains(&known) && keys.onion.len() <= MOST_SETS, "at {at:?}");
            assert!(!keys.is_due(at, &renewal), "at {at:?}");
        }
        assert_eq!(keys.onion.len(), MOST_SETS);
        // Once the overlap has really passed, only those go on that are young.
        let at = Moment { now: start + 5 * 365 * DAY, steady: 8 * DAY };
        assert!(keys.is_due(at, &renewal));
        let keys = keys.renewed(at, &renewal).unwrap().0;
        assert!(!publics(&keys).contains(&known));
    }

    #[test]
    fn keys_from_the_future_begin_anew_and_older_ones_with_them() {
        let renewal = Renewal::default();
        let first = RelayKeys::generate().unwrap();
        let start = first.onion[0].made;
        assert!(!first.is_due(even(start - DAY), &renewal), "clocks differ a little");
        let (second, _) = first.renewed(even(start + 28 * DAY), &renewal).unwrap();
        let read = RelayKeys::parse(&second.text()).unwrap();
        // A board without a battery starts in 1970.
        let (dated, is_new) = read.renewed(Moment { now: 3600, steady: 3600 }, &renewal).unwrap();
        assert!(!is_new && dated.onion.len() == 2 && dated.onion[0].made == 3600);
        // The clock is right again: there is a new set, and both old ones are accepted for the overlap.
        let right = Moment { now: start + 29 * DAY, steady: 7200 };
        let (third, is_new) = dated.renewed(right, &renewal).unwrap();
        assert!(is_new && third.onion.len() == 3);
        let later = Moment { now: start + 37 * DAY, steady: 7200 + 8 * DAY };
        assert_eq!(third.renewed(later, &renewal).unwrap().0.onion.len(), 1);
    }

    #[test]
    fn keys_that_can_not_be_saved_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let keys = RelayKeys::load_or_create(&path).unwrap();
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::create_dir(dir.path().join("keys.partial")).unwrap();
        assert!(keys.renewed(even(keys.onion[0].made + 28 * DAY), &Renewal::default()).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }
}
