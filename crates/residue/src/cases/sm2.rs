//! SM2: keys, signatures, decryption and exchange on each arm.

use super::on_each;
use crate::case::Case;
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::sm2::{
    Agreement, DEFAULT_ID, Exchange, Format, PublicKey, Role, SecretKey, SigningKey, Sm2, Sm2Error,
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
    let signing = step!(probe, "signing key", [key: &SecretKey = key], key.signing_key(DEFAULT_ID));
    let mut signing = Some(signing.expect("an identity"));
    let signer = signing.as_ref().expect("made above");
    let signature = step!(probe, "sign", [signer: &SigningKey = signer], signer.sign_digest(&[3; 32]));
    probe.public(&signature.expect("randomness").to_bytes());

    let ciphertext = key.public_key().encrypt(&[0x77; 40], Format::C1C3C2).expect("randomness");
    probe.public(&ciphertext);
    let message = step!(
        probe,
        "decrypt",
        [key: &SecretKey = key, ciphertext: &[u8] = &ciphertext],
        key.decrypt(ciphertext, Format::C1C3C2)
    );
    drop::<Zeroizing<Vec<u8>>>(message.expect("its own ciphertext"));

    let peer = sm2.secret_from_bytes(&[9; 32]).expect("a key");
    let ephemeral = sm2.secret_from_bytes(&ephemeral).expect("a key");
    publish(probe, ephemeral.public_key());
    let mut exchange = Some(Exchange::with_ephemeral(Role::Initiator, key, b"a", ephemeral).expect("an identity"));
    let agreed: Result<Agreement, Sm2Error> = step!(
        probe,
        "agree",
        [exchange: &mut Option<Exchange> = &mut exchange, peer: &PublicKey = peer.public_key()],
        exchange.take().expect("made above").agree(peer, b"b", peer, 32)
    );
    probe.public(agreed.expect("keys").confirmation());
    step!(probe, "drop of the signing key", [signing: &mut Option<SigningKey> = &mut signing], *signing = None);
    step!(probe, "drop of the key", [made: &mut Option<SecretKey> = &mut made], *made = None);
}

/// A public key may be anywhere, in any form.
fn publish(probe: &mut Probe, public: &PublicKey) {
    probe.public(&public.to_bytes());
}
