//! The in-circuit upgrade: the exchange, and the layers that it gives new keys. Whether the old ones are gone, and what leads to the new ones.

use super::anywhere;
use crate::case::{Case, Leaves};
use crate::probe::{Generator, Probe, step};
use candor_onion::cell::{Command, PAYLOAD};
use candor_onion::handshake::{
    Chain, Client, Confirmation, Handshake, Keys, NtorV3, Request, Upgrade, UpgradeAnswer, UpgradeClient, Upgraded,
};
use candor_onion::layer::{ClientLayer, Crypto, FreshKeys, RelayLayer};
use candor_primitives::dh::dalek::X25519;
use candor_primitives::hash::{Digest, Sha3_256, Sha256};
use candor_primitives::kem::{Kem, libcrux, ml_kem};
use candor_test_support::back_ends::{Draws, Twisted};
use std::slice::from_ref;

/// What is left to be done with an answer.
type Finish<'a> = Box<dyn FnOnce(&[u8]) -> Result<Upgraded, candor_onion::Error> + 'a>;

type Cell = [u8; PAYLOAD];

pub(super) fn cases() -> Vec<Case> {
    vec![
        anywhere("upgrade/tor1", |probe, _| upgrade(probe, ours, Crypto::Tor1), PADDING),
        anywhere("upgrade/cgo", |probe, _| upgrade(probe, ours, Crypto::Cgo), PADDING),
        // Used alone, it leaves all of its secrets behind.
        anywhere("upgrade/libcrux", |probe, _| upgrade(probe, libcrux, Crypto::Cgo), PADDING),
    ]
}

/// Of the client's state, which holds the suite's number.
const PADDING: &[Leaves] = &[
    Leaves { step: "client's finish", stack: 8, heap: 0, names: &[], why: BESIDE_A_NUMBER },
    Leaves { step: "client's whole part", stack: 8, heap: 8, names: &[], why: BESIDE_A_NUMBER },
];
const BESIDE_A_NUMBER: &str =
    "bytes beside a number of one byte in what is moved, copied with whatever lay there before";

fn ours(random: &Generator) -> Twisted<ml_kem::MlKem768, Draws<Generator>> {
    Twisted::new(ml_kem::MlKem768::new(), Draws(random.clone()))
}

fn libcrux(random: &Generator) -> Twisted<libcrux::MlKem768, Draws<Generator>> {
    Twisted::new(libcrux::MlKem768, Draws(random.clone()))
}

fn upgrade<K: Kem + Clone>(probe: &mut Probe, kem: fn(&Generator) -> K, crypto: Crypto) {
    let random = probe.generator("randomness");
    let [ours, theirs] = handshake(probe, &random);
    let length = crypto.key_length();
    probe.know("old keys", &ours.expand(length).expect("keys"));
    probe.know("chain", &ours.expand(length + 52).expect("keys")[length + 20..]);
    let mut relay_end = Some(RelayLayer::new(crypto, &theirs).expect("keys"));
    let mut client_end = Some(ClientLayer::new(crypto, &ours).expect("keys"));
    let (relay, client) = (relay_end.as_mut().expect("made above"), client_end.as_mut().expect("made above"));
    // Some keys are expanded for their first cell only.
    passes_both_ways(probe, client, relay);

    let chain = step!(probe, "chain", [keys: &Keys = &theirs, crypto: Crypto = crypto], {
        Chain::new(keys, crypto.name(), crypto.key_length())
    })
    .expect("keys");
    let clients = Chain::new(&ours, crypto.name(), length).expect("keys");
    let upgrade = Upgrade::new(kem(&random)).expect("it has a number");
    let (waiting, request) =
        step!(probe, "start", [upgrade: &Upgrade<K> = &upgrade], upgrade.start()).expect("a request");
    sent(probe, &request);
    let answer =
        step!(probe, "answer", [upgrade: &Upgrade<K> = &upgrade, request: &[u8] = &request], upgrade.answer(request))
            .expect("a good key");
    let (reply, at_relay) =
        step!(probe, "relay's finish", [answer: UpgradeAnswer = answer, chain: Chain = chain], answer.finish(chain));
    answered(probe, crypto, &request, &reply);
    let at_client = step!(probe, "client's finish", [waiting: UpgradeClient<K> = waiting, chain: Chain = clients, reply: &[u8] = &reply], {
        waiting.finish(chain, reply)
    })
    .expect("a good answer");
    let confirmation = *at_client.confirmation.as_bytes();
    probe.public(&confirmation);
    probe.know("new keys", &at_client.keys.expand(length).expect("keys"));

    // In the order of the protocol: the relay's own direction, both of the client's, and then the relay's other one.
    let mut fresh = Some(
        step!(probe, "relay's keys", [crypto: Crypto = crypto, keys: &Keys = &at_relay.keys], crypto.fresh(keys))
            .expect("keys"),
    );
    let [out, back] = fresh.as_ref().expect("made above");
    step!(probe, "relay replaces inbound", [relay: &mut RelayLayer = relay, keys: &FreshKeys = back], relay.replace(keys)).expect("of its kind");
    step!(probe, "client replaces inbound", [client: &mut ClientLayer = client, keys: &FreshKeys = back], client.replace(keys)).expect("of its kind");
    step!(probe, "client replaces outbound", [client: &mut ClientLayer = client, keys: &FreshKeys = out], client.replace(keys)).expect("of its kind");
    step!(probe, "relay compares", [ours: &Confirmation = &at_relay.confirmation, theirs: &[u8] = &confirmation], ours.check(theirs)).expect("the same");
    step!(probe, "relay replaces outbound", [relay: &mut RelayLayer = relay, keys: &FreshKeys = out], relay.replace(keys)).expect("of its kind");
    step!(probe, "drop keys", [fresh: &mut Option<[FreshKeys; 2]> = &mut fresh], *fresh = None);
    let mut upgraded = Some([at_relay, at_client]);
    step!(probe, "drop", [upgraded: &mut Option<[Upgraded; 2]> = &mut upgraded], *upgraded = None);

    // The same as circuits do it: what is moved from one step to the next leaves no copy either.
    let chains = [&ours, &theirs].map(|keys| Chain::new(keys, crypto.name(), length).expect("keys"));
    let [of_client, of_relay] = chains;
    let (waiting, request) = upgrade.start().expect("a request");
    sent(probe, &request);
    let (reply, at_relay) = step!(probe, "relay's whole part", [upgrade: &Upgrade<K> = &upgrade, request: &[u8] = &request, chain: Chain = of_relay, crypto: Crypto = crypto], {
        upgrade.answer(request).and_then(|answer| {
            let (reply, upgraded) = answer.finish(chain);
            Ok((reply, (crypto.fresh(&upgraded.keys)?, upgraded.confirmation)))
        })
    }).expect("a good key");
    answered(probe, crypto, &request, &reply);
    let at_client = step!(probe, "client's whole part", [waiting: UpgradeClient<K> = waiting, chain: Chain = of_client, reply: &[u8] = &reply, crypto: Crypto = crypto], {
        let finish: Finish<'_> = Box::new(move |reply| waiting.finish(chain, reply));
        finish(reply).and_then(|upgraded| Ok((crypto.fresh(&upgraded.keys)?, upgraded.confirmation)))
    })
    .expect("a good answer");
    probe.public(at_client.1.as_bytes());
    drop((at_relay, at_client));
    passes_both_ways(probe, client, relay);
    step!(probe, "relay drops", [relay_end: &mut Option<RelayLayer> = &mut relay_end], *relay_end = None);
    step!(probe, "client drops", [client_end: &mut Option<ClientLayer> = &mut client_end], *client_end = None);
}

/// UPGRADE: a public key, whose hash is in the secret one as well (FIPS 203 §7.1).
fn sent(probe: &mut Probe, request: &[u8]) {
    probe.public(request);
    probe.public(&Sha3_256::digest(&request[1..]));
}

/// The relay's UPGRADED, and the hash of the transcript.
fn answered(probe: &mut Probe, crypto: Crypto, request: &[u8], reply: &[u8]) {
    probe.public(reply);
    let mut transcript = Sha256::new();
    let ciphertext = &reply[..reply.len() - 32];
    let label = crypto.name().as_bytes();
    for part in [b"candor-upgrade-1/ML-KEM-768", &b"circuit upgrade"[..], label, request, ciphertext] {
        transcript.update((part.len() as u64).to_be_bytes());
        transcript.update(part);
    }
    probe.public(&transcript.finalize());
}

/// The handshake of a circuit: the client's keys and the relay's. `handshake.rs` looks at what it leaves.
fn handshake(probe: &mut Probe, random: &Generator) -> [Keys; 2] {
    let handshake = NtorV3::new(Twisted::new(X25519, Draws(random.clone())));
    let relay = handshake.generate_relay([1; 32]).expect("a relay");
    let (waiting, onionskin) = handshake.start(handshake.public(&relay), b"").expect("an onionskin");
    probe.public(&onionskin);
    let accepted = handshake.accept(from_ref(&relay), &onionskin).expect("an onionskin");
    let (reply, theirs) = accepted.respond(b"").expect("a reply");
    probe.public(&reply);
    [waiting.finish(&reply).expect("a good reply").keys, theirs]
}

fn passes_both_ways(probe: &mut Probe, client: &mut ClientLayer, relay: &mut RelayLayer) {
    let mut cell = own();
    client.originate(Command::RELAY, &mut cell);
    probe.public(&cell);
    assert!(relay.outbound(Command::RELAY, &mut cell).is_some(), "the relay does not get the client's cell");
    let mut cell = own();
    relay.originate(Command::RELAY, &mut cell);
    probe.public(&cell);
    assert!(client.inbound(Command::RELAY, &mut cell).is_some(), "the client does not get the relay's cell");
}

/// A cell whose header is still empty.
fn own() -> Cell {
    let mut cell = [0; PAYLOAD];
    cell[20..].fill(5);
    cell
}
