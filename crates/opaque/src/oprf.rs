//! The oblivious pseudorandom function of RFC 9497, mode OPRF, suite ristretto255-SHA512.
//!
//! A client learns F(key, input); the server that holds the key learns nothing of the input, and the client nothing of the key.
//!
//! ```
//! use candor_opaque::oprf::{Blinded, Key};
//! # let mut rng = getrandom::rand_core::UnwrapErr(getrandom::SysRng);
//! let key = Key::derive(&[7; 32], b"example")?;
//! let (blinded, sent) = Blinded::new(&mut rng, b"password")?;
//! let received = key.evaluate(&sent)?;
//! assert_eq!(*blinded.finalize(&received)?, *key.evaluate_alone(b"password")?);
//! # Ok::<(), candor_opaque::Error>(())
//! ```

use crate::group::{self, Base, ELEMENT, decode, encode_products, hash_to_group};
use crate::kdf::HASH;
use crate::{Error, agree};
use candor_cpu::secret;
use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use digest::{Digest, FixedOutput, Update};
use rand_core::CryptoRng;
use sha2::Sha512;
use zeroize::Zeroizing;

/// The longest input, RFC 9497 §1.2: its length is written in two bytes.
pub const LONGEST_INPUT: usize = u16::MAX as usize;

/// A client's input, blinded; wiped on drop. It holds the blind and a hash of the input so far, not the input.
#[derive(Clone)]
pub struct Blinded {
    blind: Zeroizing<Scalar>,
    /// The hash of Finalize, up to the input.
    input: Sha512,
    /// What was sent, to notice when it comes back as it is.
    sent: [u8; ELEMENT],
}

impl Blinded {
    /// Blind, RFC 9497 §3.3.1: the state, and the blinded element to send. Takes 64 bytes from `rng`.
    ///
    /// # Errors
    /// [`Error::Password`] if the input is longer than [`LONGEST_INPUT`].
    pub fn new(rng: &mut (impl CryptoRng + ?Sized), input: &[u8]) -> Result<(Self, [u8; ELEMENT]), Error> {
        let (unsent, point) = Unsent::new(rng, input)?;
        let [sent] = encode_products([(&unsent.blind, Base::Point(&point))]);
        Ok((unsent.sent(sent), sent))
    }

    /// Finalize, RFC 9497 §3.3.1: the output, from the server's evaluated element.
    ///
    /// # Errors
    /// [`Error::Element`] if that is no element, the identity, or the blinded element itself.
    pub fn finalize(self, evaluated: &[u8; ELEMENT]) -> Result<Zeroizing<[u8; HASH]>, Error> {
        const WHAT: &str = "evaluated element";
        if agree(evaluated, &self.sent, "opaque-reflected") {
            return Err(Error::Element(WHAT));
        }
        let point = decode(WHAT, evaluated)?;
        self.unblind(&point)
    }

    /// [`Self::finalize`] on an element that has been looked at.
    pub(crate) fn unblind(&self, evaluated: &RistrettoPoint) -> Result<Zeroizing<[u8; HASH]>, Error> {
        secret::ran("oprf/finalize", "dalek");
        let inverse = Zeroizing::new(self.blind.invert());
        let unblinded = Zeroizing::new((evaluated * *inverse).compress().to_bytes());
        Ok(output(self.input.clone(), &unblinded))
    }

    /// What was sent.
    pub(crate) fn sent(&self) -> &[u8; ELEMENT] {
        &self.sent
    }
}

/// A blind whose element has yet to be encoded, so that it can be in one batch with others.
pub(crate) struct Unsent {
    pub(crate) blind: Zeroizing<Scalar>,
    input: Sha512,
}

impl Unsent {
    /// The blind, and the element that it goes to.
    pub(crate) fn new(
        rng: &mut (impl CryptoRng + ?Sized),
        input: &[u8],
    ) -> Result<(Self, Zeroizing<RistrettoPoint>), Error> {
        secret::ran("oprf/blind", "dalek");
        let hash = begin_output(input)?;
        let point = Zeroizing::new(hash_to_group(input)?);
        Ok((Self { blind: group::random_scalar(rng), input: hash }, point))
    }

    /// The state, once the encoding is known.
    pub(crate) fn sent(self, sent: [u8; ELEMENT]) -> Blinded {
        Blinded { blind: self.blind, input: self.input, sent }
    }
}

/// A server's key; wiped on drop.
pub struct Key(Zeroizing<Scalar>);

impl Key {
    /// DeriveKeyPair, RFC 9497 §3.2.1.
    ///
    /// # Errors
    /// [`Error::TooLong`] if `info` has more than 65535 bytes.
    pub fn derive(seed: &[u8; 32], info: &[u8]) -> Result<Self, Error> {
        crate::error::expect_short("key information", info)?;
        Ok(Self(group::derive_key(seed, info)))
    }

    /// The key that is in these bytes.
    ///
    /// # Errors
    /// [`Error::Scalar`] if they are no scalar, or zero.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Error> {
        Ok(Self(group::scalar(bytes)?))
    }

    /// The key's bytes.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// BlindEvaluate, RFC 9497 §3.3.1.
    ///
    /// # Errors
    /// [`Error::Element`] if what came is no element, or the identity.
    pub fn evaluate(&self, blinded: &[u8; ELEMENT]) -> Result<[u8; ELEMENT], Error> {
        secret::ran("oprf/evaluate", "dalek");
        let point = decode("blinded element", blinded)?;
        Ok((point * *self.0).compress().to_bytes())
    }

    /// Evaluate, RFC 9497 §3.3.1: the output without a client.
    ///
    /// # Errors
    /// [`Error::Password`] if the input is longer than [`LONGEST_INPUT`].
    pub fn evaluate_alone(&self, input: &[u8]) -> Result<Zeroizing<[u8; HASH]>, Error> {
        let hash = begin_output(input)?;
        let element = Zeroizing::new((hash_to_group(input)? * *self.0).compress().to_bytes());
        Ok(output(hash, &element))
    }

    /// The scalar, for a batch.
    pub(crate) fn scalar(&self) -> &Scalar {
        &self.0
    }
}

/// The hash of Finalize, as far as the input goes.
fn begin_output(input: &[u8]) -> Result<Sha512, Error> {
    let length = u16::try_from(input.len()).map_err(|_| Error::Password("it has more than 65535 bytes"))?;
    Ok(Sha512::new().chain(length.to_be_bytes()).chain(input))
}

/// The rest of Finalize.
fn output(begun: Sha512, element: &[u8; ELEMENT]) -> Zeroizing<[u8; HASH]> {
    let mut out = Zeroizing::new([0; HASH]);
    let hash = begun.chain([0, ELEMENT as u8]).chain(element).chain(b"Finalize");
    FixedOutput::finalize_into(hash, (&mut *out).into());
    out
}
