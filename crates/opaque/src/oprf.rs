//! The oblivious pseudorandom function of RFC 9497, mode OPRF, suite ristretto255-SHA512.
//!
//! A client learns F(key, input). The server, which holds the key, learns nothing about the input, and the client nothing about the key.
//! OPAQUE is built on it; it stands on its own for other uses, such as private set membership or hardening a key with a remote secret.
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

use crate::error::{Element, Input, PasswordError, expect_short};
use crate::group::{self, Base, ELEMENT, decode, encode_products, hash_to_group};
use crate::kdf::HASH;
use crate::{Error, agree};
use candor_cpu::secret;
use candor_primitives::hash::Sha512;
use candor_primitives::hash::digest::{FixedOutput, Update};
use candor_primitives::stack;
use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Stack that an operation takes, in bytes; what dalek and the hashes leave there is overwritten.
const FRAMES: usize = 8 << 10;

/// Bytes of the longest input: its length is encoded in two bytes (RFC 9497 §1.2).
pub const LONGEST_INPUT: usize = u16::MAX as usize;

/// A client that has blinded its input and waits for the evaluated element; wiped on drop.
///
/// It is as secret as the input: it holds the blind, and the state of a hash in which a short input still stands in full.
#[derive(Clone)]
pub struct Blinded {
    blind: Zeroizing<Scalar>,
    /// The hash of Finalize, up to the input.
    input: Sha512,
    /// The blinded element, to notice when it comes back unchanged.
    sent: [u8; ELEMENT],
}

impl Blinded {
    /// Blind, RFC 9497 §3.3.1: returns the state and the blinded element to send. Takes 64 bytes from `rng`.
    ///
    /// # Errors
    /// [`Error::Password`] if the input is longer than [`LONGEST_INPUT`].
    // ct: oprf/blind
    pub fn new(rng: &mut (impl CryptoRng + ?Sized), input: &[u8]) -> Result<(Self, [u8; ELEMENT]), Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (unsent, point) = Unsent::new(rng, input)?;
            let [sent] = *encode_products([(&unsent.blind, Base::Point(&point))]);
            Ok((unsent.sent(sent), sent))
        })
    }

    /// Finalize, RFC 9497 §3.3.1: the output, from the server's evaluated element.
    ///
    /// # Errors
    /// [`Error::Element`] if `evaluated` is not an element, is the identity, or is the blinded element itself.
    // ct: oprf/finalize
    pub fn finalize(self, evaluated: &[u8; ELEMENT]) -> Result<Zeroizing<[u8; HASH]>, Error> {
        stack::clearing::<FRAMES, _>(|| self.output(evaluated))
    }

    /// [`Self::finalize`] of a value that stays where it is: one that is moved leaves a copy.
    pub(crate) fn output(&self, evaluated: &[u8; ELEMENT]) -> Result<Zeroizing<[u8; HASH]>, Error> {
        if agree(evaluated, &self.sent, "opaque-reflected") {
            return Err(Error::Element(Element::Evaluated));
        }
        let point = decode(Element::Evaluated, evaluated)?;
        self.unblind(&point)
    }

    /// [`Self::finalize`] on an element that has been checked.
    pub(crate) fn unblind(&self, evaluated: &RistrettoPoint) -> Result<Zeroizing<[u8; HASH]>, Error> {
        secret::ran("oprf/finalize", "dalek");
        let inverse = Zeroizing::new(self.blind.invert());
        let unblinded = Zeroizing::new((evaluated * *inverse).compress().to_bytes());
        Ok(output(self.input.clone(), &unblinded))
    }

    /// The blinded element.
    pub(crate) fn sent(&self) -> &[u8; ELEMENT] {
        &self.sent
    }

    /// The blind, to save it.
    pub(crate) fn blind(&self) -> &Scalar {
        &self.blind
    }

    /// The state again, from what was saved and the input.
    pub(crate) fn resume(blind: &[u8; ELEMENT], sent: &[u8; ELEMENT], input: &[u8]) -> Result<Self, Error> {
        secret::takes("oprf/resume", blind);
        Ok(Self { blind: group::scalar(blind)?, input: begin_output(input)?, sent: *sent })
    }
}

/// A blind whose element is not encoded yet, so that it can join others in a batch.
pub(crate) struct Unsent {
    pub(crate) blind: Zeroizing<Scalar>,
    input: Sha512,
}

impl Unsent {
    /// The blind, and the element to multiply it with.
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
        stack::clearing::<FRAMES, _>(|| {
            secret::takes("oprf/derive-key", seed);
            expect_short(Input::KeyInfo, info)?;
            Ok(Self(group::derive_key(seed, info)))
        })
    }

    /// Reads [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Scalar`] if the bytes are not a canonical scalar, or are zero.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Error> {
        stack::clearing::<FRAMES, _>(|| {
            secret::takes("oprf/read-key", bytes);
            Ok(Self(group::scalar(bytes)?))
        })
    }

    /// The key as bytes: a scalar, little-endian.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        stack::clearing::<FRAMES, _>(|| Zeroizing::new(self.0.to_bytes()))
    }

    /// BlindEvaluate, RFC 9497 §3.3.1.
    ///
    /// # Errors
    /// [`Error::Element`] if `blinded` is not an element, or is the identity.
    pub fn evaluate(&self, blinded: &[u8; ELEMENT]) -> Result<[u8; ELEMENT], Error> {
        stack::clearing::<FRAMES, _>(|| {
            secret::ran("oprf/evaluate", "dalek");
            let point = decode(Element::Blinded, blinded)?;
            Ok((point * *self.0).compress().to_bytes())
        })
    }

    /// Evaluate, RFC 9497 §3.3.1: the output without a client.
    ///
    /// # Errors
    /// [`Error::Password`] if the input is longer than [`LONGEST_INPUT`].
    pub fn evaluate_alone(&self, input: &[u8]) -> Result<Zeroizing<[u8; HASH]>, Error> {
        stack::clearing::<FRAMES, _>(|| {
            secret::ran("oprf/evaluate-alone", "dalek");
            let hash = begin_output(input)?;
            let element = Zeroizing::new((hash_to_group(input)? * *self.0).compress().to_bytes());
            Ok(output(hash, &element))
        })
    }

    /// The scalar, for a batch.
    pub(crate) fn scalar(&self) -> &Scalar {
        &self.0
    }
}

/// The hash of Finalize, up to the input.
fn begin_output(input: &[u8]) -> Result<Sha512, Error> {
    let length = u16::try_from(input.len()).map_err(|_| Error::Password(PasswordError::TooLong))?;
    Ok(Sha512::new().chain(length.to_be_bytes()).chain(input))
}

/// The rest of Finalize.
fn output(begun: Sha512, element: &[u8; ELEMENT]) -> Zeroizing<[u8; HASH]> {
    let mut out = Zeroizing::new([0; HASH]);
    let hash = begun.chain([0, ELEMENT as u8]).chain(element).chain(b"Finalize");
    FixedOutput::finalize_into(hash, (&mut *out).into());
    out
}
