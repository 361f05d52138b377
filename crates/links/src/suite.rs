//! A handshake with the keys of three relays, its type erased.

use crate::scripted::{Dh, Kem512, Kem768, Kem1024};
use candor_onion::Error;
use candor_onion::circuit::{ClientCircuit, HopOptions, OnionKeys};
use candor_onion::handshake::*;
use candor_onion::relay::message::NextRelay;
use std::sync::Arc;
use std::time::Instant;

/// Whose cryptography runs. The time that it takes in virtual time comes from [`Costs`](crate::costs::Costs) either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cryptography {
    /// Stand-ins of the same sizes for X25519 and ML-KEM; everything else is real.
    #[default]
    Scripted,
    /// That of `onion`.
    Real,
}

/// What a circuit needs of its handshake.
pub(crate) trait Suite {
    /// Makes the client add the hop with this index, from 0.
    fn begin(&self, client: &mut ClientCircuit, hop: usize, options: HopOptions, now: Instant) -> Result<(), Error>;
    /// Makes the client begin its circuit at the relay with this index.
    fn create(&self, client: &mut ClientCircuit, relay: usize, options: HopOptions, now: Instant) -> Result<(), Error>;
    /// The onion keys of the relay with this index.
    fn keys(&self, relay: usize) -> &OnionKeys;
}

/// The suite of a handshake.
pub(crate) fn suite(handshake: HandshakeType, cryptography: Cryptography) -> Result<Box<dyn Suite>, Error> {
    macro_rules! each {
        ($($kind:ident: $real:ident, $scripted:ty;)+) => {
            match (handshake, cryptography) {
                $(
                    (HandshakeType::$kind, Cryptography::Real) => keyed($real::default()),
                    (HandshakeType::$kind, Cryptography::Scripted) => keyed(<$scripted>::default()),
                )+
            }
        };
    }
    each! {
        Ntor: NtorDefault, Ntor<Dh>;
        NtorV3: NtorV3Default, NtorV3<Dh>;
        Hybrid512: Hybrid512, Hybrid<Kem512, Dh, NoStaticKem>;
        Hybrid768: Hybrid768, Hybrid<Kem768, Dh, NoStaticKem>;
        Hybrid1024: Hybrid1024, Hybrid<Kem1024, Dh, NoStaticKem>;
        Hybrid512Auth: Hybrid512Auth, Hybrid<Kem512, Dh, StaticKem<Kem512>>;
        Hybrid768Auth: Hybrid768Auth, Hybrid<Kem768, Dh, StaticKem<Kem768>>;
        Hybrid1024Auth: Hybrid1024Auth, Hybrid<Kem1024, Dh, StaticKem<Kem1024>>;
    }
}

fn keyed<H>(handshake: H) -> Result<Box<dyn Suite>, Error>
where
    H: Handshake + Clone + Send + Sync + 'static,
    H::RelaySecret: Send + Sync,
    H::Client: Send + 'static,
{
    let handshake = Shared(handshake);
    let (mut relays, mut keys) = (Vec::new(), Vec::new());
    for relay in 1..=3 {
        let mut identity = H::Identity::default();
        identity.as_mut().fill(relay);
        let secret = handshake.generate_relay(identity)?;
        keys.push(OnionKeys::default().with(handshake.clone(), vec![secret.clone()])?);
        relays.push(secret);
    }
    Ok(Box::new(Keyed { handshake, relays, keys }))
}

struct Keyed<H: Handshake> {
    handshake: Shared<H>,
    relays: Vec<Arc<H::RelaySecret>>,
    keys: Vec<OnionKeys>,
}

impl<H> Suite for Keyed<H>
where
    H: Handshake + Clone + Send + Sync + 'static,
    H::RelaySecret: Send + Sync,
    H::Client: Send + 'static,
{
    fn begin(&self, client: &mut ClientCircuit, hop: usize, options: HopOptions, now: Instant) -> Result<(), Error> {
        if hop == 0 {
            return self.create(client, 0, options, now);
        }
        let public = self.handshake.public(&self.relays[hop]);
        let number = hop as u8 + 1;
        let addresses = vec![([10, 0, 0, number], 9001).into()];
        // What our own client names: the address, and both identities (candor-network, `Relay`).
        let next = NextRelay { addresses, ed25519: Some([number; 32]), rsa: Some([number; 20]) };
        client.extend(&self.handshake, public, &next, options, now)
    }

    fn create(&self, client: &mut ClientCircuit, relay: usize, options: HopOptions, now: Instant) -> Result<(), Error> {
        client.create(&self.handshake, self.handshake.public(&self.relays[relay]), options, now)
    }

    fn keys(&self, relay: usize) -> &OnionKeys {
        &self.keys[relay]
    }
}

/// The same handshake, with a relay's keys that the relay and the client's view of it share.
#[derive(Clone)]
struct Shared<H>(H);

impl<H: Handshake> Handshake for Shared<H> {
    type Identity = H::Identity;
    type RelaySecret = Arc<H::RelaySecret>;
    type RelayPublic = H::RelayPublic;
    type Client = H::Client;
    type Request = H::Request;

    const ONIONSKIN: usize = H::ONIONSKIN;
    const REPLY: usize = H::REPLY;
    const CARRIES_MESSAGES: bool = H::CARRIES_MESSAGES;

    fn name(&self) -> String {
        self.0.name()
    }

    fn generate_relay(&self, identity: H::Identity) -> Result<Arc<H::RelaySecret>, Error> {
        self.0.generate_relay(identity).map(Arc::new)
    }

    fn public<'a>(&self, relay: &'a Arc<H::RelaySecret>) -> &'a H::RelayPublic {
        self.0.public(relay)
    }

    fn start(&self, relay: &H::RelayPublic, message: &[u8]) -> Result<(H::Client, Vec<u8>), Error> {
        self.0.start(relay, message)
    }

    fn accept(&self, relays: &[Arc<H::RelaySecret>], onionskin: &[u8]) -> Result<H::Request, Error> {
        let relay = relays.first().ok_or(Error::UnknownKey)?;
        self.0.accept(std::slice::from_ref(&**relay), onionskin)
    }

    fn answer_many(&self, relays: &[Arc<H::RelaySecret>], onionskins: &[&[u8]], replies: &mut dyn Replies) {
        if let Some(relay) = relays.first() {
            self.0.answer_many(std::slice::from_ref(&**relay), onionskins, replies);
        }
    }
}
