//! Microdescriptors (dir-spec, "Computing microdescriptors").

use crate::items::{Items, Once, hexadecimal, pieces, unpadded};
use crate::{Error, Ports};
use candor_primitives::hash::Sha256;
use digest::Digest;

const DOCUMENT: &str = "microdescriptor";
/// The longest microdescriptor. Those of C tor have 400 bytes, and more if the family is large.
pub const MOST_MICRODESCRIPTOR: usize = 1 << 15;
/// The most members of a family.
const MOST_FAMILY: usize = 1000;
const FIRST: &str = "onion-key";

/// What a client needs to know of a relay, beside its entry in the consensus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Microdescriptor {
    /// SHA-256 of its text, by which the consensus names it.
    pub digest: [u8; 32],
    /// The X25519 onion key, for `ntor` and `ntor-v3`.
    pub ntor: [u8; 32],
    /// The Ed25519 identity.
    pub ed25519: [u8; 32],
    /// Ports to which the relay opens streams as an exit, at most IPv4 addresses.
    pub ports: Ports,
    /// RSA identities of the relays that it names as its family. Members that are named otherwise are left out.
    pub family: Vec<[u8; 20]>,
}

impl Microdescriptor {
    /// The microdescriptors of a text, one behind the other, each still unread.
    ///
    /// # Errors
    /// [`Error::Syntax`] if it does not begin with one.
    pub fn split(text: &str) -> Result<Vec<&str>, Error> {
        pieces(DOCUMENT, text, FIRST)
    }

    /// SHA-256 of a microdescriptor's text.
    pub fn digest(text: &str) -> [u8; 32] {
        Sha256::digest(text.as_bytes()).into()
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::TooMany`], [`Error::Syntax`], [`Error::Missing`], [`Error::Twice`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut ntor = Once::new(DOCUMENT, "ntor-onion-key");
        let mut ed25519 = Once::new(DOCUMENT, "id ed25519");
        let mut ports = Once::new(DOCUMENT, "p");
        let mut family = Vec::new();
        for (index, item) in Items::new(DOCUMENT, text, MOST_MICRODESCRIPTOR)?.enumerate() {
            let item = item?;
            match item.keyword {
                FIRST if index > 0 => return Err(item.wrong("one microdescriptor")),
                FIRST => {}
                _ if index == 0 => return Err(item.wrong(FIRST)),
                "ntor-onion-key" => {
                    const EXPECTED: &str = "ntor-onion-key with 32 bytes in Base64";
                    let [key] = item.first(EXPECTED)?;
                    // C tor once wrote the `=` as well.
                    let key = unpadded(key.trim_end_matches('=')).ok_or_else(|| item.wrong(EXPECTED))?;
                    ntor.set(&item, key)?;
                }
                "id" if item.arguments().next() == Some("ed25519") => {
                    const EXPECTED: &str = "id ed25519 with 32 bytes in Base64";
                    let [_, key] = item.first(EXPECTED)?;
                    ed25519.set(&item, unpadded(key).ok_or_else(|| item.wrong(EXPECTED))?)?;
                }
                "p" => {
                    let read = Ports::parse(item.rest);
                    ports.set(&item, read.ok_or_else(|| item.wrong("p with accept or reject and ports"))?)?;
                }
                "family" => {
                    let named = |member: &str| hexadecimal(member.strip_prefix('$')?.split(['=', '~']).next()?);
                    family.extend(item.arguments().filter_map(named).take(MOST_FAMILY + 1));
                    if family.len() > MOST_FAMILY {
                        return Err(Error::TooMany {
                            document: DOCUMENT,
                            what: "members of the family",
                            most: MOST_FAMILY,
                        });
                    }
                }
                _ => {}
            }
        }
        Ok(Self {
            digest: Self::digest(text),
            ntor: ntor.required()?,
            ed25519: ed25519.required()?,
            ports: ports.get().cloned().unwrap_or_default(),
            family,
        })
    }
}
