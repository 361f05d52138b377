//! Which authorities are trusted.

use crate::Error;
use crate::items::hexadecimal;

/// The most authorities that are named, sign, or have certificates; Tor has ten.
pub const MOST_AUTHORITIES: usize = 32;

/// An authority's identity, `v3ident`: SHA-1 of its RSA identity key.
pub type Identity = [u8; 20];

/// The authorities that are trusted, more than half of which must have signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorities(Vec<Identity>);

impl Authorities {
    /// These.
    ///
    /// # Errors
    /// [`Error::Authorities`] if there is none, one stands twice, or there are more than [`MOST_AUTHORITIES`].
    pub fn new(mut known: Vec<Identity>) -> Result<Self, Error> {
        known.sort_unstable();
        let wrong = |why: String| Err(Error::Authorities(why));
        match known.len() {
            0 => return wrong("expected at least one; found none".to_owned()),
            count if count > MOST_AUTHORITIES => {
                return wrong(format!("expected at most {MOST_AUTHORITIES}; found {count}"));
            }
            _ => {}
        }
        match known.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => wrong(format!("{} stands twice", base16ct::upper::encode_string(&pair[0]))),
            None => Ok(Self(known)),
        }
    }

    /// Reads identities, each 40 hexadecimal digits.
    ///
    /// # Errors
    /// As for [`Self::new`]; [`Error::Authorities`] with the text that is none.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, Error> {
        let read = |text: &T| {
            let text = text.as_ref();
            hexadecimal(text).ok_or_else(|| {
                Error::Authorities(format!("expected 40 hexadecimal digits; found {}", crate::error::shown(text)))
            })
        };
        Self::new(texts.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// Whether it is one of them.
    pub fn contains(&self, identity: &Identity) -> bool {
        self.0.contains(identity)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// How many must have signed: the smallest majority.
    pub fn threshold(&self) -> usize {
        self.0.len() / 2 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_of_those_that_are_named_must_sign() {
        let of = |count: u8| Authorities::new((0..count).map(|number| [number; 20]).collect()).unwrap().threshold();
        assert_eq!([1, 2, 3, 4, 9, 32].map(of), [1, 2, 2, 3, 5, 17]);
        let why = |known: Vec<Identity>| Authorities::new(known).unwrap_err().to_string();
        assert_eq!(why(Vec::new()), "authorities: expected at least one; found none");
        assert_eq!(why((0..33).map(|number| [number; 20]).collect()), "authorities: expected at most 32; found 33");
        assert!(why(vec![[1; 20], [2; 20], [1; 20]]).ends_with("stands twice"));
        let digits = "F7FB9FD1811AE912462DC8982B2181338516466F";
        assert!(Authorities::parse(&[digits, &digits.to_lowercase().replace('f', "a")]).is_ok());
        let wrong = Authorities::parse(&["F7FB"]).unwrap_err().to_string();
        assert_eq!(wrong, "authorities: expected 40 hexadecimal digits; found `F7FB`");
    }
}
