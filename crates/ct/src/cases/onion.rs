//! Handshakes, phase by phase: the client's ephemeral keys, the relay's onion keys and its ephemeral ones are secret; what either
//! side sends is published.
//!
//! The side under check runs on back ends that poison every secret key and all coins as they are made; the other side runs on
//! clean ones, and both must end with the same keys. X25519 is dalek's here and ML-KEM is libcrux's: both are clean on their own
//! (`cases/dh.rs`, `cases/kem.rs`), so that a report is the handshake's.

use candor_cpu::{Cpu, secret};
use candor_onion::Error;
use candor_onion::handshake::{
    Chain, Client, Handshake, Hybrid, Keys, NoStaticKem, Ntor, NtorRelayPublic, NtorV3, NtorV3RelayPublic, Replies,
    Request, StaticKem, Upgrade,
};
use candor_primitives::SharedSecret;
use candor_primitives::dh::{DhError, DiffieHellman, dalek::X25519};
use candor_primitives::kem::ml_kem::ML_KEM_768;
use candor_primitives::kem::{DerandomizedKem, Kem, KemError, libcrux::MlKem768};
use std::hint::black_box;
use std::slice::from_ref;
use zeroize::Zeroizing;

/// The client up to its onionskin.
pub(crate) fn ntor_start(_: Cpu) {
    let (clean, relay) = (Ntor::new(X25519), Ntor::new(X25519).generate_relay([1; 20]).expect("a relay"));
    start(Ntor::new(SecretDh), clean.public(&relay), &clean, &relay);
}

/// The client up to its keys.
pub(crate) fn ntor_finish(_: Cpu) {
    let (clean, relay) = (Ntor::new(X25519), Ntor::new(X25519).generate_relay([1; 20]).expect("a relay"));
    finish(Ntor::new(SecretDh), clean.public(&relay), &clean, &relay);
}

/// The relay from onionskin to keys.
pub(crate) fn ntor_respond(_: Cpu) {
    let secret = Ntor::new(SecretDh);
    let relay = secret.generate_relay([1; 20]).expect("a relay");
    let known = NtorRelayPublic { ..*secret.public(&relay) };
    respond(secret, &relay, Ntor::new(X25519), &known);
}

pub(crate) fn ntor_v3_start(_: Cpu) {
    let (clean, relay) = (NtorV3::new(X25519), NtorV3::new(X25519).generate_relay([1; 32]).expect("a relay"));
    start(NtorV3::new(SecretDh), clean.public(&relay), &clean, &relay);
}

pub(crate) fn ntor_v3_finish(_: Cpu) {
    let (clean, relay) = (NtorV3::new(X25519), NtorV3::new(X25519).generate_relay([1; 32]).expect("a relay"));
    finish(NtorV3::new(SecretDh), clean.public(&relay), &clean, &relay);
}

pub(crate) fn ntor_v3_respond(_: Cpu) {
    let secret = NtorV3::new(SecretDh);
    let relay = secret.generate_relay([1; 32]).expect("a relay");
    let known = NtorV3RelayPublic { ..*secret.public(&relay) };
    respond(secret, &relay, NtorV3::new(X25519), &known);
}

pub(crate) fn hybrid_start(_: Cpu) {
    let (secret, clean) = hybrids();
    let relay = clean.generate_relay([1; 32]).expect("a relay");
    start(secret, clean.public(&relay), &clean, &relay);
}

pub(crate) fn hybrid_finish(_: Cpu) {
    let (secret, clean) = hybrids();
    let relay = clean.generate_relay([1; 32]).expect("a relay");
    finish(secret, clean.public(&relay), &clean, &relay);
}

pub(crate) fn hybrid_respond(_: Cpu) {
    let (secret, clean) = hybrids();
    let relay = secret.generate_relay([1; 32]).expect("a relay");
    let known = clean.relay_public([1; 32], *secret.public(&relay).onion_key(), ()).expect("its public keys");
    respond(secret, &relay, clean, &known);
}

/// With the encapsulation to the static KEM key.
pub(crate) fn hybrid_auth_start(_: Cpu) {
    let (secret, clean) = auth_hybrids();
    let relay = clean.generate_relay([1; 32]).expect("a relay");
    let known = known_to(&secret, clean.public(&relay).onion_key(), clean.public(&relay).static_kem());
    start(secret, &known, &clean, &relay);
}

/// With the static KEM key.
pub(crate) fn hybrid_auth_respond(_: Cpu) {
    let (secret, clean) = auth_hybrids();
    let relay = secret.generate_relay([1; 32]).expect("a relay");
    let known = known_to(&clean, secret.public(&relay).onion_key(), secret.public(&relay).static_kem());
    respond(secret, &relay, clean, &known);
}

/// The relay from several onionskins to keys.
pub(crate) fn ntor_answer_many(_: Cpu) {
    let secret = Ntor::new(SecretDh);
    let relay = secret.generate_relay([1; 20]).expect("a relay");
    let known = NtorRelayPublic { ..*secret.public(&relay) };
    answer_many(secret, &relay, Ntor::new(X25519), &known);
}

pub(crate) fn ntor_v3_answer_many(_: Cpu) {
    let secret = NtorV3::new(SecretDh);
    let relay = secret.generate_relay([1; 32]).expect("a relay");
    let known = NtorV3RelayPublic { ..*secret.public(&relay) };
    answer_many(secret, &relay, NtorV3::new(X25519), &known);
}

pub(crate) fn hybrid_answer_many(_: Cpu) {
    let (secret, clean) = hybrids();
    let relay = secret.generate_relay([1; 32]).expect("a relay");
    let known = clean.relay_public([1; 32], *secret.public(&relay).onion_key(), ()).expect("its public keys");
    answer_many(secret, &relay, clean, &known);
}

pub(crate) fn hybrid_auth_answer_many(_: Cpu) {
    let (secret, clean) = auth_hybrids();
    let relay = secret.generate_relay([1; 32]).expect("a relay");
    let known = known_to(&clean, secret.public(&relay).onion_key(), secret.public(&relay).static_kem());
    answer_many(secret, &relay, clean, &known);
}

/// The client's end of an in-circuit upgrade, after a handshake with secret keys.
pub(crate) fn upgrade_finish(_: Cpu) {
    let (clean, relay) = (NtorV3::new(X25519), NtorV3::new(X25519).generate_relay([1; 32]).expect("a relay"));
    let (waiting, onionskin) = NtorV3::new(SecretDh).start(clean.public(&relay), b"").expect("an onionskin");
    secret::declassify(&onionskin, "onionskin");
    let (reply, theirs) =
        clean.accept(from_ref(&relay), &onionskin).expect("an onionskin").respond(b"").expect("a reply");
    let ours = waiting.finish(&reply).expect("the client believes it").keys;

    secret::reset();
    let (waiting, request) = Upgrade::new(SecretKem).expect("it has a number").start().expect("UPGRADE");
    let answer = Upgrade::new(MlKem768).expect("it has a number").answer(&request).expect("a good key");
    let (reply, theirs) = answer.finish(chain(&theirs));
    let upgraded = waiting.finish(chain(&ours), &reply).expect("the client believes it");
    secret::declassify(upgraded.confirmation.as_bytes(), "reply");
    theirs.confirmation.check(upgraded.confirmation.as_bytes()).expect("the relay believes it");
    same_keys(&upgraded.keys, &theirs.keys);
}

/// The relay's.
pub(crate) fn upgrade_answer(_: Cpu) {
    let secret = NtorV3::new(SecretDh);
    let relay = secret.generate_relay([1; 32]).expect("a relay");
    let (waiting, onionskin) = NtorV3::new(X25519).start(secret.public(&relay), b"").expect("an onionskin");
    let (reply, ours) =
        secret.accept(from_ref(&relay), &onionskin).expect("an onionskin").respond(b"").expect("a reply");
    secret::declassify(&reply, "reply");
    let theirs = waiting.finish(&reply).expect("the client believes it").keys;

    secret::reset();
    let (waiting, request) = Upgrade::new(MlKem768).expect("it has a number").start().expect("UPGRADE");
    let answer = Upgrade::new(SecretKem).expect("it has a number").answer(&request).expect("a good key");
    let (reply, upgraded) = answer.finish(chain(&ours));
    secret::declassify(&reply, "reply");
    let theirs = waiting.finish(chain(&theirs), &reply).expect("the client believes it");
    let mut wrong = *theirs.confirmation.as_bytes();
    wrong[31] ^= 1;
    assert!(upgraded.confirmation.check(&wrong).is_err());
    upgraded.confirmation.check(theirs.confirmation.as_bytes()).expect("the relay believes it");
    same_keys(&upgraded.keys, &theirs.keys);
}

fn chain(keys: &Keys) -> Chain {
    Chain::new(keys, "cgo", 160).expect("keys")
}

fn same_keys(ours: &Keys, theirs: &Keys) {
    let ours = ours.expand(160).expect("keys");
    secret::declassify(&ours, "result");
    assert!(ours == theirs.expand(160).expect("keys"), "the result is wrong, so whatever ran was no upgrade");
}

type SecretHybrid = Hybrid<SecretKem, SecretDh, NoStaticKem>;
type CleanHybrid = Hybrid<MlKem768, X25519, NoStaticKem>;

fn hybrids() -> (SecretHybrid, CleanHybrid) {
    (Hybrid::new(SecretKem, SecretDh, NoStaticKem), Hybrid::new(MlKem768, X25519, NoStaticKem))
}

type SecretAuth = Hybrid<SecretKem, SecretDh, StaticKem<SecretKem>>;
type CleanAuth = Hybrid<MlKem768, X25519, StaticKem<MlKem768>>;

fn auth_hybrids() -> (SecretAuth, CleanAuth) {
    let secret = Hybrid::new(SecretKem, SecretDh, StaticKem(SecretKem));
    (secret, Hybrid::new(MlKem768, X25519, StaticKem(MlKem768)))
}

/// The relay's public keys as the other side's type has them.
fn known_to<K: Kem + Clone, D: DiffieHellman + Clone, S: Kem<Public = <MlKem768 as Kem>::Public> + Clone>(
    side: &Hybrid<K, D, StaticKem<S>>,
    onion_key: &[u8; 32],
    static_kem: &S::Public,
) -> <Hybrid<K, D, StaticKem<S>> as Handshake>::RelayPublic {
    let mut bytes = vec![0; MlKem768::PUBLIC];
    MlKem768.public_to_bytes(static_kem, &mut bytes).expect("its bytes");
    let again = MlKem768.public_from_bytes(&bytes).expect("a good key");
    side.relay_public([1; 32], *onion_key, again).expect("its public keys")
}

fn text<H: Handshake>(text: &'static [u8]) -> &'static [u8] {
    if H::CARRIES_MESSAGES { text } else { b"" }
}

fn start<S: Handshake, C: Handshake>(client: S, known: &S::RelayPublic, clean: &C, relay: &C::RelaySecret) {
    secret::reset();
    let (_, onionskin) = client.start(known, text::<S>(b"client's extensions")).expect("an onionskin");
    secret::declassify(&onionskin, "onionskin");
    let request = clean.accept(from_ref(relay), &onionskin).expect("the relay accepts it");
    assert!(
        request.message() == text::<S>(b"client's extensions"),
        "the result is wrong, so whatever ran was no handshake"
    );
}

fn finish<S: Handshake, C: Handshake>(client: S, known: &S::RelayPublic, clean: &C, relay: &C::RelaySecret) {
    secret::reset();
    let (waiting, onionskin) = client.start(known, text::<S>(b"client's extensions")).expect("an onionskin");
    secret::declassify(&onionskin, "onionskin");
    let request = clean.accept(from_ref(relay), &onionskin).expect("the relay accepts it");
    let (reply, theirs) = request.respond(text::<S>(b"relay's extensions")).expect("a reply");
    let established = waiting.finish(&reply).expect("the client believes it");
    let ours = established.keys.expand(72).expect("keys");
    secret::declassify(&ours, "result");
    secret::declassify(&established.message, "result");
    assert!(established.message == text::<S>(b"relay's extensions"));
    assert!(ours == theirs.expand(72).expect("keys"), "the result is wrong, so whatever ran was no handshake");
}

fn respond<S: Handshake, C: Handshake>(relay_side: S, relay: &S::RelaySecret, clean: C, known: &C::RelayPublic) {
    secret::reset();
    let (waiting, onionskin) = clean.start(known, text::<S>(b"client's extensions")).expect("an onionskin");
    let request = relay_side.accept(from_ref(relay), &onionskin).expect("the relay accepts it");
    secret::declassify(request.message(), "result");
    assert!(request.message() == text::<S>(b"client's extensions"));
    let (reply, ours) = request.respond(text::<S>(b"relay's extensions")).expect("a reply");
    secret::declassify(&reply, "reply");
    let ours = ours.expand(72).expect("keys");
    secret::declassify(&ours, "result");
    let theirs = waiting.finish(&reply).expect("the client believes it").keys.expand(72).expect("keys");
    assert!(ours == theirs, "the result is wrong, so whatever ran was no handshake");
}

/// Two good onionskins, and one between them that names the relay and is spoilt: its fate is public, and the others have keys.
fn answer_many<S: Handshake, C: Handshake>(relay_side: S, relay: &S::RelaySecret, clean: C, known: &C::RelayPublic) {
    secret::reset();
    let client = || clean.start(known, text::<S>(b"client's extensions")).expect("an onionskin");
    let (clients, mut onionskins): (Vec<_>, Vec<_>) = [client(), client(), client()].into_iter().unzip();
    *onionskins[1].last_mut().expect("it has bytes") ^= 1;
    let onionskins: Vec<_> = onionskins.iter().map(Vec::as_slice).collect();
    let mut answers = Answers { message: text::<S>(b"relay's extensions"), answers: vec![None, None, None] };
    relay_side.answer_many(from_ref(relay), &onionskins, &mut answers);
    for (at, (client, answer)) in clients.into_iter().zip(answers.answers).enumerate() {
        let finished = answer.and_then(|(reply, ours)| {
            let theirs = client.finish(&reply).ok()?.keys.expand(72).expect("keys");
            Some(*ours == *theirs)
        });
        let expected = if at == 1 { None } else { Some(true) };
        assert!(finished == expected, "the result is wrong, so whatever ran was no handshake");
    }
}

/// A reply and its keys, published.
type Published = Option<(Vec<u8>, Zeroizing<Vec<u8>>)>;

struct Answers {
    message: &'static [u8],
    answers: Vec<Published>,
}

impl Replies for Answers {
    fn message(&mut self, _: usize, message: &[u8]) -> Result<Vec<u8>, Error> {
        secret::declassify(message, "result");
        assert!(message.is_empty() || message == b"client's extensions");
        Ok(self.message.to_vec())
    }

    fn answered(&mut self, at: usize, answer: Result<(Vec<u8>, Keys), Error>) {
        self.answers[at] = answer.ok().map(|(reply, keys)| {
            secret::declassify(&reply, "reply");
            let keys = keys.expand(72).expect("keys");
            secret::declassify(&keys, "result");
            (reply, keys)
        });
    }
}

/// dalek's X25519 with every secret key poisoned; public keys are published.
#[derive(Clone)]
struct SecretDh;

impl DiffieHellman for SecretDh {
    type Secret = <X25519 as DiffieHellman>::Secret;

    fn generate(&self) -> Result<(Self::Secret, [u8; 32]), DhError> {
        let bytes = X25519.secret_to_bytes(&X25519.generate()?.0)?;
        let secret = self.secret_from_bytes(&bytes)?;
        let public = self.public_of(&secret)?;
        Ok((secret, public))
    }

    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<Self::Secret, DhError> {
        let poisoned = Zeroizing::new(*bytes);
        secret::poison(poisoned.as_slice());
        X25519.secret_from_bytes(&poisoned)
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        X25519.secret_to_bytes(secret)
    }

    fn public_of(&self, secret: &Self::Secret) -> Result<[u8; 32], DhError> {
        // Read again, from memory, as in `secret::declassified`.
        let public = black_box(X25519.public_of(secret)?);
        secret::declassify(&public, "public-key");
        Ok(*black_box(&public))
    }

    fn agree(&self, secret: &Self::Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        X25519.agree(secret, peer)
    }
}

/// libcrux's ML-KEM-768 with every secret key and all coins of encapsulations poisoned; ciphertexts are published.
#[derive(Clone)]
pub(super) struct SecretKem;

impl Kem for SecretKem {
    type Secret = <MlKem768 as Kem>::Secret;
    type Public = <MlKem768 as Kem>::Public;

    const NAME: &'static str = MlKem768::NAME;
    const PUBLIC: usize = MlKem768::PUBLIC;
    const SECRET: usize = MlKem768::SECRET;
    const CIPHERTEXT: usize = MlKem768::CIPHERTEXT;

    fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
        let (secret, public) = MlKem768.generate()?;
        let dk = MlKem768.secret_to_bytes(&secret)?;
        Ok((self.secret_from_bytes(&dk)?, public))
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
        MlKem768.public_from_bytes(bytes)
    }

    fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        MlKem768.public_to_bytes(public, bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
        let poisoned = Zeroizing::new(bytes.to_vec());
        secret::poison(&poisoned[ML_KEM_768.dk_pke()]);
        secret::poison(&poisoned[ML_KEM_768.z()]);
        MlKem768.secret_from_bytes(&poisoned)
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        MlKem768.secret_to_bytes(secret)
    }

    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.encapsulate_from(to, &[0x3c; MlKem768::ENCAPSULATE_COINS], ciphertext)
    }

    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        MlKem768.decapsulate(with, ciphertext)
    }
}

impl DerandomizedKem for SecretKem {
    const GENERATE_COINS: usize = MlKem768::GENERATE_COINS;
    const ENCAPSULATE_COINS: usize = MlKem768::ENCAPSULATE_COINS;

    fn generate_from(&self, coins: &[u8]) -> Result<(Self::Secret, Self::Public), KemError> {
        // The key pair is made from public coins, since its matrix is; then its secret parts are poisoned.
        let coins = Zeroizing::new(coins.to_vec());
        secret::declassify(&coins, "kem-seed");
        let (secret, public) = MlKem768.generate_from(&coins)?;
        let dk = MlKem768.secret_to_bytes(&secret)?;
        Ok((self.secret_from_bytes(&dk)?, public))
    }

    fn encapsulate_from(
        &self,
        to: &Self::Public,
        coins: &[u8],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError> {
        let coins = Zeroizing::new(coins.to_vec());
        secret::poison(&coins);
        let shared = MlKem768.encapsulate_from(to, &coins, ciphertext)?;
        secret::declassify(ciphertext, "ciphertext");
        Ok(shared)
    }
}
