//! The consensus in the flavour `microdesc` (dir-spec, "Microdescriptor consensus").

mod certificates;
mod entry;
mod flags;

pub use certificates::Certificates;
pub use entry::Relay;
pub use flags::Flags;

use crate::authorities::{Authorities, Identity, MOST_AUTHORITIES};
use crate::items::{Item, Items, Once, hexadecimal};
use crate::time::SKEW;
use crate::{Error, time};
use candor_primitives::hash::Sha256;
use digest::Digest;
use entry::Draft;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const DOCUMENT: &str = "consensus";
/// The longest consensus. That of the public network has 2.5 MB.
pub const MOST_CONSENSUS: usize = 16 << 20;
/// The most relays. The public network has about 10,000.
pub const MOST_RELAYS: usize = 1 << 16;
/// The most parameters of the network; C tor knows about 100.
const MOST_PARAMETERS: usize = 1000;

/// Which relays there are, signed by a majority of the trusted authorities, and holding now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consensus {
    /// When it begins, in seconds since 1970.
    pub valid_after: u64,
    /// When there will be a newer one.
    pub fresh_until: u64,
    /// When it ends.
    pub valid_until: u64,
    /// The network's parameters.
    pub parameters: BTreeMap<String, i32>,
    /// The relays, in ascending order of their RSA identities.
    pub relays: Vec<Relay>,
    /// How many relays were left out because their entries can't be read. Authorities copy some of what a relay says of itself into its entry, so this costs no other relay its own.
    pub left_out: usize,
}

/// A consensus as it came. Nothing of it can be used before [`Unverified::verify`], and nothing is kept of its relays.
#[derive(Clone, Debug)]
pub struct Unverified<'a> {
    /// Without relays.
    consensus: Consensus,
    /// Their entries, unread.
    entries: &'a str,
    /// SHA-256 of what is signed.
    digest: [u8; 32],
    signatures: Vec<Signature>,
}

/// An authority's signature under a consensus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Whose it claims to be.
    pub identity: Identity,
    /// SHA-1 of the signing key.
    pub signing_key: [u8; 20],
    bytes: Vec<u8>,
}

impl<'a> Unverified<'a> {
    /// Reads a consensus but for its relays' entries, of which the form, the number and the order are looked at.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::TooMany`], [`Error::Syntax`], [`Error::Missing`], [`Error::Twice`].
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        let mut reader = Reader::new();
        for item in Items::new(DOCUMENT, text, MOST_CONSENSUS)? {
            reader.take(&item?)?;
        }
        reader.end(text)
    }

    /// The signatures that it has by SHA-256, verified or not: whose certificates are needed.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// The consensus, if it holds at `now`, in seconds since 1970, and more than half of `authorities` have signed it by keys that `certificates` have. It may
    /// begin up to an hour from now, since clocks differ. A relay whose entry can't be read is left out.
    ///
    /// # Errors
    /// [`Error::Time`], [`Error::UnderSigned`].
    pub fn verify(self, authorities: &Authorities, certificates: &Certificates, now: u64) -> Result<Consensus, Error> {
        let Consensus { valid_after, valid_until, .. } = self.consensus;
        if valid_after > now.saturating_add(SKEW) || valid_until <= now {
            return Err(Error::Time { valid_after, valid_until, now });
        }
        let mut good = BTreeSet::new();
        let mut why = String::new();
        for signature in self.signatures.iter().filter(|signature| authorities.contains(&signature.identity)) {
            match signature.check(&self.digest, certificates, now) {
                Ok(()) => {
                    good.insert(signature.identity);
                }
                Err(flaw) => why += &format!("; {}: {flaw}", base16ct::upper::encode_string(&signature.identity)),
            }
        }
        let (good, known, threshold) = (good.len(), authorities.count(), authorities.threshold());
        match good >= threshold {
            true => Ok(with_relays(self.consensus, self.entries)),
            false => Err(Error::UnderSigned { good, known, threshold, why }),
        }
    }
}

impl Signature {
    fn check(&self, digest: &[u8; 32], certificates: &Certificates, now: u64) -> Result<(), String> {
        let certificate = certificates.of(self, now)?;
        match certificate.signing_key.has_signed(digest, &self.bytes) {
            true => Ok(()),
            false => Err("wrong signature".to_owned()),
        }
    }
}

/// The consensus with the relays of these entries, whose form is known to be right.
fn with_relays(mut consensus: Consensus, entries: &str) -> Consensus {
    let mut open: Option<Result<Draft, Error>> = None;
    let mut end = |open: Option<Result<Draft, Error>>| match open.map(|draft| draft.and_then(Draft::end)) {
        Some(Ok(relay)) => consensus.relays.push(relay),
        Some(Err(_)) => consensus.left_out += 1,
        None => {}
    };
    for item in Items::new(DOCUMENT, entries, MOST_CONSENSUS).into_iter().flatten().flatten() {
        match (item.keyword, &mut open) {
            ("r", _) => end(open.replace(Draft::begin(&item))),
            (_, Some(Ok(draft))) => {
                if let Err(error) = draft.with(&item) {
                    open = Some(Err(error));
                }
            }
            _ => {}
        }
    }
    end(open);
    consensus
}

/// What has been read of a consensus.
struct Reader {
    part: Part,
    status: Once<()>,
    valid_after: Once<u64>,
    fresh_until: Once<u64>,
    valid_until: Once<u64>,
    parameters: Once<BTreeMap<String, i32>>,
    /// How many relays there are, and the RSA identity of the last.
    relays: usize,
    last: Option<[u8; 20]>,
    /// Where their entries begin, and end.
    entries: Option<usize>,
    footer: Option<usize>,
    /// Where the signed bytes end.
    signed: Option<usize>,
    signatures: Vec<Signature>,
}

/// The parts of the document, in their order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Start,
    Head,
    Relays,
    Footer,
    Signatures,
}

impl Reader {
    fn new() -> Self {
        Self {
            part: Part::Start,
            status: Once::new(DOCUMENT, "vote-status"),
            valid_after: Once::new(DOCUMENT, "valid-after"),
            fresh_until: Once::new(DOCUMENT, "fresh-until"),
            valid_until: Once::new(DOCUMENT, "valid-until"),
            parameters: Once::new(DOCUMENT, "params"),
            relays: 0,
            last: None,
            entries: None,
            footer: None,
            signed: None,
            signatures: Vec::new(),
        }
    }

    fn take(&mut self, item: &Item<'_>) -> Result<(), Error> {
        match (self.part, item.keyword) {
            (Part::Start, _) => {
                const EXPECTED: &str = "network-status-version 3 microdesc";
                if item.keyword != "network-status-version" || item.first(EXPECTED)? != ["3", "microdesc"] {
                    return Err(item.wrong(EXPECTED));
                }
                self.part = Part::Head;
                Ok(())
            }
            (Part::Head | Part::Relays, "r") => {
                self.part = Part::Relays;
                self.entries.get_or_insert(item.start);
                self.relay(item)
            }
            (Part::Head | Part::Relays, "directory-footer") => {
                self.part = Part::Footer;
                self.footer = Some(item.start);
                Ok(())
            }
            (Part::Footer | Part::Signatures, "directory-signature") => {
                self.part = Part::Signatures;
                self.signature(item)
            }
            (Part::Signatures, _) => Err(item.wrong("directory-signature, or the end")),
            (_, "directory-signature") => Err(item.wrong("directory-footer before the signatures")),
            (_, "network-status-version") => Err(item.wrong("one consensus")),
            (Part::Head, _) => self.head(item),
            (Part::Footer, "r") => Err(item.wrong("relays before directory-footer")),
            (Part::Relays | Part::Footer, _) => Ok(()),
        }
    }

    fn head(&mut self, item: &Item<'_>) -> Result<(), Error> {
        let moment = || {
            const EXPECTED: &str = "a time such as 2026-11-27 19:31:35";
            let [date, time] = item.first(EXPECTED)?;
            time::parse(date, time).ok_or_else(|| item.wrong(EXPECTED))
        };
        match item.keyword {
            "vote-status" if item.arguments().next() == Some("consensus") => self.status.set(item, ()),
            "vote-status" => Err(item.wrong("vote-status consensus")),
            "valid-after" => self.valid_after.set(item, moment()?),
            "fresh-until" => self.fresh_until.set(item, moment()?),
            "valid-until" => self.valid_until.set(item, moment()?),
            "params" => self.parameters.set(item, parameters(item)?),
            _ => Ok(()),
        }
    }

    fn relay(&mut self, item: &Item<'_>) -> Result<(), Error> {
        let identity = entry::identity(item)?;
        if self.relays == MOST_RELAYS {
            return Err(Error::TooMany { document: DOCUMENT, what: "relays", most: MOST_RELAYS });
        }
        if self.last.is_some_and(|last| last >= identity) {
            const EXPECTED: &str = "relays in ascending order of their RSA identities, each once";
            return Err(Error::syntax(DOCUMENT, item.line, EXPECTED, item.arguments().next().unwrap_or_default()));
        }
        self.relays += 1;
        self.last = Some(identity);
        Ok(())
    }

    fn signature(&mut self, item: &Item<'_>) -> Result<(), Error> {
        const EXPECTED: &str = "directory-signature with an algorithm and two digests of 40 hexadecimal digits";
        // The space behind the keyword is signed, too.
        self.signed.get_or_insert(item.start + item.keyword.len() + 1);
        let bytes = item.object("SIGNATURE", "-----BEGIN SIGNATURE-----")?;
        let arguments: Vec<_> = item.arguments().take(4).collect();
        let (identity, signing_key) = match *arguments {
            [_, identity, key, ..] => (identity, key),
            _ => return Err(item.wrong(EXPECTED)),
        };
        // Without an algorithm it is SHA-1, which is for another flavour; those by algorithms that we don't know are others' matter.
        if arguments[0] != "sha256" {
            return Ok(());
        }
        let digits = |text| hexadecimal(text).ok_or_else(|| item.wrong(EXPECTED));
        let signature =
            Signature { identity: digits(identity)?, signing_key: digits(signing_key)?, bytes: bytes.to_vec() };
        if self.signatures.len() == MOST_AUTHORITIES {
            return Err(Error::TooMany { document: DOCUMENT, what: "signatures", most: MOST_AUTHORITIES });
        }
        self.signatures.push(signature);
        Ok(())
    }

    fn end(self, text: &str) -> Result<Unverified<'_>, Error> {
        if self.part == Part::Start {
            return Err(Error::Missing { document: DOCUMENT, keyword: "network-status-version" });
        }
        let signed = self.signed.ok_or(Error::Missing { document: DOCUMENT, keyword: "directory-signature" })?;
        self.status.required()?;
        let consensus = Consensus {
            valid_after: self.valid_after.required()?,
            fresh_until: self.fresh_until.required()?,
            valid_until: self.valid_until.required()?,
            parameters: self.parameters.get().cloned().unwrap_or_default(),
            relays: Vec::new(),
            left_out: 0,
        };
        // A consensus of no relays has no entries, and the signatures come behind a footer.
        let entries = self.entries.zip(self.footer).map_or("", |(start, end)| &text[start..end]);
        Ok(Unverified {
            consensus,
            entries,
            digest: Sha256::digest(&text.as_bytes()[..signed]).into(),
            signatures: self.signatures,
        })
    }
}

fn parameters(item: &Item<'_>) -> Result<BTreeMap<String, i32>, Error> {
    const EXPECTED: &str = "params with entries such as name=1";
    let mut found = BTreeMap::new();
    for entry in item.arguments() {
        let (name, value) = entry.split_once('=').ok_or_else(|| item.wrong(EXPECTED))?;
        let value = value.parse().map_err(|_| item.wrong(EXPECTED))?;
        if found.len() == MOST_PARAMETERS {
            return Err(Error::TooMany { document: DOCUMENT, what: "parameters", most: MOST_PARAMETERS });
        }
        found.insert(name.to_owned(), value);
    }
    Ok(found)
}
