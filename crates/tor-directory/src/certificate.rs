//! Certificates of the authorities' signing keys (dir-spec, "Creating key certificates").

use crate::Error;
use crate::authorities::{Identity, MOST_AUTHORITIES};
use crate::items::{Item, Items, Once, hexadecimal, pieces};
use crate::rsa_key::RsaKey;
use crate::time::{self, SKEW};
use digest::Digest;
use sha1::Sha1;

const DOCUMENT: &str = "authority certificate";
/// The longest certificate. Those of C tor have 2,300 bytes.
pub const MOST_CERTIFICATE: usize = 1 << 14;
const FIRST: &str = "dir-key-certificate-version";
const LAST: &str = "dir-key-certification";

/// An authority's signing key, certified by its identity. Its signatures have been verified; whether it is anyone's who is trusted, and holds now, is asked
/// where it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityCertificate {
    pub(crate) identity: Identity,
    pub(crate) published: u64,
    pub(crate) expires: u64,
    pub(crate) signing_key: RsaKey,
}

impl AuthorityCertificate {
    /// The certificates of a text, one behind the other, each still unread.
    ///
    /// # Errors
    /// [`Error::Syntax`] if it does not begin with one; [`Error::TooMany`].
    pub fn split(text: &str) -> Result<Vec<&str>, Error> {
        let found = pieces(DOCUMENT, text, FIRST)?;
        match found.len() > MOST_AUTHORITIES {
            true => Err(Error::TooMany { document: DOCUMENT, what: "certificates", most: MOST_AUTHORITIES }),
            false => Ok(found),
        }
    }

    /// Reads one, and verifies its signatures.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Syntax`], [`Error::Missing`], [`Error::Twice`], [`Error::Signature`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut open: Option<Draft> = None;
        let mut read = None;
        for item in Items::new(DOCUMENT, text, MOST_CERTIFICATE)? {
            let item = item?;
            match (open.take(), item.keyword) {
                _ if read.is_some() => return Err(item.wrong("one certificate")),
                (None, FIRST) => open = Some(Draft::begin(&item)?),
                (None, _) => return Err(item.wrong("dir-key-certificate-version 3")),
                (Some(draft), LAST) => read = Some(draft.end(&item, text)?),
                (Some(draft), _) => open = Some(draft.with(&item)?),
            }
        }
        read.ok_or(Error::Missing { document: DOCUMENT, keyword: LAST })
    }

    /// The authority that it is of.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// SHA-1 of the signing key, by which a consensus names it.
    pub fn signing_key_digest(&self) -> &[u8; 20] {
        self.signing_key.fingerprint()
    }

    /// Whether it holds at that time. It may have been made up to an hour from then, since clocks differ.
    pub(crate) fn holds_at(&self, now: u64) -> bool {
        (self.published.saturating_sub(SKEW)..self.expires).contains(&now)
    }
}

/// Whose a certificate claims to be, whatever else is wrong with it.
pub(crate) fn claimed(text: &str) -> Option<Identity> {
    text.lines().find_map(|line| hexadecimal(line.strip_prefix("fingerprint ")?))
}

/// A certificate of which the beginning has been read.
struct Draft {
    start: usize,
    fingerprint: Once<Identity>,
    published: Once<u64>,
    expires: Once<u64>,
    identity_key: Once<RsaKey>,
    signing_key: Once<RsaKey>,
    cross: Once<Vec<u8>>,
}

impl Draft {
    fn begin(item: &Item<'_>) -> Result<Self, Error> {
        if item.arguments().next() != Some("3") {
            return Err(item.wrong("dir-key-certificate-version 3"));
        }
        Ok(Self {
            start: item.start,
            fingerprint: Once::new(DOCUMENT, "fingerprint"),
            published: Once::new(DOCUMENT, "dir-key-published"),
            expires: Once::new(DOCUMENT, "dir-key-expires"),
            identity_key: Once::new(DOCUMENT, "dir-identity-key"),
            signing_key: Once::new(DOCUMENT, "dir-signing-key"),
            cross: Once::new(DOCUMENT, "dir-key-crosscert"),
        })
    }

    fn with(mut self, item: &Item<'_>) -> Result<Self, Error> {
        match item.keyword {
            FIRST => return Err(item.wrong("one certificate")),
            "fingerprint" => {
                const EXPECTED: &str = "fingerprint with 40 hexadecimal digits";
                let [digits] = item.first(EXPECTED)?;
                self.fingerprint.set(item, hexadecimal(digits).ok_or_else(|| item.wrong(EXPECTED))?)?;
            }
            "dir-key-published" => self.published.set(item, moment(item)?)?,
            "dir-key-expires" => self.expires.set(item, moment(item)?)?,
            "dir-identity-key" => self.identity_key.set(item, key(item)?)?,
            "dir-signing-key" => self.signing_key.set(item, key(item)?)?,
            "dir-key-crosscert" => {
                // The specification wants one name and takes the other.
                let signature = item.object("ID SIGNATURE", "-----BEGIN ID SIGNATURE-----");
                let signature = signature.or_else(|error| item.object("SIGNATURE", "").map_err(|_| error))?;
                self.cross.set(item, signature.to_vec())?;
            }
            _ => {}
        }
        Ok(self)
    }

    fn end(self, item: &Item<'_>, text: &str) -> Result<AuthorityCertificate, Error> {
        let signature = item.object("SIGNATURE", "-----BEGIN SIGNATURE-----")?;
        let (identity, identity_key) = (self.fingerprint.required()?, self.identity_key.required()?);
        let (signing_key, cross) = (self.signing_key.required()?, self.cross.required()?);
        let wrong = |keyword| Error::Signature {
            document: DOCUMENT,
            identity: base16ct::upper::encode_string(&identity),
            keyword,
        };
        if *identity_key.fingerprint() != identity {
            return Err(item.wrong("a fingerprint that is SHA-1 of dir-identity-key"));
        }
        if !signing_key.has_signed(identity_key.fingerprint(), &cross) {
            return Err(wrong("dir-key-crosscert"));
        }
        let signed = Sha1::digest(&text[self.start..item.start + LAST.len() + 1]);
        if !identity_key.has_signed(&signed, signature) {
            return Err(wrong(LAST));
        }
        Ok(AuthorityCertificate {
            identity,
            published: self.published.required()?,
            expires: self.expires.required()?,
            signing_key,
        })
    }
}

fn moment(item: &Item<'_>) -> Result<u64, Error> {
    const EXPECTED: &str = "a time such as 2026-11-27 19:31:35";
    let [date, time] = item.first(EXPECTED)?;
    time::parse(date, time).ok_or_else(|| item.wrong(EXPECTED))
}

fn key(item: &Item<'_>) -> Result<RsaKey, Error> {
    let der = item.object("RSA PUBLIC KEY", "-----BEGIN RSA PUBLIC KEY-----")?;
    RsaKey::of_authority(der).ok_or_else(|| item.wrong("an RSA key of 2048 to 4096 bits with the exponent 65537"))
}
