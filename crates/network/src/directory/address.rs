//! Where directories are, and which authorities are trusted.

use crate::Error;
use crate::http::Url;
use candor_onion::directory::{Authorities, Fingerprint};
use std::fmt;
use std::str::FromStr;

/// A directory: `http://host:port#FINGERPRINT`, where the fingerprint, 64 hexadecimal digits, is the authority's identity. Without it the
/// directory is a mirror: it is asked, and what it says needs the signatures of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryAddress {
    url: Url,
    fingerprint: Option<Fingerprint>,
}

impl DirectoryAddress {
    /// An authority's.
    pub fn new(url: Url, fingerprint: Fingerprint) -> Self {
        Self { url, fingerprint: Some(fingerprint) }
    }

    /// Where it is.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whose it is.
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }
}

impl FromStr for DirectoryAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: String| Error::DirectoryAddress { text: text.to_owned(), why };
        let (url, fingerprint) = match text.split_once('#') {
            None => (text, None),
            Some((url, digits)) => {
                let decoded = base16ct::mixed::decode_vec(digits).ok().and_then(|bytes| bytes.try_into().ok());
                let fingerprint = decoded.ok_or_else(|| {
                    wrong("expected 64 hexadecimal digits after `#`, the authority's fingerprint".to_owned())
                })?;
                (url, Some(fingerprint))
            }
        };
        Ok(Self { url: Url::parse(url).map_err(|error| wrong(error.to_string()))?, fingerprint })
    }
}

impl fmt::Display for DirectoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.url)?;
        match &self.fingerprint {
            Some(fingerprint) => write!(f, "#{}", base16ct::lower::encode_string(fingerprint)),
            None => Ok(()),
        }
    }
}

/// Directories to ask, and the authorities among them, so many of which must have signed.
#[derive(Clone, Debug)]
pub struct Directories {
    pub(super) addresses: Vec<DirectoryAddress>,
    pub(super) authorities: Authorities,
}

impl Directories {
    /// These directories. `threshold` is how many of those with a fingerprint must have signed a consensus; defaults to the smallest majority.
    ///
    /// # Errors
    /// [`Error::DirectoryAddress`] if none has a fingerprint, or the threshold is not a majority.
    pub fn new(addresses: Vec<DirectoryAddress>, threshold: Option<usize>) -> Result<Self, Error> {
        let text = addresses.first().map(ToString::to_string).unwrap_or_default();
        let mut known: Vec<_> = addresses.iter().filter_map(|address| address.fingerprint).collect();
        known.sort_unstable();
        known.dedup();
        if known.is_empty() {
            let why = "expected the fingerprint of an authority behind it: http://host:port#FINGERPRINT; `candor onion directory` prints it";
            return Err(Error::DirectoryAddress { text, why: why.to_owned() });
        }
        let threshold = threshold.unwrap_or(Authorities::majority(known.len()));
        let authorities = Authorities::new(known, threshold)
            .map_err(|error| Error::DirectoryAddress { text, why: error.to_string() })?;
        Ok(Self { addresses, authorities })
    }

    /// Reads directories, each as [`DirectoryAddress`] says.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn parse<T: AsRef<str>>(texts: &[T], threshold: Option<usize>) -> Result<Self, Error> {
        let addresses = texts.iter().map(|text| text.as_ref().parse()).collect::<Result<_, _>>()?;
        Self::new(addresses, threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_prints_as_it_reads_and_mistakes_say_what_was_expected() {
        let digits = "ab".repeat(32);
        for text in [format!("http://192.0.2.1:7000/#{digits}"), "http://directory.example:80/".to_owned()] {
            assert_eq!(text.parse::<DirectoryAddress>().unwrap().to_string(), text);
        }
        for wrong in ["http://x#abc", "http://x#", "https://x", "x", &format!("http://x#{digits}00")] {
            assert!(matches!(wrong.parse::<DirectoryAddress>(), Err(Error::DirectoryAddress { .. })), "{wrong}");
        }
    }

    #[test]
    fn without_a_fingerprint_nobody_is_trusted() {
        let authority = |digit: &str| format!("http://x#{}", digit.repeat(64));
        let texts = [authority("1"), authority("2"), authority("3"), "http://mirror".to_owned()];
        assert_eq!(Directories::parse(&texts, None).unwrap().authorities.threshold(), 2);
        assert_eq!(Directories::parse(&texts, Some(3)).unwrap().authorities.threshold(), 3);
        for threshold in [1, 4] {
            assert!(Directories::parse(&texts, Some(threshold)).is_err(), "{threshold} of 3");
        }
        let error = Directories::parse(&texts[3..], None).unwrap_err().to_string();
        assert!(error.contains("fingerprint"), "{error}");
    }
}
