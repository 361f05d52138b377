//! The handshakes that our relays offer, and their keys.

use crate::Error;
use candor_onion::circuit::OnionKeys;
use candor_onion::handshake::{
    HandshakeType, Hybrid512, Hybrid512Auth, Hybrid768, Hybrid768Auth, Hybrid1024, Hybrid1024Auth, HybridRelayPublic,
    NoStaticKem, NtorDefault, NtorRelayPublic, NtorV3Default, NtorV3RelayPublic, StaticKem,
};
use candor_primitives::dh::{DiffieHellman, x25519::X25519};
use candor_primitives::kem::Kem;
use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
use std::fmt;
use zeroize::Zeroizing;

/// A relay's onion keys as bytes.
#[derive(Clone)]
pub(crate) struct OnionSecrets {
    pub(crate) x25519: Zeroizing<[u8; 32]>,
    /// Secret and public key of ML-KEM-512, 768 and 1024.
    pub(crate) kems: [(Zeroizing<Vec<u8>>, Vec<u8>); 3],
}

/// Names of the static KEMs in lists and key files, in the order of [`OnionSecrets::kems`].
pub(crate) const KEMS: [&str; 3] = ["ml-kem-512", "ml-kem-768", "ml-kem-1024"];

impl OnionSecrets {
    pub(crate) fn generate() -> Result<Self, Error> {
        fn pair<K: Kem>(kem: &K) -> Result<(Zeroizing<Vec<u8>>, Vec<u8>), Error> {
            let (secret, public) = kem.generate().map_err(internal)?;
            let mut encoded = vec![0; K::PUBLIC];
            kem.public_to_bytes(&public, &mut encoded).map_err(internal)?;
            Ok((kem.secret_to_bytes(&secret).map_err(internal)?, encoded))
        }
        let (secret, _) = X25519::new().generate().map_err(internal)?;
        Ok(Self {
            x25519: X25519::new().secret_to_bytes(&secret).map_err(internal)?,
            kems: [pair(&MlKem512::new())?, pair(&MlKem768::new())?, pair(&MlKem1024::new())?],
        })
    }

    pub(crate) fn x25519_public(&self) -> Result<[u8; 32], Error> {
        let x25519 = X25519::new();
        x25519.secret_from_bytes(&self.x25519).and_then(|secret| x25519.public_of(&secret)).map_err(internal)
    }

    /// A layer of tor1 for whoever sent this onionskin of `ntor` to the relay with this identity, and the reply: for relays that say what no circuit of ours would.
    #[cfg(test)]
    pub(crate) fn layer(&self, identity: &[u8; 32], onionskin: &[u8]) -> (Vec<u8>, candor_onion::layer::RelayLayer) {
        use candor_onion::handshake::{Handshake, Request};
        let handshake = NtorDefault::default();
        let secret = X25519::new().secret_from_bytes(&self.x25519).unwrap();
        let relay = handshake.relay(legacy_identity(identity), secret).unwrap();
        let (reply, keys) = handshake.accept(&[relay], onionskin).unwrap().respond(&[]).unwrap();
        (reply, candor_onion::layer::RelayLayer::new(candor_onion::layer::Crypto::Tor1, &keys).unwrap())
    }

    /// The keys for `handshakes`, ready for use by the relay with this identity, which `ntor` names by SHA-1 of its RSA identity if it has one. An onionskin may be for any of the
    /// `sets`.
    pub(crate) fn offer(
        sets: &[&Self],
        identity: &[u8; 32],
        rsa_identity: Option<[u8; 20]>,
        handshakes: &[HandshakeType],
    ) -> Result<OnionKeys, Error> {
        let named = rsa_identity.unwrap_or_else(|| legacy_identity(identity));
        let mut keys = OnionKeys::default();
        for handshake in handshakes {
            /// The static key pair of one KEM, parsed.
            macro_rules! pair {
                ($set:ident, $kem:expr, $index:expr) => {{
                    let (secret, public) = &$set.kems[$index];
                    let secret = $kem.secret_from_bytes(secret).map_err(internal)?;
                    (secret, $kem.public_from_bytes(public).map_err(internal)?)
                }};
            }
            /// `keys` with the handshake, and a relay for each set.
            macro_rules! add {
                ($handshake:ty, |$made:ident, $x25519:ident, $set:ident| $relay:expr) => {{
                    let $made = <$handshake>::default();
                    let relay = |$set: &&Self| {
                        let $x25519 = X25519::new().secret_from_bytes(&$set.x25519).map_err(internal)?;
                        $relay.map_err(internal)
                    };
                    let relays = sets.iter().map(relay).collect::<Result<Vec<_>, Error>>()?;
                    keys.with($made, relays)
                }};
            }
            keys = match handshake {
                HandshakeType::Ntor => add!(NtorDefault, |h, x, set| h.relay(named, x)),
                HandshakeType::NtorV3 => add!(NtorV3Default, |h, x, set| h.relay(*identity, x)),
                HandshakeType::Hybrid512 => add!(Hybrid512, |h, x, set| h.relay(*identity, x, ((), ()))),
                HandshakeType::Hybrid768 => add!(Hybrid768, |h, x, set| h.relay(*identity, x, ((), ()))),
                HandshakeType::Hybrid1024 => add!(Hybrid1024, |h, x, set| h.relay(*identity, x, ((), ()))),
                HandshakeType::Hybrid512Auth => {
                    add!(Hybrid512Auth, |h, x, set| h.relay(*identity, x, pair!(set, MlKem512::new(), 0)))
                }
                HandshakeType::Hybrid768Auth => {
                    add!(Hybrid768Auth, |h, x, set| h.relay(*identity, x, pair!(set, MlKem768::new(), 1)))
                }
                HandshakeType::Hybrid1024Auth => {
                    add!(Hybrid1024Auth, |h, x, set| h.relay(*identity, x, pair!(set, MlKem1024::new(), 2)))
                }
            }
            .map_err(internal)?;
        }
        Ok(keys)
    }
}

/// What a client knows of a relay's keys for one handshake, parsed.
pub(crate) enum Offer {
    Ntor(NtorRelayPublic),
    NtorV3(NtorV3RelayPublic),
    Hybrid512(Box<HybridRelayPublic<NoStaticKem>>),
    Hybrid768(Box<HybridRelayPublic<NoStaticKem>>),
    Hybrid1024(Box<HybridRelayPublic<NoStaticKem>>),
    Hybrid512Auth(Box<HybridRelayPublic<StaticKem<MlKem512>>>),
    Hybrid768Auth(Box<HybridRelayPublic<StaticKem<MlKem768>>>),
    Hybrid1024Auth(Box<HybridRelayPublic<StaticKem<MlKem1024>>>),
}

/// Calls `$use` with the handshake of an offer and its public key.
macro_rules! with_offer {
    ($offer:expr, |$handshake:ident, $public:ident| $use:expr) => {{
        use crate::onion_keys::Offer;
        use candor_onion::handshake as on;
        macro_rules! arm {
            ($type:ty, $key:expr) => {{
                let ($handshake, $public) = (&<$type>::default(), $key);
                $use
            }};
        }
        match $offer {
            Offer::Ntor(key) => arm!(on::NtorDefault, key),
            Offer::NtorV3(key) => arm!(on::NtorV3Default, key),
            Offer::Hybrid512(key) => arm!(on::Hybrid512, &**key),
            Offer::Hybrid768(key) => arm!(on::Hybrid768, &**key),
            Offer::Hybrid1024(key) => arm!(on::Hybrid1024, &**key),
            Offer::Hybrid512Auth(key) => arm!(on::Hybrid512Auth, &**key),
            Offer::Hybrid768Auth(key) => arm!(on::Hybrid768Auth, &**key),
            Offer::Hybrid1024Auth(key) => arm!(on::Hybrid1024Auth, &**key),
        }
    }};
}
pub(crate) use with_offer;

impl Offer {
    /// Parses the keys that `handshake` needs; `kem` gives the static key of a name in [`KEMS`].
    pub(crate) fn new(
        handshake: HandshakeType,
        identity: &[u8; 32],
        rsa_identity: Option<[u8; 20]>,
        onion_key: [u8; 32],
        kem: &dyn Fn(usize) -> Result<Vec<u8>, String>,
    ) -> Result<Self, String> {
        macro_rules! hybrid {
            ($handshake:ty, $static:expr) => {{
                let made = <$handshake>::default().relay_public(*identity, onion_key, $static);
                Box::new(made.map_err(|error| error.to_string())?)
            }};
        }
        macro_rules! parsed {
            ($kem:expr, $index:expr) => {
                $kem.public_from_bytes(&kem($index)?).map_err(|error| format!("{}: {error}", KEMS[$index]))?
            };
        }
        Ok(match handshake {
            HandshakeType::Ntor => Self::Ntor(NtorRelayPublic {
                identity: rsa_identity.unwrap_or_else(|| legacy_identity(identity)),
                onion_key,
            }),
            HandshakeType::NtorV3 => Self::NtorV3(NtorV3RelayPublic { identity: *identity, onion_key }),
            HandshakeType::Hybrid512 => Self::Hybrid512(hybrid!(Hybrid512, ())),
            HandshakeType::Hybrid768 => Self::Hybrid768(hybrid!(Hybrid768, ())),
            HandshakeType::Hybrid1024 => Self::Hybrid1024(hybrid!(Hybrid1024, ())),
            HandshakeType::Hybrid512Auth => Self::Hybrid512Auth(hybrid!(Hybrid512Auth, parsed!(MlKem512::new(), 0))),
            HandshakeType::Hybrid768Auth => Self::Hybrid768Auth(hybrid!(Hybrid768Auth, parsed!(MlKem768::new(), 1))),
            HandshakeType::Hybrid1024Auth => {
                Self::Hybrid1024Auth(hybrid!(Hybrid1024Auth, parsed!(MlKem1024::new(), 2)))
            }
        })
    }
}

/// What `ntor` names a relay by that has no RSA key: the first 20 bytes of its Ed25519 identity.
fn legacy_identity(identity: &[u8; 32]) -> [u8; 20] {
    *identity.first_chunk().expect("32 bytes begin with 20")
}

fn internal(error: impl fmt::Display) -> Error {
    Error::Internal(error.to_string())
}
