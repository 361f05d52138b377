//! The body for the messages of an in-circuit upgrade.

use super::edit;
use candor_onion::handshake::{Chain, Handshake, Keys, NtorV3Default, Request, Upgrade};
use candor_primitives::kem::ml_kem::MlKem768;
use std::slice::from_ref;
use std::sync::LazyLock;

/// Keys of a handshake that no message here has anything to do with.
static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let handshake = NtorV3Default::default();
    let relay = handshake.generate_relay([1; 32]).expect("the back end works");
    let (_, onionskin) = handshake.start(handshake.public(&relay), b"").expect("good keys");
    handshake.accept(from_ref(&relay), &onionskin).expect("an honest client").respond(b"").expect("an honest client").1
});

fn chain() -> Chain {
    Chain::new(&KEYS, "cgo", 160).expect("enough keys")
}

/// Messages of an upgrade. A relay answers each UPGRADE that it accepts, a client believes only the answer to its own, and a relay only its client's confirmation. Data: what
/// comes from anywhere, UPGRADE (0), the relay's UPGRADED (1) or the client's (2), and then it; or which of these is edited on its way (3, 4, 5), and the edits as
/// in [`super::edits`].
pub fn upgrade(data: &[u8]) {
    let [choice, data @ ..] = data else { return };
    let upgrade = Upgrade::new(MlKem768::new()).expect("it has a number");
    let choice = choice % 6;
    let on_the_way = |place: u8, message: &[u8]| {
        let mut changed = message.to_vec();
        match choice.checked_sub(3) {
            Some(edited) if edited == place => {
                let [distance, edits @ ..] = data else { return changed };
                edit(*distance, edits, &mut changed);
            }
            None if choice == place => changed = data.to_vec(),
            _ => {}
        }
        changed
    };

    let (waiting, request) = upgrade.start().expect("the back end works");
    let arrived = on_the_way(0, &request);
    let Ok(answer) = upgrade.answer(&arrived) else {
        assert!(arrived != request, "an honest UPGRADE was refused");
        return;
    };
    assert!(arrived.len() == Upgrade::<MlKem768>::REQUEST);
    let (reply, at_relay) = answer.finish(chain());
    assert!(reply.len() == Upgrade::<MlKem768>::REPLY);
    let received = on_the_way(1, &reply);
    let is_honest = arrived == request && received == reply;
    let Ok(at_client) = waiting.finish(chain(), &received) else {
        assert!(!is_honest, "an honest answer was refused");
        return;
    };
    assert!(is_honest, "a changed message was believed");
    assert!(at_client.keys.expand(160) == at_relay.keys.expand(160));
    let confirmation = at_client.confirmation.as_bytes();
    let came = on_the_way(2, confirmation);
    assert!(at_relay.confirmation.check(&came).is_ok() == (came == confirmation));
}
