//! SM2 with a secret key, and with a secret message and nonce; signatures and ciphertexts are published when they are ready.

use super::generator;
use crate::case::{Case, Expect};
use candor_cpu::{Cpu, secret};
use candor_primitives::sm2::{DEFAULT_ID, Exchange, Format, Role, Sm2};

pub(super) const CASES: &[Case] = &[
    own("sm2/keygen@portable", "portable", keygen),
    own("sm2/keygen@adx", "adx", keygen),
    own("sm2/sign@portable", "portable", sign),
    own("sm2/sign@adx", "adx", sign),
    own("sm2/encrypt@portable", "portable", encrypt),
    own("sm2/encrypt@adx", "adx", encrypt),
    own("sm2/decrypt@portable", "portable", decrypt),
    own("sm2/decrypt@adx", "adx", decrypt),
    own("sm2/exchange@portable", "portable", exchange),
    own("sm2/exchange@adx", "adx", exchange),
];

const fn own(name: &'static str, arm: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("SM2", arm), tier: arm, kernel: None, expect: Expect::Clean, run }
}

/// Bytes of a secret key, all in range.
const KEY: [u8; 32] = [0x5a; 32];

fn poisoned() -> [u8; 32] {
    let key = KEY;
    secret::poison(&key);
    key
}

fn keygen(cpu: Cpu) {
    let sm2 = Sm2::with_cpu(cpu);
    let expected = sm2.secret_from_bytes(&KEY).expect("a key").public_key().to_bytes();
    secret::reset();
    let secret = sm2.secret_from_bytes(&poisoned()).expect("a key");
    assert!(secret.public_key().to_bytes() == expected, "the result is wrong, so whatever ran was not SM2");
}

fn sign(cpu: Cpu) {
    let sm2 = Sm2::with_cpu(cpu);
    let secret = sm2.secret_from_bytes(&poisoned()).expect("a key");
    let signing = secret.signing_key(DEFAULT_ID).expect("an identity");
    secret::reset();
    let signature = signing.sign_digest(&[3; 32]).expect("randomness");
    let verified = signing.verifying_key().verify_digest(&[3; 32], &signature);
    assert!(verified.is_ok(), "the result is wrong, so whatever ran was not SM2");
}

fn encrypt(cpu: Cpu) {
    let secret = Sm2::with_cpu(cpu).secret_from_bytes(&KEY).expect("a key");
    let message = *b"an offer of more than 32 bytes, which is two digests";
    secret::reset();
    secret::poison(&message);
    let ciphertext =
        secret.public_key().encrypt_with(&message, Format::C1C3C2, &mut generator::poisoned(7)).expect("a message");
    secret::declassify(&message, "result");
    let same = secret::aside(|| secret.decrypt(&ciphertext, Format::C1C3C2).expect("its key").as_slice() == message);
    assert!(same, "the result is wrong, so whatever ran was not SM2");
}

fn decrypt(cpu: Cpu) {
    let sm2 = Sm2::with_cpu(cpu);
    let message = *b"an offer of more than 32 bytes, which is two digests";
    let public = sm2.secret_from_bytes(&KEY).expect("a key").public_key().clone();
    let ciphertext = public.encrypt(&message, Format::Asn1).expect("randomness");
    let mut changed = ciphertext.clone();
    *changed.last_mut().expect("it is not empty") ^= 1;
    let secret = sm2.secret_from_bytes(&poisoned()).expect("a key");
    secret::reset();
    let found = secret.decrypt(&ciphertext, Format::Asn1).expect("its key");
    secret::declassify(&found, "result");
    assert!(found.as_slice() == message, "the result is wrong, so whatever ran was not SM2");
    assert!(secret.decrypt(&changed, Format::Asn1).is_err(), "a changed ciphertext was accepted");
}

fn exchange(cpu: Cpu) {
    let sm2 = Sm2::with_cpu(cpu);
    let (ours, theirs) =
        (sm2.secret_from_bytes(&poisoned()).expect("a key"), sm2.secret_from_bytes(&[9; 32]).expect("a key"));
    let peer = Exchange::new(Role::Responder, &theirs, b"b").expect("randomness");
    let ephemeral = sm2.generate_with(&mut generator::poisoned(3)).expect("a key");
    let us = Exchange::with_ephemeral(Role::Initiator, &ours, b"a", ephemeral).expect("an identity");
    let (to_peer, to_us) = (us.ephemeral().clone(), peer.ephemeral().clone());
    secret::reset();
    let agreed = us.agree(theirs.public_key(), b"b", &to_us, 40).expect("keys");
    let confirmation = *agreed.confirmation();
    secret::declassify(&confirmation, "result");
    let peer = secret::aside(|| peer.agree(ours.public_key(), b"a", &to_peer, 40).expect("keys"));
    let key = agreed.confirmed_by(peer.confirmation()).expect("the peer has the same key");
    secret::declassify(&key, "keys");
    let same = secret::aside(|| peer.confirmed_by(&confirmation).expect("we have the same key") == key);
    assert!(same, "the result is wrong, so whatever ran was not SM2");
}
