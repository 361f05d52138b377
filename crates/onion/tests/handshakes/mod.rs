//! Every handshake on every back end, for tests that are generic over them.
#![allow(dead_code, unused_macros)] // not every test file uses all of it

use candor_onion::Error;
use candor_onion::handshake::{Client, Handshake, Keys, Request};
use std::slice::from_ref;

/// Calls `$check(handshake)` with every handshake on the default back ends.
macro_rules! every_handshake {
    ($check:ident) => {{
        use candor_onion::handshake::*;
        $check(NtorDefault::default());
        $check(NtorV3Default::default());
        every_handshake!(hybrids $check, ml_kem, x25519);
    }};
    (hybrids $check:ident, $kem:ident, $dh:ident) => {{
        use candor_onion::handshake::*;
        use candor_primitives::{dh, kem};
        $check(Hybrid::<kem::$kem::MlKem512, dh::$dh::X25519, NoStaticKem>::default());
        $check(Hybrid::<kem::$kem::MlKem768, dh::$dh::X25519, NoStaticKem>::default());
        $check(Hybrid::<kem::$kem::MlKem1024, dh::$dh::X25519, NoStaticKem>::default());
        $check(Hybrid::<kem::$kem::MlKem512, dh::$dh::X25519, StaticKem<kem::$kem::MlKem512>>::default());
        $check(Hybrid::<kem::$kem::MlKem768, dh::$dh::X25519, StaticKem<kem::$kem::MlKem768>>::default());
        $check(Hybrid::<kem::$kem::MlKem1024, dh::$dh::X25519, StaticKem<kem::$kem::MlKem1024>>::default());
    }};
}

/// Calls `$check(handshake)` with every handshake on every back end but the default ones, and with two different KEMs
/// in one handshake.
macro_rules! every_other_back_end {
    ($check:ident) => {{
        use candor_onion::handshake::*;
        use candor_primitives::{dh, kem};
        $check(Ntor::<dh::dalek::X25519>::default());
        $check(NtorV3::<dh::dalek::X25519>::default());
        $check(Ntor::<dh::aws_lc::X25519>::default());
        $check(NtorV3::<dh::aws_lc::X25519>::default());
        every_handshake!(hybrids $check, aws_lc, aws_lc);
        every_handshake!(hybrids $check, libcrux, dalek);
        every_handshake!(hybrids $check, rustcrypto, aws_lc);
        $check(Hybrid::<kem::aws_lc::MlKem768, dh::aws_lc::X25519, StaticKem<kem::rustcrypto::MlKem1024>>::default());
    }};
}

/// An identity of the handshake's length.
pub(crate) fn identity<H: Handshake>(fill: u8) -> H::Identity {
    let mut identity = H::Identity::default();
    identity.as_mut().fill(fill);
    identity
}

/// A message, if the handshake can carry one.
pub(crate) fn message<H: Handshake>(text: &[u8]) -> &[u8] {
    if H::CARRIES_MESSAGES { text } else { b"" }
}

pub(crate) fn keys(keys: &Keys) -> Vec<u8> {
    keys.expand(72).unwrap().to_vec()
}

/// A whole handshake whose messages are edited on the way; the client's keys if it gets that far.
pub(crate) fn tampered<H: Handshake>(
    handshake: &H,
    relay: &H::RelaySecret,
    onionskin_to: impl FnOnce(&mut Vec<u8>),
    reply_to: impl FnOnce(&mut Vec<u8>),
) -> Result<Vec<u8>, Error> {
    let (client, mut onionskin) = handshake.start(handshake.public(relay), message::<H>(b"client"))?;
    onionskin_to(&mut onionskin);
    let (mut reply, _) = handshake.accept(from_ref(relay), &onionskin)?.respond(message::<H>(b"relay"))?;
    reply_to(&mut reply);
    Ok(keys(&client.finish(&reply)?.keys))
}
