//! Signatures (ECDSA, FIPS 186-5 §6).

use super::der::{read_numbers, write_numbers};
use super::key::Bytes;
use super::nonce::{first_accepted, nonce};
use super::rfc6979::Nonces;
use super::{EcError, FRAMES, NamedCurve, P256, P384, PublicKey, Secp256k1, SecretKey, on_arm};
use crate::curve::Modulus;
use crate::curve::words::{Words, from_bytes, is_below, is_zero, minus, to_bytes};
use crate::hash::{Digest, Sha256, Sha384};
use crate::{random, stack};
use alloc::vec::Vec;
use candor_cpu::{Cpu, secret};
use core::convert::Infallible;
use core::fmt;
use digest::block_api::BlockSizeUser;
use rand_core::{CryptoRng, TryCryptoRng};
use zeroize::Zeroizing;

/// A curve that ECDSA is used with.
pub trait EcdsaCurve: NamedCurve {
    /// The hash whose digest is as long as the order.
    type Hash: Digest + BlockSizeUser + Clone;
    /// Whether signatures get the smaller of s and n − s, as Bitcoin's (BIP 62) must have it. Verification takes both.
    const LOW_S: bool;
    /// What stands before the inputs of a hedged nonce.
    #[doc(hidden)]
    const LABEL: &'static [u8; 13];
    #[doc(hidden)]
    fn digest(cpu: Cpu, message: &[u8]) -> Bytes<Self>;
}

impl EcdsaCurve for P256 {
    type Hash = Sha256;
    const LOW_S: bool = false;
    const LABEL: &'static [u8; 13] = b"candor P-256 ";

    fn digest(cpu: Cpu, message: &[u8]) -> [u8; 32] {
        Sha256::with_cpu(cpu).chain_update(message).finalize().into()
    }
}

impl EcdsaCurve for P384 {
    type Hash = Sha384;
    const LOW_S: bool = false;
    const LABEL: &'static [u8; 13] = b"candor P-384 ";

    fn digest(cpu: Cpu, message: &[u8]) -> [u8; 48] {
        Sha384::with_cpu(cpu).chain_update(message).finalize().into()
    }
}

impl EcdsaCurve for Secp256k1 {
    type Hash = Sha256;
    const LOW_S: bool = true;
    const LABEL: &'static [u8; 13] = b"candor K-256 ";

    fn digest(cpu: Cpu, message: &[u8]) -> [u8; 32] {
        Sha256::with_cpu(cpu).chain_update(message).finalize().into()
    }
}

/// A signature: r and s, each from 1 to n − 1.
#[derive(Clone, Copy)]
pub struct Signature<C: EcdsaCurve>([Bytes<C>; 2]);

impl<C: EcdsaCurve> PartialEq for Signature<C> {
    // ct: public, because signatures are
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<C: EcdsaCurve> Eq for Signature<C> {}

impl<C: EcdsaCurve> SecretKey<C> {
    /// Signs a message, with SHA-256 or, for P-384, SHA-384. The nonce is a hash of the key, the digest and fresh randomness, so that neither a bad
    /// generator nor a repeated message gives the key away.
    ///
    /// # Errors
    /// [`EcError::Randomness`].
    // ct: ecdsa/sign
    pub fn sign(&self, message: &[u8]) -> Result<Signature<C>, EcError> {
        self.hedged(&from_bytes(&C::digest(self.ec.cpu, message)), |fresh| Ok(random::fill_hedged(fresh)?))
    }

    /// [`sign`](Self::sign) with randomness from `rng`.
    // ct: ecdsa/sign
    pub fn sign_with(&self, message: &[u8], rng: &mut (impl CryptoRng + ?Sized)) -> Signature<C> {
        let digest = from_bytes(&C::digest(self.ec.cpu, message));
        let Ok(signature) = self.hedged(&digest, |fresh| {
            rng.fill_bytes(fresh);
            Ok::<_, Infallible>(())
        });
        signature
    }

    /// Signs a digest of any hash. Of one that is longer than the curve's order the first bytes count (FIPS 186-5 §6.4.1).
    ///
    /// # Errors
    /// [`EcError::Digest`] if it has less than half of the order's bytes, [`EcError::Randomness`].
    // ct: ecdsa/sign
    pub fn sign_digest(&self, digest: &[u8]) -> Result<Signature<C>, EcError> {
        self.hedged(&checked_number::<C>(digest)?, |fresh| Ok(random::fill_hedged(fresh)?))
    }

    /// Signs a message without randomness, with the nonce of RFC 6979: the same message has the same signature. [`sign`](Self::sign) is as safe
    /// against a bad generator, and safer against faults that are made on purpose: those need two signatures of one message with one nonce. `sign`
    /// gives them only where the snapshot of a running machine is started twice: up to fifteen signatures of each thread then take the same
    /// randomness in both copies. The nonce's HMAC takes the default [`Cpu`].
    ///
    /// Never use one number as a key on two curves with this: RFC 6979 gives both the same nonce for a message, and the two signatures give the key
    /// away.
    #[must_use]
    // ct: ecdsa/sign-deterministic
    pub fn sign_deterministic(&self, message: &[u8]) -> Signature<C> {
        self.deterministic::<C::Hash>(&from_bytes(&C::digest(self.ec.cpu, message)))
    }

    /// The same, with the same warning, for a digest by the hash `H`, which also makes the nonce.
    ///
    /// # Errors
    /// [`EcError::Digest`] if it is not as long as `H` makes it, or has less than half of the order's bytes.
    // ct: ecdsa/sign-deterministic
    pub fn sign_digest_deterministic<H>(&self, digest: &[u8]) -> Result<Signature<C>, EcError>
    where
        H: Digest + BlockSizeUser + Clone,
    {
        if digest.len() != <H as Digest>::output_size() {
            return Err(EcError::Digest);
        }
        Ok(self.deterministic::<H>(&checked_number::<C>(digest)?))
    }

    fn deterministic<H: Digest + BlockSizeUser + Clone>(&self, digest: &C::W) -> Signature<C> {
        secret::takes("ecdsa/sign-deterministic", &*self.scalar);
        stack::clearing::<FRAMES, _>(|| {
            let mut nonces = Nonces::<C, H>::new(self.ec, &self.scalar, digest);
            loop {
                let nonce = nonces.next();
                if let Some(signature) = self.sign_by(digest, &nonce) {
                    return signature;
                }
                nonces.refuse();
            }
        })
    }

    fn hedged<E>(&self, digest: &C::W, fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Signature<C>, E> {
        secret::takes("ecdsa/sign", &*self.scalar);
        stack::clearing::<FRAMES, _>(|| {
            first_accepted(fill, |count, fresh| self.sign_by(digest, &self.ecdsa_nonce(digest, fresh, count)))
        })
    }

    /// A hash of the key, fresh bytes and the digest: for 256 bits, one block of SHA-512.
    pub(crate) fn ecdsa_nonce(&self, digest: &C::W, fresh: &[u8; 32], count: u8) -> Zeroizing<C::W> {
        let key = self.to_bytes();
        nonce(self.ec, C::LABEL, count, [key.as_ref(), fresh, to_bytes(digest).as_ref()])
    }

    /// The signature with this nonce, unless it has a zero where none may be (FIPS 186-5 §6.4.1), which happens with probability 2^-254.
    pub(crate) fn sign_by(&self, digest: &C::W, nonce: &C::W) -> Option<Signature<C>> {
        secret::ran(C::NAME, self.ec.arm());
        let point = C::base(self.ec.arm, nonce);
        let (r, s) = on_arm!(self.ec.arm, |group: C| {
            let n = group.order;
            let r = n.reduced(&group.field.leave(&group.x_of(&point)));
            let both = n.sum(&n.reduced(digest), &n.product(&n.enter(&r), &self.scalar));
            let s = n.product(&n.inverse(&n.enter(nonce)), &both);
            let bad = is_zero(nonce) | is_zero(&r) | is_zero(&s);
            if secret::declassified(bad as u8, "ecdsa-nonce-refused") != 0 {
                return None;
            }
            let s = if C::LOW_S { n.negative_if(&s, above_half::<C>(&s)) } else { s };
            (r, s)
        });
        let signature = Signature([to_bytes(&r), to_bytes(&s)]);
        signature.0.iter().for_each(|number: &Bytes<C>| secret::declassify(number.as_ref(), "ecdsa-signature"));
        Some(signature)
    }
}

/// All ones if s is more than n/2.
fn above_half<C: NamedCurve>(s: &C::W) -> u64 {
    candor_cpu::barrier::mask_u64(u64::from(is_below(&minus(&C::Order::P, s), s)))
}

impl<C: EcdsaCurve> PublicKey<C> {
    /// Verifies a signature of a message, with SHA-256 or, for P-384, SHA-384.
    ///
    /// # Errors
    /// [`EcError::Signature`].
    // ct: public, because signatures are
    pub fn verify(&self, message: &[u8], signature: &Signature<C>) -> Result<(), EcError> {
        self.verify_number(&from_bytes(&C::digest(self.ec.cpu, message)), signature)
    }

    /// Verifies a signature of a digest of any hash.
    ///
    /// # Errors
    /// [`EcError::Digest`] if it has less than half of the order's bytes, [`EcError::Signature`].
    // ct: public, because signatures are
    pub fn verify_digest(&self, digest: &[u8], signature: &Signature<C>) -> Result<(), EcError> {
        self.verify_number(&checked_number::<C>(digest)?, signature)
    }

    fn verify_number(&self, digest: &C::W, signature: &Signature<C>) -> Result<(), EcError> {
        let [r, s] = signature.0.each_ref().map(from_bytes::<C::W>);
        let valid = on_arm!(self.ec.arm, |group: C| {
            let (n, p) = (group.order, group.field);
            let inverse = n.inverse(&n.enter(&s));
            let (of_base, of_point) = (n.product(&inverse, &n.reduced(digest)), n.product(&inverse, &r));
            let point = C::base_plus_times_vartime(self.ec.arm, &of_base, &of_point, &self.point);
            // r = x mod n, without the inverse that would give x: is x·Z² = X for an x that gives r?
            let zz = p.square(&point.z);
            let is = |x: &C::W| p.product(&p.enter(x), &zz) == point.x;
            let above = minus(&C::Field::P, &C::Order::P);
            let found = is(&r) || is_below(&r, &above) && is(&p.sum(&r, &C::Order::P));
            point.z != C::W::ZERO && found
        });
        if valid { Ok(()) } else { Err(EcError::Signature) }
    }
}

/// A digest's first bytes as a number, not reduced. A digest that is shorter than the order is one as it is.
pub(super) fn number<C: NamedCurve>(digest: &[u8]) -> C::W {
    let mut bytes = C::W::ZERO_BYTES;
    let length = bytes.as_ref().len();
    let used = &digest[..digest.len().min(length)];
    bytes.as_mut()[length - used.len()..].copy_from_slice(used);
    from_bytes(&bytes)
}

fn checked_number<C: NamedCurve>(digest: &[u8]) -> Result<C::W, EcError> {
    if 2 * digest.len() < size_of::<Bytes<C>>() { Err(EcError::Digest) } else { Ok(number::<C>(digest)) }
}

impl<C: EcdsaCurve> Signature<C> {
    /// r and s, 32 bytes each, or 48 for P-384.
    ///
    /// # Errors
    /// [`EcError::SignatureForm`].
    // ct: public, because signatures are
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EcError> {
        let length = size_of::<Bytes<C>>();
        if bytes.len() != 2 * length {
            return Err(EcError::SignatureForm);
        }
        let mut numbers = [C::W::ZERO_BYTES; 2];
        for (to, from) in numbers.iter_mut().zip(bytes.chunks_exact(length)) {
            to.as_mut().copy_from_slice(from);
        }
        Self::checked(numbers)
    }

    fn checked(numbers: [Bytes<C>; 2]) -> Result<Self, EcError> {
        let in_range = |bytes: &Bytes<C>| {
            let number = from_bytes::<C::W>(bytes);
            number != C::W::ZERO && is_below(&number, &C::Order::P)
        };
        if numbers.iter().all(in_range) { Ok(Self(numbers)) } else { Err(EcError::SignatureForm) }
    }

    /// r and s, 32 bytes each, or 48 for P-384.
    #[must_use]
    pub fn to_bytes(&self) -> <C::W as Words>::Pair {
        let mut bytes = C::W::EMPTY_PAIR;
        let length = size_of::<Bytes<C>>();
        bytes
            .as_mut()
            .chunks_exact_mut(length)
            .zip(&self.0)
            .for_each(|(to, number)| to.copy_from_slice(number.as_ref()));
        bytes
    }

    /// The sequence of two integers in DER of RFC 3279 §2.2.3.
    ///
    /// # Errors
    /// [`EcError::SignatureForm`].
    // ct: public, because signatures are
    pub fn from_der(der: &[u8]) -> Result<Self, EcError> {
        let mut numbers = [C::W::ZERO_BYTES; 2];
        read_numbers(der, numbers.each_mut().map(AsMut::as_mut)).map_err(|_| EcError::SignatureForm)?;
        Self::checked(numbers)
    }

    /// The same.
    #[must_use]
    pub fn to_der(&self) -> Vec<u8> {
        write_numbers(self.0.each_ref().map(AsRef::as_ref))
    }

    /// Whether s is at most n/2. Bitcoin (BIP 62) takes no others.
    #[must_use]
    pub fn is_low_s(&self) -> bool {
        above_half::<C>(&from_bytes(&self.0[1])) == 0
    }
}

impl<C: EcdsaCurve> fmt::Debug for Signature<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature(")?;
        self.to_bytes().as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl<C: EcdsaCurve> signature::SignatureEncoding for Signature<C> {
    type Repr = Vec<u8>;
}

impl<C: EcdsaCurve> TryFrom<&[u8]> for Signature<C> {
    type Error = signature::Error;

    fn try_from(bytes: &[u8]) -> Result<Self, signature::Error> {
        Self::from_bytes(bytes).map_err(|_| signature::Error::new())
    }
}

impl<C: EcdsaCurve> From<Signature<C>> for Vec<u8> {
    fn from(signature: Signature<C>) -> Self {
        signature.to_bytes().as_ref().to_vec()
    }
}

impl<C: EcdsaCurve> signature::Signer<Signature<C>> for SecretKey<C> {
    fn try_sign(&self, message: &[u8]) -> Result<Signature<C>, signature::Error> {
        self.sign(message).map_err(|_| signature::Error::new())
    }
}

impl<C: EcdsaCurve> signature::hazmat::PrehashSigner<Signature<C>> for SecretKey<C> {
    fn sign_prehash(&self, digest: &[u8]) -> Result<Signature<C>, signature::Error> {
        self.sign_digest(digest).map_err(|_| signature::Error::new())
    }
}

impl<C: EcdsaCurve> signature::RandomizedSigner<Signature<C>> for SecretKey<C> {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[u8],
    ) -> Result<Signature<C>, signature::Error> {
        let digest = from_bytes(&C::digest(self.ec.cpu, message));
        self.hedged(&digest, |fresh| rng.try_fill_bytes(fresh).map_err(|_| signature::Error::new()))
    }
}

impl<C: EcdsaCurve> signature::Verifier<Signature<C>> for PublicKey<C> {
    fn verify(&self, message: &[u8], signature: &Signature<C>) -> Result<(), signature::Error> {
        Self::verify(self, message, signature).map_err(|_| signature::Error::new())
    }
}

impl<C: EcdsaCurve> signature::hazmat::PrehashVerifier<Signature<C>> for PublicKey<C> {
    fn verify_prehash(&self, digest: &[u8], signature: &Signature<C>) -> Result<(), signature::Error> {
        self.verify_digest(digest, signature).map_err(|_| signature::Error::new())
    }
}

impl<C: EcdsaCurve> signature::Keypair for SecretKey<C> {
    type VerifyingKey = PublicKey<C>;

    fn verifying_key(&self) -> PublicKey<C> {
        self.public_key().clone()
    }
}
