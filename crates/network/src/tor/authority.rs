//! Where an authority of Tor's is, and which identity it has.

use crate::Error;
use crate::http::Url;
use candor_tor_directory::Identity;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// An authority: `ADDRESS/V3IDENT`, where its HTTP directory is and the identity that it signs by, such as
/// `127.0.0.1:7000/F7FB9FD1811AE912462DC8982B2181338516466F`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorAuthority {
    address: SocketAddr,
    identity: Identity,
}

impl TorAuthority {
    /// Where its HTTP directory is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its identity, `v3ident`.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The URL of a document of its directory.
    pub(super) fn url(&self, path: &str) -> Result<Url, Error> {
        Url::parse(&format!("http://{}{path}", self.address))
    }
}

impl FromStr for TorAuthority {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::DirectoryAddress { text: text.to_owned(), why: why.to_owned() };
        let (address, identity) = text.split_once('/').ok_or_else(|| wrong("expected ADDRESS:PORT/V3IDENT"))?;
        let address = address.parse().ok().filter(|address: &SocketAddr| address.port() > 0);
        let address = address.ok_or_else(|| wrong("expected an address and a port before the slash"))?;
        let bytes = base16ct::mixed::decode_vec(identity).ok().and_then(|bytes| bytes.try_into().ok());
        let identity =
            bytes.ok_or_else(|| wrong("expected 40 hexadecimal digits after the slash, the authority's v3ident"))?;
        Ok(Self { address, identity })
    }
}

impl fmt::Display for TorAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, base16ct::upper::encode_string(&self.identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_authority_prints_as_it_reads_and_mistakes_say_what_was_expected() {
        let identity = "F7FB9FD1811AE912462DC8982B2181338516466F";
        for address in ["127.0.0.1:7000", "[2001:db8::1]:80"] {
            let text = format!("{address}/{identity}");
            assert_eq!(text.parse::<TorAuthority>().unwrap().to_string(), text);
        }
        for (text, why) in [
            ("127.0.0.1:7000".to_owned(), "expected ADDRESS:PORT/V3IDENT"),
            (format!("127.0.0.1/{identity}"), "expected an address and a port"),
            (format!("host:7000/{identity}"), "expected an address and a port"),
            (format!("127.0.0.1:0/{identity}"), "expected an address and a port"),
            (format!("127.0.0.1:7000/{}", &identity[1..]), "expected 40 hexadecimal digits"),
            (format!("127.0.0.1:7000/{identity}00"), "expected 40 hexadecimal digits"),
        ] {
            let error = text.parse::<TorAuthority>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-f.:/\\[\\]]{0,60}") {
            if let Ok(authority) = text.parse::<TorAuthority>() {
                prop_assert_eq!(authority.to_string().parse(), Ok(authority));
            }
        }
    }
}
