//! The hash, MAC and key derivation of `ntor-v3` (prop 332, A.1): SHA3-256 and SHAKE-256 with a tweak prepended.

use candor_primitives::hash::{ExtendableOutput, Sha3_256, Shake256, Shake256Reader};
use digest::{FixedOutput, Update};
use zeroize::Zeroizing;

/// Length of a hash, a MAC and a key in bytes.
pub(super) const DIGEST: usize = 32;

/// H(s, t) = SHA3_256(ENCAP(t) | s).
pub(super) fn hash(tweak: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; DIGEST]> {
    finish(absorb(encapsulate(Sha3_256::default(), tweak), parts))
}

/// MAC(k, s, t) = SHA3_256(ENCAP(t) | ENCAP(k) | s).
pub(super) fn mac(tweak: &[u8], key: &[u8; DIGEST], parts: &[&[u8]]) -> Zeroizing<[u8; DIGEST]> {
    finish(absorb(encapsulate(encapsulate(Sha3_256::default(), tweak), key), parts))
}

/// KDF(s, t) = SHAKE_256(ENCAP(t) | s): a stream of any length.
pub(super) fn kdf(tweak: &[u8], parts: &[&[u8]]) -> Shake256Reader {
    absorb(encapsulate(Shake256::default(), tweak), parts).finalize_xof()
}

/// The length that ENCAP(s) prepends to `s`: eight bytes, big endian (prop 332, "Notation").
pub(super) fn length_prefix(of: &[u8]) -> [u8; 8] {
    (of.len() as u64).to_be_bytes()
}

fn encapsulate<H: Update>(mut hash: H, part: &[u8]) -> H {
    hash.update(&length_prefix(part));
    hash.update(part);
    hash
}

fn absorb<H: Update>(mut hash: H, parts: &[&[u8]]) -> H {
    parts.iter().for_each(|part| hash.update(part));
    hash
}

fn finish(hash: Sha3_256) -> Zeroizing<[u8; DIGEST]> {
    let mut out = Zeroizing::new([0; DIGEST]);
    hash.finalize_into((&mut *out).into());
    out
}
