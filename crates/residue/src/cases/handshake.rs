//! Handshakes, step by step, on back ends whose randomness is known. X25519 is dalek's and ML-KEM libcrux's, which both leave much behind when
//! they are used alone.

use super::anywhere;
use crate::case::{Case, Leaves};
use crate::probe::{Generator, Probe, step};
use candor_onion::handshake::{
    Client, Handshake, Hybrid, HybridRelayPublic, Keys, NoStaticKem, Ntor, NtorV3, Request, StaticKem,
};
use candor_primitives::SharedSecret;
use candor_primitives::dh::{DhError, DiffieHellman, dalek::X25519};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError, libcrux::MlKem768};
use rand_core::Rng;
use std::cell::RefCell;
use std::rc::Rc;
use zeroize::Zeroizing;

pub(super) fn cases() -> Vec<Case> {
    vec![
        anywhere("handshake/ntor", |probe, _| handshake(probe, Ntor::new, [1; 20], |_| Vec::new()), &[]),
        anywhere("handshake/ntor-v3", |probe, _| handshake(probe, NtorV3::new, [1; 32], |_| Vec::new()), &[]),
        anywhere(
            "handshake/hybrid-768",
            |probe, _| handshake(probe, |own| Hybrid::new(own.clone(), own, NoStaticKem), [1; 32], |_| Vec::new()),
            PADDING,
        ),
        anywhere(
            "handshake/hybrid-768-auth",
            |probe, _| {
                handshake(probe, |own| Hybrid::new(own.clone(), own.clone(), StaticKem(own)), [1; 32], static_key)
            },
            PADDING,
        ),
    ]
}

const PADDING: &[Leaves] = &[Leaves {
    step: "*",
    stack: 14,
    heap: 0,
    names: &[],
    why: "bytes beside the tag of an enum that is moved, copied with whatever lay there before",
}];

/// `public` gives of the relay's public keys what no message holds.
fn handshake<H: Handshake>(
    probe: &mut Probe,
    make: fn(Known) -> H,
    identity: H::Identity,
    public: fn(&H::RelayPublic) -> Vec<u8>,
) {
    let handshake = make(Known(Rc::new(RefCell::new(probe.generator("randomness")))));
    let relay = step!(probe, "onion keys", [handshake: &H = &handshake, identity: H::Identity = identity], handshake.generate_relay(identity)).expect("a relay");
    probe.public(&public(handshake.public(&relay)));
    let message: &[u8] = if H::CARRIES_MESSAGES { b"extensions" } else { b"" };
    let (waiting, onionskin) = step!(probe, "start", [handshake: &H = &handshake, relay: &H::RelayPublic = handshake.public(&relay), message: &[u8] = message], {
        handshake.start(relay, message)
    }).expect("an onionskin");
    probe.public(&onionskin);
    let request = step!(probe, "accept", [handshake: &H = &handshake, relay: &H::RelaySecret = &relay, onionskin: &[u8] = &onionskin], {
        handshake.accept(std::slice::from_ref(relay), onionskin)
    }).expect("an onionskin");
    let (reply, theirs) =
        step!(probe, "respond", [request: H::Request = request, message: &[u8] = message], request.respond(message))
            .expect("a reply");
    probe.public(&reply);
    let established =
        step!(probe, "finish", [waiting: H::Client = waiting, reply: &[u8] = &reply], waiting.finish(reply))
            .expect("a good reply");
    let ours = step!(probe, "expand", [keys: &Keys = &established.keys], keys.expand(72)).expect("keys");
    assert!(ours == theirs.expand(72).expect("keys"), "the keys differ");
    let mut keys = Some(established.keys);
    step!(probe, "drop keys", [keys: &mut Option<Keys> = &mut keys], *keys = None);
    let mut relay = Some(relay);
    step!(probe, "drop onion keys", [relay: &mut Option<H::RelaySecret> = &mut relay], *relay = None);
}

fn static_key(public: &HybridRelayPublic<StaticKem<Known>>) -> Vec<u8> {
    let mut bytes = vec![0; MlKem768::PUBLIC];
    MlKem768.public_to_bytes(public.static_kem(), &mut bytes).expect("as long as a key");
    [&bytes[..], public.onion_key()].concat()
}

/// dalek's X25519 and libcrux's ML-KEM-768 with randomness that is known.
#[derive(Clone)]
struct Known(Rc<RefCell<Generator>>);

impl Known {
    fn draw<const N: usize>(&self) -> Zeroizing<[u8; N]> {
        let mut bytes = Zeroizing::new([0; N]);
        self.0.borrow_mut().fill_bytes(bytes.as_mut_slice());
        bytes
    }
}

impl DiffieHellman for Known {
    type Secret = <X25519 as DiffieHellman>::Secret;

    fn generate(&self) -> Result<(Self::Secret, [u8; 32]), DhError> {
        let secret = X25519.secret_from_bytes(&self.draw())?;
        let public = X25519.public_of(&secret)?;
        Ok((secret, public))
    }

    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<Self::Secret, DhError> {
        X25519.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        X25519.secret_to_bytes(secret)
    }

    fn public_of(&self, secret: &Self::Secret) -> Result<[u8; 32], DhError> {
        X25519.public_of(secret)
    }

    fn agree(&self, secret: &Self::Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        X25519.agree(secret, peer)
    }
}

impl Kem for Known {
    type Secret = <MlKem768 as Kem>::Secret;
    type Public = <MlKem768 as Kem>::Public;

    const NAME: &'static str = MlKem768::NAME;
    const PUBLIC: usize = MlKem768::PUBLIC;
    const SECRET: usize = MlKem768::SECRET;
    const CIPHERTEXT: usize = MlKem768::CIPHERTEXT;

    fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
        MlKem768.generate_from(self.draw::<64>().as_slice())
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
        MlKem768.public_from_bytes(bytes)
    }

    fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        MlKem768.public_to_bytes(public, bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
        MlKem768.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        MlKem768.secret_to_bytes(secret)
    }

    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        MlKem768.encapsulate_from(to, self.draw::<32>().as_slice(), ciphertext)
    }

    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        MlKem768.decapsulate(with, ciphertext)
    }
}
