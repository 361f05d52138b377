//! SM2: keys and their files, signatures, encryption and exchange on each arm.

use super::ec::publish;
use super::on_each;
use crate::case::Case;
use crate::probe::{Generator, Probe, step};
use candor_cpu::Cpu;
use candor_primitives::sm2::{
    Agreement, DEFAULT_ID, DecodePrivateKey, EncodePrivateKey, Exchange, Format, PublicKey, Role, SecretKey,
    SigningKey, Sm2, Sm2Error,
};
use zeroize::Zeroizing;

pub(super) fn cases() -> Vec<Case> {
    on_each(&["portable", "adx"], "sm2", sm2, &[])
}

/// A number below 2^248, of secret bytes.
fn number(probe: &mut Probe, name: &'static str) -> [u8; 32] {
    let bytes: [u8; 31] = probe.secret(name);
    std::array::from_fn(|at| if at == 0 { 0 } else { bytes[at - 1] })
}

fn sm2(probe: &mut Probe, cpu: Cpu) {
    let sm2 = Sm2::with_cpu(cpu);
    let (bytes, ephemeral) = (number(probe, "key"), number(probe, "key of the exchange"));
    let made = step!(probe, "key", [sm2: &Sm2 = &sm2, bytes: &[u8; 32] = &bytes], sm2.secret_from_bytes(bytes));
    let mut made = Some(made.expect("a key"));
    let key = made.as_ref().expect("made above");
    publish(probe, key.public_key());
    keys(probe, &sm2, key);
    let signing = step!(probe, "signing key", [key: &SecretKey = key], key.signing_key(DEFAULT_ID));
    let mut signing = Some(signing.expect("an identity"));
    let signer = signing.as_ref().expect("made above");
    let signature = step!(probe, "sign", [signer: &SigningKey = signer], signer.sign_digest(&[3; 32]));
    probe.public(&signature.expect("randomness").to_bytes());

    let (secret, mut random): ([u8; 40], _) = (probe.secret("message"), probe.generator("nonce"));
    let ciphertext = step!(probe, "encrypt", [public: &PublicKey = key.public_key(), message: &[u8] = &secret, random: &mut Generator = &mut random], {
        public.encrypt_with(message, Format::C1C3C2, random)
    }).expect("a message");
    probe.public(&ciphertext);
    let message = step!(
        probe,
        "decrypt",
        [key: &SecretKey = key, ciphertext: &[u8] = &ciphertext],
        key.decrypt(ciphertext, Format::C1C3C2)
    );
    drop::<Zeroizing<Vec<u8>>>(message.expect("its own ciphertext"));

    let peer = sm2.secret_from_bytes(&[9; 32]).expect("a key");
    step!(probe, "begin", [key: &SecretKey = key], Exchange::new(Role::Initiator, key, b"a")).expect("randomness");
    let ephemeral = sm2.secret_from_bytes(&ephemeral).expect("a key");
    publish(probe, ephemeral.public_key());
    probe.public(&key.public_key().identity_digest(b"a").expect("a short identity"));
    let exchange = step!(probe, "begin with a key", [key: &SecretKey = key, ephemeral: SecretKey = ephemeral], {
        Exchange::with_ephemeral(Role::Initiator, key, b"a", ephemeral)
    });
    let exchange = exchange.expect("an identity");
    let of_peer = Exchange::with_ephemeral(Role::Responder, &peer, b"b", peer.clone()).expect("an identity");
    let of_peer = of_peer.agree(key.public_key(), b"a", exchange.ephemeral(), 32).expect("keys");
    let mut exchange = Some(exchange);
    let agreed: Result<Agreement, Sm2Error> = step!(
        probe,
        "agree",
        [exchange: &mut Option<Exchange> = &mut exchange, peer: &PublicKey = peer.public_key()],
        exchange.take().expect("made above").agree(peer, b"b", peer, 32)
    );
    let agreed = agreed.expect("keys");
    probe.public(agreed.confirmation());
    probe.public(of_peer.confirmation());
    let agreed_key = step!(
        probe,
        "confirm",
        [agreed: Agreement = agreed, confirmation: &[u8; 32] = of_peer.confirmation()],
        agreed.confirmed_by(confirmation)
    );
    probe.know("key agreed", &agreed_key.expect("the peer's confirmation"));
    step!(probe, "without confirmation", [agreed: Agreement = of_peer], agreed.unconfirmed());
    step!(probe, "drop of the signing key", [signing: &mut Option<SigningKey> = &mut signing], *signing = None);
    step!(probe, "drop of the key", [made: &mut Option<SecretKey> = &mut made], *made = None);
}

/// Keys made, copied, and written to files and read.
fn keys(probe: &mut Probe, sm2: &Sm2, key: &SecretKey) {
    step!(probe, "copy", [key: &SecretKey = key], key.clone());
    step!(probe, "generate", [sm2: &Sm2 = sm2], sm2.generate()).expect("randomness");
    let mut random = probe.generator("key, generated");
    let made = step!(probe, "generate with", [sm2: &Sm2 = sm2, random: &mut Generator = &mut random], {
        sm2.generate_with(random)
    })
    .expect("a key");
    publish(probe, made.public_key());
    step!(probe, "bytes", [key: &SecretKey = key], key.to_bytes());
    let der = step!(probe, "to PKCS#8", [key: &SecretKey = key], key.to_pkcs8_der()).expect("a form");
    step!(probe, "from PKCS#8", [der: &[u8] = der.as_bytes()], SecretKey::from_pkcs8_der(der)).expect("a key");
}
