//! ristretto255 as RFC 9497 §4.1 uses it: hashing to the group and to scalars, encodings, keys from seeds.

use crate::error::{Element, PasswordError};
use crate::{Error, agree};
use candor_cpu::secret;
use candor_primitives::hash::Sha512;
use candor_primitives::hash::digest::{FixedOutput, Update};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity;
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bytes of an encoded element or scalar: Noe, Npk, Nsk of RFC 9807.
pub(crate) const ELEMENT: usize = 32;

/// contextString of RFC 9497 §3.1 for mode OPRF (0x00) and ristretto255-SHA512.
const CONTEXT: &[u8] = b"OPRFV1-\x00-ristretto255-SHA512";

/// The element that these bytes encode (RFC 9497 §2.1, DeserializeElement).
///
/// # Errors
/// [`Error::Element`] if the encoding isn't canonical, or is the identity's.
pub(crate) fn decode(what: Element, bytes: &[u8; ELEMENT]) -> Result<RistrettoPoint, Error> {
    let point = CompressedRistretto(*bytes).decompress().ok_or(Error::Element(what))?;
    // The identity's encoding is all zeros, and each element has one encoding.
    if agree(bytes, &[0; ELEMENT], "opaque-identity") { Err(Error::Element(what)) } else { Ok(point) }
}

/// The encodings of `scalar · point` for each pair, in one batch: one inversion for all instead of one each.
///
/// The batch encodes doubles, so the scalars are halved first. The encodings are wiped, on the heap too; dalek leaves intermediate
/// coordinates there, see SOUNDNESS.md.
#[inline]
pub(crate) fn encode_products<const N: usize>(pairs: [(&Scalar, Base<'_>); N]) -> Zeroizing<[[u8; ELEMENT]; N]> {
    let halves = pairs.map(|(scalar, base)| {
        let half = Zeroizing::new(scalar.div_by_2());
        match base {
            Base::Generator => RistrettoPoint::mul_base(&half),
            Base::Point(point) => point * *half,
        }
    });
    let halves = Zeroizing::new(halves);
    let encoded = Zeroizing::new(RistrettoPoint::double_and_compress_batch(halves.iter()));
    let mut products = Zeroizing::new([[0; ELEMENT]; N]);
    products.iter_mut().zip(encoded.iter()).for_each(|(product, encoded)| *product = encoded.0);
    products
}

/// What a scalar is multiplied with.
#[derive(Clone, Copy)]
pub(crate) enum Base<'a> {
    /// The group's generator, from tables.
    Generator,
    /// Some element.
    Point(&'a RistrettoPoint),
}

/// HashToGroup, RFC 9497 §4.1.
///
/// # Errors
/// [`Error::Password`] for an input that hashes to the identity, which nobody knows how to find.
pub(crate) fn hash_to_group(input: &[u8]) -> Result<RistrettoPoint, Error> {
    let uniform = expand_message_xmd(&[input], &[b"HashToGroup-", CONTEXT]);
    let point = RistrettoPoint::from_uniform_bytes(&uniform);
    let identity = point.ct_eq(&RistrettoPoint::identity()).unwrap_u8();
    match secret::declassified(identity, "opaque-hash-identity") {
        0 => Ok(point),
        _ => Err(Error::Password(PasswordError::HashesToIdentity)),
    }
}

/// A scalar that is uniform and not zero (RFC 9497 §2.1, RandomScalar), from 64 bytes of `rng`.
pub(crate) fn random_scalar(rng: &mut (impl CryptoRng + ?Sized)) -> Zeroizing<Scalar> {
    loop {
        let mut wide = Zeroizing::new([0; 64]);
        rng.fill_bytes(wide.as_mut_slice());
        let scalar = Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide));
        // Nobody will see a second turn: the chance is 2^-252.
        if is_not_zero(&scalar) {
            return scalar;
        }
    }
}

/// A secret scalar from its 32 bytes.
///
/// # Errors
/// [`Error::Scalar`] if they are not canonical, or zero.
pub(crate) fn scalar(bytes: &[u8; ELEMENT]) -> Result<Zeroizing<Scalar>, Error> {
    let parsed = Scalar::from_canonical_bytes(*bytes);
    let canonical = secret::declassified(parsed.is_some().unwrap_u8(), "opaque-scalar-canonical") == 1;
    let scalar = Zeroizing::new(parsed.unwrap_or(Scalar::ZERO));
    if canonical && is_not_zero(&scalar) { Ok(scalar) } else { Err(Error::Scalar) }
}

/// Whether a secret scalar is good; that it is, is public.
fn is_not_zero(scalar: &Scalar) -> bool {
    secret::declassified(scalar.ct_eq(&Scalar::ZERO).unwrap_u8(), "opaque-scalar-zero") == 0
}

/// The secret key of DeriveKeyPair(seed, info), RFC 9497 §3.2.1. The public key is the caller's affair.
pub(crate) fn derive_key(seed: &[u8; 32], info: &[u8]) -> Zeroizing<Scalar> {
    debug_assert!(info.len() <= usize::from(u16::MAX));
    let length = (info.len() as u16).to_be_bytes();
    // The standard fails after 256 zeros in a row, which nobody will see: the chance of one is 2^-252.
    (0..=u8::MAX)
        .map(|counter| hash_to_scalar(&[seed, &length, info, &[counter]], &[b"DeriveKeyPair", CONTEXT]))
        .find(|scalar| is_not_zero(scalar))
        .unwrap_or_else(|| Zeroizing::new(Scalar::ONE))
}

/// HashToScalar, RFC 9497 §4.1, message and tag in pieces.
fn hash_to_scalar(message: &[&[u8]], tag: &[&[u8]]) -> Zeroizing<Scalar> {
    Zeroizing::new(Scalar::from_bytes_mod_order_wide(&expand_message_xmd(message, tag)))
}

/// expand_message_xmd with SHA-512 for 64 bytes, RFC 9380 §5.3.1. The tag has at most 255 bytes.
fn expand_message_xmd(message: &[&[u8]], tag: &[&[u8]]) -> Zeroizing<[u8; 64]> {
    let length: usize = tag.iter().map(|part| part.len()).sum();
    debug_assert!(length <= 255);
    let end = |mut hash: Sha512| {
        tag.iter().for_each(|part| Update::update(&mut hash, part));
        Update::update(&mut hash, &[length as u8]);
        let mut out = Zeroizing::new([0; 64]);
        FixedOutput::finalize_into(hash, (&mut *out).into());
        out
    };
    let mut first = Sha512::new();
    Update::update(&mut first, &[0; 128]);
    message.iter().for_each(|part| Update::update(&mut first, part));
    Update::update(&mut first, &[0, 64, 0]);
    let b_0 = end(first);
    end(Sha512::new().chain(b_0.as_slice()).chain([1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_in_a_batch_are_those_one_by_one() {
        let (a, b) = (derive_key(&[1; 32], b"a"), derive_key(&[2; 32], b"b"));
        let point = RistrettoPoint::mul_base(&b);
        let batch = encode_products([(&a, Base::Generator), (&a, Base::Point(&point)), (&b, Base::Point(&point))]);
        let single = [RistrettoPoint::mul_base(&a), point * *a, point * *b];
        assert_eq!(*batch, single.map(|point| point.compress().to_bytes()));
    }

    #[test]
    fn the_identity_and_unreduced_encodings_are_refused() {
        let good = RistrettoPoint::mul_base(&Scalar::ONE).compress().to_bytes();
        assert!(decode(Element::Blinded, &good).is_ok());
        let mut unreduced = [0xff; 32];
        unreduced[0] = 0xed;
        unreduced[31] = 0x7f;
        for bytes in [[0; 32], unreduced, [0xff; 32]] {
            assert!(matches!(decode(Element::Blinded, &bytes), Err(Error::Element(Element::Blinded))));
        }
    }

    #[test]
    fn scalars_are_canonical_and_not_zero() {
        assert!(scalar(&[0; 32]).is_err());
        assert!(scalar(&[0xff; 32]).is_err());
        assert!(scalar(&Scalar::ONE.to_bytes()).is_ok());
    }
}
