//! Schemes without their salts: what the accounts of an import have in common, and what a name without an account is given.

use crate::scheme::{Algorithm, OldScheme, SchemeError, number};
use std::fmt;
use std::str::FromStr;

/// What salts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SaltKind {
    /// Random bytes.
    Bytes,
    /// Characters of an alphabet, each as likely as any other.
    Text(&'static Alphabet),
    /// A random UUID as text (RFC 9562, version 4), in lower case.
    Uuid,
}

/// Characters that some systems make salts of.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Alphabet {
    name: &'static str,
    characters: &'static [u8],
}

/// The narrowest first. A salt counts to the first that has all its characters: random salts that happen to look narrower are as frequent among made-up ones.
static ALPHABETS: [Alphabet; 10] = [
    Alphabet { name: "digits", characters: b"0123456789" },
    Alphabet { name: "hexadecimal", characters: b"0123456789abcdef" },
    Alphabet { name: "hexadecimal-upper", characters: b"0123456789ABCDEF" },
    Alphabet { name: "alphanumeric-lower", characters: b"abcdefghijklmnopqrstuvwxyz0123456789" },
    Alphabet { name: "alphanumeric-upper", characters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" },
    // As Django makes them.
    Alphabet { name: "alphanumeric", characters: b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" },
    Alphabet { name: "base64", characters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" },
    Alphabet { name: "base64url", characters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" },
    Alphabet { name: "crypt", characters: b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" },
    Alphabet {
        name: "printable",
        characters:
            b" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
    },
];

/// Where a UUID has its dashes, its version, and two bits of its variant.
const DASHES: [usize; 4] = [8, 13, 18, 23];
const VERSION: usize = 14;
const VARIANT: usize = 19;
const UUID: usize = 36;

impl SaltKind {
    fn of(salt: &[u8]) -> Self {
        let has = |alphabet: &&Alphabet| salt.iter().all(|byte| alphabet.characters.contains(byte));
        match ALPHABETS.iter().find(has) {
            _ if salt.is_empty() => Self::Bytes,
            _ if is_uuid(salt) => Self::Uuid,
            Some(alphabet) => Self::Text(alphabet),
            None => Self::Bytes,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Text(alphabet) => alphabet.name,
            Self::Uuid => "uuid",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let text = || ALPHABETS.iter().find(|alphabet| alphabet.name == name).map(Self::Text);
        [Self::Bytes, Self::Uuid].into_iter().find(|kind| kind.name() == name).or_else(text)
    }

    /// How many bytes may stand at this place, each as likely as any other.
    fn choices(self, place: usize) -> usize {
        match self {
            Self::Bytes => 256,
            Self::Text(alphabet) => alphabet.characters.len(),
            Self::Uuid if place == VERSION || DASHES.contains(&place) => 1,
            Self::Uuid if place == VARIANT => 4,
            Self::Uuid => 16,
        }
    }

    /// The byte at this place of a salt that is made of random bytes.
    fn draw(self, place: usize, random: &mut impl FnMut() -> u8) -> u8 {
        match self {
            Self::Bytes => random(),
            Self::Text(alphabet) => choose(alphabet.characters, random),
            Self::Uuid if DASHES.contains(&place) => b'-',
            Self::Uuid if place == VERSION => b'4',
            Self::Uuid if place == VARIANT => choose(b"89ab", random),
            Self::Uuid => choose(b"0123456789abcdef", random),
        }
    }
}

/// One of these; each is as likely as any other.
fn choose(characters: &[u8], random: &mut impl FnMut() -> u8) -> u8 {
    loop {
        let drawn = usize::from(random());
        // The few beyond a multiple are drawn again.
        if drawn < 256 - 256 % characters.len() {
            break characters[drawn % characters.len()];
        }
    }
}

fn is_uuid(salt: &[u8]) -> bool {
    let fits = |(place, byte): (usize, &u8)| match place {
        VERSION => *byte == b'4',
        VARIANT => b"89ab".contains(byte),
        _ if DASHES.contains(&place) => *byte == b'-',
        _ => b"0123456789abcdef".contains(byte),
    };
    salt.len() == UUID && salt.iter().enumerate().all(fits)
}

/// What salts of a scheme look like. Written as `kind,length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SaltShape {
    kind: SaltKind,
    length: usize,
}

impl SaltShape {
    pub(crate) fn of(salt: &[u8]) -> Self {
        Self { kind: SaltKind::of(salt), length: salt.len() }
    }

    /// How many bytes may stand at this place, each as likely as any other.
    pub(crate) fn choices(self, place: usize) -> usize {
        self.kind.choices(place)
    }
}

impl fmt::Display for SaltShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.kind.name(), self.length)
    }
}

/// A scheme without its salt. Written as `$name$cost$kind of salt,length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    algorithm: Algorithm,
    salt: SaltShape,
}

impl Template {
    /// The template of a scheme.
    #[must_use]
    pub fn of(scheme: &OldScheme) -> Self {
        Self { algorithm: scheme.algorithm(), salt: SaltShape::of(scheme.salt()) }
    }

    /// Name and cost, for reports.
    #[must_use]
    pub fn scheme_and_cost(&self) -> String {
        self.algorithm.words().replacen('$', " ", 1)
    }

    /// A scheme with a salt made of `random` bytes, which it takes as many of as it needs.
    ///
    /// # Errors
    /// [`SchemeError`] never, for a template that was read or made of a hash.
    pub fn scheme(&self, mut random: impl FnMut() -> u8) -> Result<OldScheme, SchemeError> {
        let SaltShape { kind, length } = self.salt;
        let salt = (0..length).map(|place| kind.draw(place, &mut random));
        OldScheme::new(self.algorithm, salt.collect())
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}${}", self.algorithm.words(), self.salt)
    }
}

impl FromStr for Template {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let parts: Vec<&str> = text.strip_prefix('$').ok_or(SchemeError::Format)?.split('$').collect();
        let [name, cost, salt] = parts[..] else { return Err(SchemeError::Format) };
        let (kind, length) = salt.split_once(',').ok_or(SchemeError::Format)?;
        let kind = SaltKind::from_name(kind).ok_or(SchemeError::Format)?;
        let length = number(length).filter(|length| *length <= crate::limits::SALT).ok_or(SchemeError::Salt)?;
        if kind == SaltKind::Uuid && length != UUID {
            return Err(SchemeError::Salt);
        }
        let template = Self { algorithm: Algorithm::from_words(name, cost)?, salt: SaltShape { kind, length } };
        // Such salts must exist.
        template.scheme(|| 0)?;
        Ok(template)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(salt: &[u8]) -> Template {
        let algorithm = Algorithm::from_words("pbkdf2-sha256", "i=1000,l=32").unwrap();
        Template::of(&OldScheme::new(algorithm, salt.to_vec()).unwrap())
    }

    #[test]
    fn a_made_up_salt_has_the_alphabet_of_the_one_that_was_stored() {
        let stored: [(&[u8], &str); 13] = [
            (b"4929018237465501", "digits,16"),
            (b"9f86d081884c7d65", "hexadecimal,16"),
            (b"9F86D081884C7D65", "hexadecimal-upper,16"),
            (b"q8zk31m0xv7pw2ty", "alphanumeric-lower,16"),
            (b"Q8ZK31M0XV7PW2TY", "alphanumeric-upper,16"),
            (b"UiffmE77AoSXiym7DQvFsc", "alphanumeric,22"),
            (b"UiffmE77+oSXiym7/QvFsc", "base64,22"),
            (b"UiffmE77-oSXiym7_QvFsc", "base64url,22"),
            (b"UiffmE77.oSXiym7/QvFsc", "crypt,22"),
            (b"a user@example.org", "printable,18"),
            (b"3b241101-e2bb-4255-8caf-4136c566a962", "uuid,36"),
            (b"\x00\xffabcdefgh", "bytes,10"),
            (b"", "bytes,0"),
        ];
        for (salt, kind) in stored {
            let template = template(salt);
            assert_eq!(template.to_string(), format!("$pbkdf2-sha256$i=1000,l=32${kind}"));
            let mut drawn = 0_u64;
            let mut random = || {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (drawn >> 56) as u8
            };
            let mut seen: std::collections::BTreeSet<u8> = std::collections::BTreeSet::new();
            for _ in 0..1000 {
                let made_up = template.scheme(&mut random).unwrap();
                let again = Template::of(&made_up);
                let narrower = ALPHABETS.iter().position(|alphabet| alphabet.name == again.salt.kind.name());
                let own = ALPHABETS.iter().position(|alphabet| alphabet.name == template.salt.kind.name());
                assert!(again == template || own.is_none() || narrower < own, "{kind}: {made_up}");
                seen.extend(made_up.salt());
            }
            if let SaltKind::Text(alphabet) = template.salt.kind {
                assert_eq!(seen.len(), alphabet.characters.len(), "{kind}: every character");
            }
        }
    }

    #[test]
    fn what_only_resembles_a_uuid_is_none() {
        for (salt, kind) in [
            ("3b241101-e2bb-4255-8caf-4136c566a962", "uuid"),
            ("3b241101-e2bb-1255-8caf-4136c566a962", "base64url"),
            ("3b241101-e2bb-4255-7caf-4136c566a962", "base64url"),
            ("3b241101-e2bb-42550-8caf-4136c566a96", "base64url"),
            ("3b241101-e2bb-4255-8caf-4136c566a96", "base64url"),
        ] {
            assert_eq!(template(salt.as_bytes()).salt.kind.name(), kind, "{salt}");
        }
        assert!("$pbkdf2-sha256$i=1000,l=32$uuid,36".parse::<Template>().is_ok());
        assert!("$pbkdf2-sha256$i=1000,l=32$uuid,35".parse::<Template>().is_err());
        assert!("$pbkdf2-sha256$i=1000,l=32$letters,16".parse::<Template>().is_err());
    }
}
