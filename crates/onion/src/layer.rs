//! Relay cryptography: the layers of the onion.
//!
//! A client shares one layer with each hop of its circuit. Outbound, it wraps a cell for the addressee and then for
//! every hop before it; each hop removes its own layer. Inbound, each hop adds one. Only the hop that a cell is for can
//! tell so.
//!
//! | layer | cell | a relay sees that a cell is its own by | a changed cell |
//! |---|---|---|---|
//! | [`Crypto::Tor1`] (tor-spec, "Routing relay cells") | 11 bytes of header | 2 zero bytes and 4 of SHA-1 | changes the same bits further on: an edge can tag it |
//! | [`Crypto::Cgo`] (prop 359) | 16-byte tag | the tag, which is the last cell's | is noise, as is every later cell of its direction |
//!
//! [`RelayLayer`] is a relay's end of a layer, [`ClientLayer`] the client's, and [`Onion`] all layers of a client.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use candor_onion::cell::{Command, PAYLOAD};
//! use candor_onion::handshake::{Client, Handshake, NtorV3Default, Request};
//! use candor_onion::layer::{ClientLayer, Crypto, RelayLayer};
//! # fn main() -> Result<(), candor_onion::Error> {
//! # let handshake = NtorV3Default::default();
//! # let relay = handshake.generate_relay([1; 32])?;
//! # let (waiting, onionskin) = handshake.start(handshake.public(&relay), b"")?;
//! # let (reply, relay_keys) = handshake.accept(std::slice::from_ref(&relay), &onionskin)?.respond(b"")?;
//! # let client_keys = waiting.finish(&reply)?.keys;
//! let mut client = ClientLayer::new(Crypto::Cgo, &client_keys)?;
//! let mut relay = RelayLayer::new(Crypto::Cgo, &relay_keys)?;
//!
//! let mut cell = [0; PAYLOAD];
//! cell[16..19].copy_from_slice(b"hey");
//! let sent = client.originate(Command::RELAY, &mut cell);
//! let received = relay.outbound(Command::RELAY, &mut cell).expect("it is for this relay");
//! assert_eq!(&cell[16..19], b"hey");
//! assert_eq!(sent, received); // SENDMEs prove the receipt of a cell by it
//! # Ok(()) }
//! # main().unwrap();
//! # }
//! ```

mod cgo;
mod tor1;
#[cfg(test)]
mod vectors;

use crate::Error;
use crate::cell::{Command, PAYLOAD};
use crate::handshake::Keys;
use crate::relay::Format;
pub use crate::relay::Tag;
use alloc::boxed::Box;
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::Cpu;
use candor_primitives::stack;
use core::fmt;
use zeroize::Zeroizing;

/// The cryptography of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Crypto {
    /// Tor's original: AES-128-CTR and a running SHA-1. Malleable; kept for relays that know nothing else.
    Tor1,
    /// Counter Galois Onion: a rugged pseudorandom permutation over the whole cell, with AES-128 and POLYVAL.
    Cgo,
}

impl Crypto {
    /// Length of the key material for both directions.
    pub const fn key_length(self) -> usize {
        match self {
            Self::Tor1 => 2 * tor1::DIGEST_SEED + 2 * tor1::KEY,
            Self::Cgo => 2 * cgo::SEED,
        }
    }

    /// The layout of relay messages in a cell under this cryptography.
    pub const fn format(self) -> Format {
        match self {
            Self::Tor1 => Format::V0,
            Self::Cgo => Format::V1,
        }
    }

    /// The name in tasks and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tor1 => "tor1",
            Self::Cgo => "cgo",
        }
    }

    /// Cuts from a key stream what takes the place of a layer's keys: for the way out, and for the way in.
    ///
    /// # Errors
    /// [`Error::KeyLength`], which no key stream of this crate returns for these lengths.
    // ct: layer/relay/keys, layer/client/keys
    pub fn fresh(self, keys: &Keys) -> Result<[FreshKeys; 2], Error> {
        let material = self.material(keys)?;
        let halves = match self {
            Self::Tor1 => tor1::cut(&material),
            Self::Cgo => cgo::cut(&material),
        };
        let [out, back] = halves.map(|parts| Zeroizing::new(parts.concat()));
        Ok([(Way::Out, out), (Way::In, back)].map(|(way, material)| FreshKeys { crypto: self, way, material }))
    }

    fn material(self, keys: &Keys) -> Result<Zeroizing<Vec<u8>>, Error> {
        keys.expand(self.key_length())
    }

    fn check_length(self, material: &[u8]) -> Result<(), Error> {
        let (asked, most) = (material.len(), self.key_length());
        if asked == most { Ok(()) } else { Err(Error::KeyLength { asked, most }) }
    }
}

/// A direction of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Away from the client.
    Out,
    /// Towards the client.
    In,
}

/// Keys that take the place of those of one direction of a layer ([`Crypto::fresh`]). Wiped on drop.
pub struct FreshKeys {
    crypto: Crypto,
    way: Way,
    material: Zeroizing<Vec<u8>>,
}

/// Stack that making a layer of tor1 takes, in bytes: keys are moved into their box. One of CGO expands its keys later.
const FRAMES: usize = 10 << 10;

/// A relay's end of a layer. Wiped on drop.
pub struct RelayLayer(Relay);

enum Relay {
    Tor1(Box<tor1::Relay>),
    Cgo(cgo::Relay),
}

impl RelayLayer {
    /// Cuts the layer's keys from those of a handshake.
    ///
    /// # Errors
    /// [`Error::KeyLength`], which no handshake of this crate returns for these lengths.
    // ct: layer/relay/keys
    pub fn new(crypto: Crypto, keys: &Keys) -> Result<Self, Error> {
        Self::from_material(crypto, &crypto.material(keys)?)
    }

    /// A layer from key material of [`Crypto::key_length`] bytes: Df, Db, Kf, Kb for tor1; for CGO J, S and N of both
    /// directions, outbound first.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for another length.
    // ct: layer/relay/keys
    pub fn from_material(crypto: Crypto, material: &[u8]) -> Result<Self, Error> {
        Self::with_cpu(Cpu::default(), crypto, material)
    }

    /// [`Self::from_material`] on the tier of `cpu`.
    ///
    /// # Errors
    /// Those of [`Self::from_material`].
    pub fn with_cpu(cpu: Cpu, crypto: Crypto, material: &[u8]) -> Result<Self, Error> {
        secret::takes("layer/relay/keys", material);
        crypto.check_length(material)?;
        Ok(Self(match crypto {
            Crypto::Tor1 => Relay::Tor1(stack::clearing::<FRAMES, _>(|| Box::new(tor1::Relay::new(cpu, material)))),
            Crypto::Cgo => Relay::Cgo(cgo::Relay::new(cpu, material)),
        }))
    }

    /// Removes this layer from a cell that comes from the client. Returns the tag if the cell is for this relay;
    /// `payload` is then decrypted. Otherwise the cell must be passed on, or dropped if there is no next relay.
    // ct: aes-128-ctr
    #[inline]
    pub fn outbound(&mut self, command: Command, payload: &mut [u8; PAYLOAD]) -> Option<Tag> {
        match &mut self.0 {
            Relay::Tor1(layer) => layer.outbound(payload),
            Relay::Cgo(layer) => layer.outbound(command, payload),
        }
    }

    /// Adds this layer to a cell that comes from the next relay.
    // ct: aes-128-ctr
    #[inline]
    pub fn inbound(&mut self, command: Command, payload: &mut [u8; PAYLOAD]) {
        match &mut self.0 {
            Relay::Tor1(layer) => layer.inbound(payload),
            Relay::Cgo(layer) => layer.inbound(command, payload),
        }
    }

    /// Its cryptography.
    pub fn crypto(&self) -> Crypto {
        match self.0 {
            Relay::Tor1(_) => Crypto::Tor1,
            Relay::Cgo(_) => Crypto::Cgo,
        }
    }

    /// From the next cell of that direction on, the layer has these keys, as if it were new: the digest, the nonce and the last tag begin anew.
    ///
    /// # Errors
    /// [`Error::KeyLength`] if they are for the other cryptography.
    // ct: layer/relay/keys
    pub fn replace(&mut self, keys: &FreshKeys) -> Result<(), Error> {
        secret::takes("layer/relay/keys", &keys.material);
        match (&mut self.0, keys.crypto) {
            (Relay::Tor1(layer), Crypto::Tor1) => {
                stack::clearing::<FRAMES, _>(|| layer.replace(Cpu::default(), keys.way, &keys.material));
            }
            (Relay::Cgo(layer), Crypto::Cgo) => layer.replace(Cpu::default(), keys.way, &keys.material),
            _ => return Err(mismatch(self.crypto(), keys.crypto)),
        }
        Ok(())
    }

    /// Wraps a cell that this relay originates. The fields of `payload` that belong to the layer must be zero.
    // ct: aes-128-ctr
    #[inline]
    pub fn originate(&mut self, command: Command, payload: &mut [u8; PAYLOAD]) -> Tag {
        match &mut self.0 {
            Relay::Tor1(layer) => layer.originate(payload),
            Relay::Cgo(layer) => layer.originate(command, payload),
        }
    }
}

/// The client's end of a layer. Wiped on drop.
pub struct ClientLayer(ClientSide);

enum ClientSide {
    Tor1(Box<tor1::Client>),
    Cgo(cgo::Client),
}

impl ClientLayer {
    /// Cuts the layer's keys from those of a handshake.
    ///
    /// # Errors
    /// Those of [`RelayLayer::new`].
    // ct: layer/client/keys
    pub fn new(crypto: Crypto, keys: &Keys) -> Result<Self, Error> {
        Self::from_material(crypto, &crypto.material(keys)?)
    }

    /// A layer from key material of [`Crypto::key_length`] bytes: Df, Db, Kf, Kb for tor1; for CGO J, S and N of both
    /// directions, outbound first.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for another length.
    // ct: layer/client/keys
    pub fn from_material(crypto: Crypto, material: &[u8]) -> Result<Self, Error> {
        Self::with_cpu(Cpu::default(), crypto, material)
    }

    /// [`Self::from_material`] on the tier of `cpu`.
    ///
    /// # Errors
    /// Those of [`Self::from_material`].
    pub fn with_cpu(cpu: Cpu, crypto: Crypto, material: &[u8]) -> Result<Self, Error> {
        secret::takes("layer/client/keys", material);
        crypto.check_length(material)?;
        Ok(Self(match crypto {
            Crypto::Tor1 => {
                ClientSide::Tor1(stack::clearing::<FRAMES, _>(|| Box::new(tor1::Client::new(cpu, material))))
            }
            Crypto::Cgo => ClientSide::Cgo(cgo::Client::new(cpu, material)),
        }))
    }

    /// Its cryptography.
    pub fn crypto(&self) -> Crypto {
        match self.0 {
            ClientSide::Tor1(_) => Crypto::Tor1,
            ClientSide::Cgo(_) => Crypto::Cgo,
        }
    }

    /// [`RelayLayer::replace`], at the client.
    ///
    /// # Errors
    /// Those of [`RelayLayer::replace`].
    // ct: layer/client/keys
    pub fn replace(&mut self, keys: &FreshKeys) -> Result<(), Error> {
        secret::takes("layer/client/keys", &keys.material);
        match (&mut self.0, keys.crypto) {
            (ClientSide::Tor1(layer), Crypto::Tor1) => {
                stack::clearing::<FRAMES, _>(|| layer.replace(Cpu::default(), keys.way, &keys.material));
            }
            (ClientSide::Cgo(layer), Crypto::Cgo) => layer.replace(Cpu::default(), keys.way, &keys.material),
            _ => return Err(mismatch(self.crypto(), keys.crypto)),
        }
        Ok(())
    }

    /// Wraps a cell for this layer's relay. The fields of `payload` that belong to the layer must be zero.
    // ct: aes-128-ctr
    #[inline]
    pub fn originate(&mut self, command: Command, payload: &mut [u8; PAYLOAD]) -> Tag {
        match &mut self.0 {
            ClientSide::Tor1(layer) => layer.originate(payload),
            ClientSide::Cgo(layer) => layer.originate(command, payload),
        }
    }

    /// Wraps a cell that this layer's relay will pass on.
    // ct: aes-128-ctr
    #[inline]
    pub fn outbound(&mut self, command: Command, payload: &mut [u8; PAYLOAD]) {
        match &mut self.0 {
            ClientSide::Tor1(layer) => layer.outbound(payload),
            ClientSide::Cgo(layer) => layer.outbound(command, payload),
        }
    }

    /// Removes what this layer's relay added. Returns the tag if that relay made the cell.
    // ct: aes-128-ctr
    #[inline]
    pub fn inbound(&mut self, command: Command, payload: &mut [u8; PAYLOAD]) -> Option<Tag> {
        match &mut self.0 {
            ClientSide::Tor1(layer) => layer.inbound(payload),
            ClientSide::Cgo(layer) => layer.inbound(command, payload),
        }
    }
}

fn mismatch(expected: Crypto, found: Crypto) -> Error {
    Error::KeyLength { asked: found.key_length(), most: expected.key_length() }
}

/// All layers of a client, the first hop's first.
#[derive(Default)]
pub struct Onion(Vec<ClientLayer>);

impl Onion {
    /// Without a hop, and with room for so many.
    #[cfg(feature = "std")]
    pub(crate) fn with_room(hops: usize) -> Self {
        Self(Vec::with_capacity(hops))
    }

    /// Adds the layer of the next hop.
    // ct: public, because it only stores the layer
    pub fn push(&mut self, layer: ClientLayer) {
        self.0.push(layer);
    }

    /// Number of hops.
    pub fn hops(&self) -> usize {
        self.0.len()
    }

    /// The last hop's layer.
    #[cfg(feature = "std")]
    pub(crate) fn last(&mut self) -> Option<&mut ClientLayer> {
        self.0.last_mut()
    }

    /// Wraps a cell for hop `to`, counted from 0. Returns `None` if there is no such hop.
    // ct: layer/client/keys, aes-128-ctr
    pub fn wrap(&mut self, to: usize, command: Command, payload: &mut [u8; PAYLOAD]) -> Option<Tag> {
        let (last, before) = self.0.get_mut(..=to)?.split_last_mut()?;
        let tag = last.originate(command, payload);
        before.iter_mut().rev().for_each(|layer| layer.outbound(command, payload));
        Some(tag)
    }

    /// Unwraps a cell that has arrived and returns the hop that made it, or `None` if no hop did.
    // ct: layer/client/keys, aes-128-ctr
    pub fn unwrap(&mut self, command: Command, payload: &mut [u8; PAYLOAD]) -> Option<(usize, Tag)> {
        self.0.iter_mut().enumerate().find_map(|(hop, layer)| Some((hop, layer.inbound(command, payload)?)))
    }
}

impl fmt::Debug for RelayLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RelayLayer(..)")
    }
}

impl fmt::Debug for FreshKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FreshKeys(..)")
    }
}

impl fmt::Debug for ClientLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientLayer(..)")
    }
}

impl fmt::Debug for Onion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Onion({} layers)", self.0.len())
    }
}
