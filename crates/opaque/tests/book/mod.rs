//! The server's half of a hybrid login once more, from `docs/hybrid.md` alone: no code of the crate's hybrid is used.
//!
//! It is slow and plain: every hash over whole byte strings, HKDF from crate `hkdf`, every product encoded on its own. What the hybrid takes
//! over from RFC 9807 unchanged (the OPRF and the masked response) comes from the caller, who has it from the suite `rfc9807`.

use curve25519_dalek::{RistrettoPoint, Scalar, ristretto::CompressedRistretto};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha512};

/// What goes into a hybrid login apart from the Diffie-Hellman secrets.
pub(crate) struct Inputs<'a> {
    /// `hybrid` or `hybrid-pinned`.
    pub(crate) suite: &'a str,
    pub(crate) ksf: &'a [u8],
    pub(crate) context: &'a [u8],
    /// EK_s; empty in `hybrid`.
    pub(crate) static_key: &'a [u8],
    pub(crate) ke1: &'a [u8],
    /// Evaluated element, masking nonce and masked response, as RFC 9807 has them.
    pub(crate) response: &'a [u8],
    pub(crate) server_nonce: &'a [u8],
    pub(crate) server_share: &'a [u8],
    pub(crate) ciphertext: &'a [u8],
    pub(crate) client_identity: &'a [u8],
    pub(crate) server_identity: &'a [u8],
    /// dh1 to dh3.
    pub(crate) dh: [[u8; 32]; 3],
    pub(crate) ephemeral_secret: &'a [u8],
    /// SS_s; empty in `hybrid`.
    pub(crate) static_secret: &'a [u8],
}

/// What comes out.
pub(crate) struct Outputs {
    pub(crate) ke2: Vec<u8>,
    pub(crate) ke3: Vec<u8>,
    pub(crate) session_key: Vec<u8>,
}

/// docs/hybrid.md §4 and §5.
pub(crate) fn hybrid(inputs: &Inputs<'_>) -> Outputs {
    let name = format!("candor-opaque-1/{}/ML-KEM-768", inputs.suite);
    let static_id = if inputs.static_key.is_empty() { Vec::new() } else { Sha512::digest(inputs.static_key).to_vec() };
    let t1 = [
        &vector(name.as_bytes())[..],
        inputs.ksf,
        &vector(inputs.context),
        &vector(&static_id),
        inputs.ke1,
        inputs.server_nonce,
        inputs.server_share,
        inputs.ciphertext,
    ]
    .concat();
    let secrets = [inputs.ephemeral_secret, inputs.static_secret].concat();
    let pad = expand(&extract(&Sha512::digest(&t1), &secrets), b"candor-opaque-1: credential response", 192);
    let response: Vec<u8> = inputs.response.iter().zip(&pad).map(|(byte, pad)| byte ^ pad).collect();

    let t2 = [&t1[..], &response, &vector(inputs.client_identity), &vector(inputs.server_identity)].concat();
    let h2 = Sha512::digest(&t2);
    let prk = extract(&[], &[inputs.dh.as_flattened(), &secrets].concat());
    let handshake = expand_label(&prk, "HandshakeSecret", &h2);
    let mac = hmac(&expand_label(&handshake, "ServerMAC", b""), &h2);
    let h3 = Sha512::digest([&t2[..], &mac].concat());
    Outputs {
        ke2: [&response[..], inputs.server_nonce, inputs.server_share, &mac, inputs.ciphertext].concat(),
        ke3: hmac(&expand_label(&handshake, "ClientMAC", b""), &h3),
        session_key: expand_label(&prk, "SessionKey", &h2),
    }
}

/// The encoding of secret · point.
pub(crate) fn product(secret: &[u8; 32], point: &[u8]) -> [u8; 32] {
    let point: RistrettoPoint = CompressedRistretto::from_slice(point).unwrap().decompress().unwrap();
    (point * Scalar::from_canonical_bytes(*secret).unwrap()).compress().to_bytes()
}

/// RFC 9807 §6.4.2.
fn expand_label(prk: &[u8], label: &str, context: &[u8]) -> Vec<u8> {
    let label = format!("OPAQUE-{label}");
    let info = [&[0, 64, label.len() as u8], label.as_bytes(), &[context.len() as u8], context].concat();
    expand(prk, &info, 64)
}

fn extract(salt: &[u8], ikm: &[u8]) -> Vec<u8> {
    Hkdf::<Sha512>::extract(Some(salt), ikm).0.to_vec()
}

fn expand(prk: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    Hkdf::<Sha512>::from_prk(prk).unwrap().expand(info, &mut out).unwrap();
    out
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha512>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// The length in two bytes, big endian, and the bytes.
fn vector(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}
