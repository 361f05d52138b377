//! Handshakes, cells, links and circuits, on the default back ends.
//!
//! Relays keep the same X25519 key and identity in every process, so that a corpus stays meaningful. A static KEM key is fresh in each,
//! since AWS-LC can't derive one.

mod circuits;
mod directory;
mod upgrades;
mod wire;

pub use circuits::{client_circuit, relay_circuit};
pub use directory::{directory, honest_directory};
pub use upgrades::upgrade;
pub use wire::{cells, certificates, extensions, honest_wire, link, relay_messages};

use candor_onion::Error;
use candor_onion::handshake::{
    Client, Handshake, Hybrid512, Hybrid768, Hybrid768Auth, Hybrid1024, HybridRelay, Keys, NoStaticKem, NtorDefault,
    NtorRelay, NtorV3Default, NtorV3Relay, Replies, Request, StaticKem,
};
use candor_primitives::dh::{DiffieHellman, x25519::X25519};
use candor_primitives::kem::{Kem, ml_kem::MlKem768};
use std::slice::from_ref;
use std::sync::LazyLock;

/// An onionskin from anywhere reaches every relay. Nobody panics, and what is accepted can be answered.
pub fn onionskin(data: &[u8]) {
    fn check<H: Handshake>(handshake: H, relay: &H::RelaySecret, data: &[u8]) {
        if let Ok(request) = handshake.accept(from_ref(relay), data) {
            assert!(data.len() == H::ONIONSKIN + request.message().len());
            let message = if H::CARRIES_MESSAGES { data } else { b"" };
            let (reply, _) = request.respond(message).expect("what is accepted is answered");
            assert!(reply.len() == H::REPLY + message.len());
        }
        let mut twice = Twice::default();
        handshake.answer_many(from_ref(relay), &[data, data], &mut twice);
        assert!(twice.0 == [Some(handshake.accept(from_ref(relay), data).is_ok()); 2]);
    }
    let relays = &*RELAYS;
    check(NtorDefault::default(), &relays.ntor, data);
    check(NtorV3Default::default(), &relays.ntor_v3, data);
    check(Hybrid512::default(), &relays.hybrid_512, data);
    check(Hybrid768::default(), &relays.hybrid_768, data);
    check(Hybrid1024::default(), &relays.hybrid_1024, data);
    check(Hybrid768Auth::default(), &relays.hybrid_768_auth, data);
}

/// Which of two onionskins in one pass have been answered.
#[derive(Default)]
struct Twice([Option<bool>; 2]);

impl Replies for Twice {
    fn message(&mut self, _: usize, _: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    fn answered(&mut self, at: usize, answer: Result<(Vec<u8>, Keys), Error>) {
        assert!(self.0[at].replace(answer.is_ok()).is_none());
    }
}

/// A reply from anywhere reaches a client that has just started: it never believes it. The first byte chooses the handshake.
pub fn reply(data: &[u8]) {
    fn check<H: Handshake>(handshake: H, relay: &H::RelaySecret, data: &[u8]) {
        let (client, _) = handshake.start(handshake.public(relay), b"").expect("our own relay's keys are good");
        assert!(client.finish(data).is_err(), "{} believed a reply that no relay made", handshake.name());
    }
    let Some((choice, data)) = data.split_first() else { return };
    let relays = &*RELAYS;
    match choice % 6 {
        0 => check(NtorDefault::default(), &relays.ntor, data),
        1 => check(NtorV3Default::default(), &relays.ntor_v3, data),
        2 => check(Hybrid512::default(), &relays.hybrid_512, data),
        3 => check(Hybrid768::default(), &relays.hybrid_768, data),
        4 => check(Hybrid1024::default(), &relays.hybrid_1024, data),
        _ => check(Hybrid768Auth::default(), &relays.hybrid_768_auth, data),
    }
}

/// An honest exchange in which somebody edits the messages. If nothing changed both sides have the same keys, otherwise the
/// client has none. Data: the handshake, whether the onionskin (even) or the reply (odd) is edited, a length to cut or extend to as
/// a signed distance, then edits of three bytes each: a place in two, and what to XOR in.
pub fn edits(data: &[u8]) {
    fn check<H: Handshake>(handshake: H, relay: &H::RelaySecret, edit_reply: bool, edit: &dyn Fn(&mut Vec<u8>)) {
        let text: &[u8] = if H::CARRIES_MESSAGES { b"extensions" } else { b"" };
        let (client, onionskin) =
            handshake.start(handshake.public(relay), text).expect("our own relay's keys are good");
        let mut sent = onionskin.clone();
        if !edit_reply {
            edit(&mut sent);
        }
        let Ok(request) = handshake.accept(from_ref(relay), &sent) else {
            assert!(sent != onionskin, "{}: an honest onionskin was refused", handshake.name());
            return;
        };
        let Ok((reply, relay_keys)) = request.respond(text) else {
            assert!(sent != onionskin, "{}: an honest onionskin was not answered", handshake.name());
            return;
        };
        let mut received = reply.clone();
        if edit_reply {
            edit(&mut received);
        }
        let honest = sent == onionskin && received == reply;
        match client.finish(&received) {
            Ok(established) => {
                assert!(honest, "{}: a changed message was believed", handshake.name());
                assert!(established.message == text);
                let keys = established.keys.expand(72).expect("72 bytes there always are");
                assert!(keys == relay_keys.expand(72).expect("72 bytes there always are"));
            }
            Err(_) => assert!(!honest, "{}: an honest reply was refused", handshake.name()),
        }
    }
    let [choice, direction, distance, edits @ ..] = data else { return };
    let edit = |message: &mut Vec<u8>| edit(*distance, edits, message);
    let (edit_reply, relays) = (direction % 2 == 1, &*RELAYS);
    match choice % 6 {
        0 => check(NtorDefault::default(), &relays.ntor, edit_reply, &edit),
        1 => check(NtorV3Default::default(), &relays.ntor_v3, edit_reply, &edit),
        2 => check(Hybrid512::default(), &relays.hybrid_512, edit_reply, &edit),
        3 => check(Hybrid768::default(), &relays.hybrid_768, edit_reply, &edit),
        4 => check(Hybrid1024::default(), &relays.hybrid_1024, edit_reply, &edit),
        _ => check(Hybrid768Auth::default(), &relays.hybrid_768_auth, edit_reply, &edit),
    }
}

/// Cuts or extends a message by the signed `distance`, and XORs into it.
fn edit(distance: u8, edits: &[u8], message: &mut Vec<u8>) {
    let length = message.len().saturating_add_signed(isize::from(distance as i8));
    message.resize(length, 0);
    for &[high, low, xor] in edits.as_chunks::<3>().0 {
        if length > 0 {
            message[usize::from(u16::from_be_bytes([high, low])) % length] ^= xor;
        }
    }
}

/// An onionskin for each relay with a fixed key, to start a corpus with.
pub fn honest_onionskins() -> Vec<Vec<u8>> {
    fn make<H: Handshake>(handshake: H, relay: &H::RelaySecret) -> Vec<u8> {
        let text: &[u8] = if H::CARRIES_MESSAGES { b"extensions" } else { b"" };
        handshake.start(handshake.public(relay), text).expect("our own relay's keys are good").1
    }
    let relays = &*RELAYS;
    vec![
        make(NtorDefault::default(), &relays.ntor),
        make(NtorV3Default::default(), &relays.ntor_v3),
        make(Hybrid512::default(), &relays.hybrid_512),
        make(Hybrid768::default(), &relays.hybrid_768),
        make(Hybrid1024::default(), &relays.hybrid_1024),
    ]
}

struct Relays {
    ntor: NtorRelay<X25519>,
    ntor_v3: NtorV3Relay<X25519>,
    hybrid_512: HybridRelay<X25519, NoStaticKem>,
    hybrid_768: HybridRelay<X25519, NoStaticKem>,
    hybrid_1024: HybridRelay<X25519, NoStaticKem>,
    hybrid_768_auth: HybridRelay<X25519, StaticKem<MlKem768>>,
}

static RELAYS: LazyLock<Relays> = LazyLock::new(|| Relays::make().expect("the back ends work"));

impl Relays {
    fn make() -> Result<Self, Error> {
        let key = || X25519::new().secret_from_bytes(&[0x42; 32]);
        Ok(Self {
            ntor: NtorDefault::default().relay([1; 20], key()?)?,
            ntor_v3: NtorV3Default::default().relay([1; 32], key()?)?,
            hybrid_512: Hybrid512::default().relay([1; 32], key()?, ((), ()))?,
            hybrid_768: Hybrid768::default().relay([1; 32], key()?, ((), ()))?,
            hybrid_1024: Hybrid1024::default().relay([1; 32], key()?, ((), ()))?,
            hybrid_768_auth: Hybrid768Auth::default().relay([1; 32], key()?, MlKem768::new().generate()?)?,
        })
    }
}
