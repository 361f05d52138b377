//! The relay's side of each handshake again, straight from its specification and from given secrets: an oracle for the
//! vectors, and the impostor's tool. It shares no handshake or hash code with the crate.
#![allow(dead_code)] // not every test file uses all of it

use sha2::{Digest, Sha256};
use sha3::Sha3_256;
use shake::{ExtendableOutput, Shake256, Update, XofReader};

/// The relay's inputs besides the onionskin: public values, and the secrets that prove its identity.
pub(crate) struct Relay<'a> {
    pub(crate) identity: &'a [u8],
    pub(crate) onion_key: &'a [u8],
    /// EXP(X,b), then SS_s if there is a static KEM key. An impostor has to guess these.
    pub(crate) static_secrets: &'a [u8],
    /// EXP(X,y), then SS_e. Whoever answers has these.
    pub(crate) fresh_secrets: &'a [u8],
    /// Y, then CT_e.
    pub(crate) fresh_public: &'a [u8],
    pub(crate) message: &'a [u8],
}

/// ntor (tor-spec): the reply, and 72 bytes of keys.
pub(crate) fn ntor(x: &[u8], relay: &Relay<'_>) -> (Vec<u8>, Vec<u8>) {
    let Relay { identity: id, onion_key: b, fresh_public: y, .. } = *relay;
    let protoid = b"ntor-curve25519-sha256-1";
    let secret_input = [relay.fresh_secrets, relay.static_secrets, id, b, x, y, protoid].concat();
    let tweak = |name: &str| [&protoid[..], name.as_bytes()].concat();
    let key_seed = hmac(&tweak(":key_extract"), &secret_input);
    let verify = hmac(&tweak(":verify"), &secret_input);
    let auth = hmac(&tweak(":mac"), &[&verify[..], id, b, y, x, protoid, b"Server"].concat());
    ([y, &auth].concat(), hkdf_expand(&key_seed, &tweak(":key_expand"), 72))
}

/// ntor-v3 (prop 332) for circuit extension: the reply, and 72 bytes of keys. `mac` is the onionskin's.
pub(crate) fn ntor_v3(x: &[u8], mac: &[u8], verification: &[u8], relay: &Relay<'_>) -> (Vec<u8>, Vec<u8>) {
    let Relay { identity: id, onion_key: b, fresh_public: y, .. } = *relay;
    let protoid = b"ntor3-curve25519-sha3_256-1";
    let hash = |name: &str, input: &[u8]| {
        let tweak = [&protoid[..], name.as_bytes()].concat();
        Sha3_256::digest([encap(&tweak).as_slice(), input].concat()).to_vec()
    };
    let secret_input = [relay.fresh_secrets, relay.static_secrets, id, b, x, y, protoid, &encap(verification)].concat();
    let key_seed = hash(":key_seed", &secret_input);
    let verify = hash(":verify", &secret_input);
    let mut stream = vec![0; 32 + 72];
    let tweak = [&protoid[..], b":kdf_final"].concat();
    Shake256::default().chain(encap(&tweak)).chain(&key_seed).finalize_xof().read(&mut stream);
    let encrypted = aes_256_ctr(&stream[..32], relay.message);
    let auth = hash(":auth_final", &[&verify[..], id, b, y, x, mac, &encap(&encrypted), protoid, b"Server"].concat());
    ([y, &auth, &encrypted].concat(), stream[32..].to_vec())
}

/// A hybrid (docs/hybrid-handshake.md §4 and §5): the reply, and 72 bytes of keys. `header` is the length of the
/// onionskin before the encrypted message.
pub(crate) fn hybrid(
    protoid: &str,
    verification: &[u8],
    onionskin: &[u8],
    header: usize,
    relay: &Relay<'_>,
) -> (Vec<u8>, Vec<u8>) {
    let (encrypted_cm, mac) = onionskin[header..].split_at(onionskin.len() - header - 32);
    let mut transcript = [encap(protoid.as_bytes()), encap(b"handshake"), encap(verification)].concat();
    transcript.extend_from_slice(&onionskin[..header]);
    transcript.extend_from_slice(&encap(encrypted_cm));
    transcript.extend_from_slice(mac);
    transcript.extend_from_slice(relay.fresh_public);
    let prk = hmac(&Sha256::digest(&transcript), &[relay.fresh_secrets, relay.static_secrets].concat());
    let keys = hkdf_expand(&prk, b"candor-hybrid-1:relay", 96);
    let encrypted_sm = aes_256_ctr(&keys[..32], relay.message);
    transcript.extend_from_slice(&encap(&encrypted_sm));
    let whole = Sha256::digest(&transcript);
    let auth = hmac(&keys[32..64], &whole);
    let circuit = hkdf_expand(&keys[64..], &[&b"candor-hybrid-1:keys"[..], &whole].concat(), 72);
    ([relay.fresh_public, &auth, &encrypted_sm].concat(), circuit)
}

/// The client's half of a hybrid: MAC and ENC(CM) of an onionskin, from s₁.
pub(crate) fn hybrid_client(
    protoid: &str,
    verification: &[u8],
    header: &[u8],
    static_secrets: &[u8],
    message: &[u8],
) -> Vec<u8> {
    let transcript = [&encap(protoid.as_bytes())[..], &encap(b"handshake"), &encap(verification), header].concat();
    let prk = hmac(&Sha256::digest(&transcript), static_secrets);
    let keys = hkdf_expand(&prk, b"candor-hybrid-1:client", 64);
    let encrypted = aes_256_ctr(&keys[..32], message);
    [&encrypted[..], &hmac(&keys[32..], &encrypted)].concat()
}

/// KEYID (docs/hybrid-handshake.md §3).
pub(crate) fn hybrid_key_id(protoid: &str, identity: &[u8], onion_key: &[u8], static_kem: &[u8]) -> Vec<u8> {
    let input = [&encap(protoid.as_bytes())[..], &encap(b"key id"), identity, onion_key, static_kem].concat();
    Sha256::digest(input).to_vec()
}

fn encap(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_be_bytes()[..], bytes].concat()
}

/// RFC 2104, for keys of up to a block.
fn hmac(key: &[u8], input: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::digest([&block.map(|byte| byte ^ 0x36)[..], input].concat());
    Sha256::digest([&block.map(|byte| byte ^ 0x5c)[..], &inner].concat()).to_vec()
}

/// RFC 5869 §2.3.
fn hkdf_expand(prk: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = Vec::new();
    for count in 1..=length.div_ceil(32) as u8 {
        block = hmac(prk, &[&block[..], info, &[count]].concat());
        out.extend_from_slice(&block);
    }
    out.truncate(length);
    out
}

/// Block by block, from the block cipher.
fn aes_256_ctr(key: &[u8], message: &[u8]) -> Vec<u8> {
    use aes::cipher::{BlockCipherEncrypt, KeyInit};
    let cipher = aes::Aes256::new_from_slice(key).unwrap();
    let mut out = Vec::new();
    for (counter, chunk) in message.chunks(16).enumerate() {
        let mut block = (counter as u128).to_be_bytes().into();
        cipher.encrypt_block(&mut block);
        out.extend(chunk.iter().zip(block.iter()).map(|(byte, mask)| byte ^ mask));
    }
    out
}
