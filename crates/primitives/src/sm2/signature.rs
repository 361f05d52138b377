//! Signatures (GB/T 32918.2).

use super::{FRAMES, PublicKey, SecretKey, Sm2Curve, Sm2Error};
use crate::curve::arm::on_arm;
use crate::curve::sm2::{N, P};
use crate::curve::words::{from_bytes, is_below, is_zero, minus, to_bytes};
use crate::curve::{Curve, Modulus};
use crate::ec::der::{read_numbers, write_numbers};
use crate::ec::nonce::{first_accepted, nonce};
use crate::hash::{Digest, Sm3};
use crate::kept::Kept;
use crate::{random, stack};
use alloc::vec::Vec;
use candor_cpu::secret;
use core::convert::Infallible;
use core::fmt;
use rand_core::{CryptoRng, TryCryptoRng};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// A signature: r and s, each from 1 to n − 1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([[u8; 32]; 2]);

/// A secret key that signs for one identity. Wiped on drop.
#[derive(Clone)]
pub struct SigningKey {
    secret: SecretKey,
    /// 1/(1 + d), in Montgomery's form.
    inverse: Kept<[u64; 4]>,
    identity: [u8; 32],
}

/// A public key that verifies signatures of one identity.
#[derive(Clone, Debug)]
pub struct VerifyingKey {
    public: PublicKey,
    identity: [u8; 32],
}

impl SecretKey {
    /// The key that signs for this identity.
    ///
    /// # Errors
    /// [`Sm2Error::Identity`].
    // ct: sm2/sign
    pub fn signing_key(&self, id: &[u8]) -> Result<SigningKey, Sm2Error> {
        stack::clearing::<FRAMES, _>(|| {
            let identity = self.public_key().identity_digest(id)?;
            let mut key = SigningKey { secret: self.clone(), inverse: Kept::new([0; 4]), identity };
            *key.inverse = on_arm!(self.ec.arm, |group: Sm2Curve| {
                let n = group.order;
                // d is below n − 1, so this is not zero.
                n.inverse(&n.enter(&n.sum(&self.scalar, &[1, 0, 0, 0])))
            });
            Ok(key)
        })
    }
}

impl PublicKey {
    /// Z, the digest of the identity, the curve and the key, which goes before each message (GB/T 32918.2 §5.5).
    ///
    /// # Errors
    /// [`Sm2Error::Identity`].
    // ct: public, because identities and public keys are
    pub fn identity_digest(&self, id: &[u8]) -> Result<[u8; 32], Sm2Error> {
        let bits = id.len().checked_mul(8).and_then(|bits| u16::try_from(bits).ok()).ok_or(Sm2Error::Identity)?;
        let [x, y] = Sm2Curve::GENERATOR;
        let mut hash = Sm3::with_cpu(self.ec.cpu);
        hash.update(bits.to_be_bytes());
        hash.update(id);
        for number in [minus(&P::P, &[3, 0, 0, 0]), Sm2Curve::B, x, y] {
            hash.update(to_bytes(&number));
        }
        hash.update(self.bytes.as_flattened());
        Ok(hash.finalize().into())
    }

    /// The key that verifies for this identity.
    ///
    /// # Errors
    /// [`Sm2Error::Identity`].
    // ct: public, because the key is
    pub fn verifying_key(&self, id: &[u8]) -> Result<VerifyingKey, Sm2Error> {
        Ok(VerifyingKey { public: self.clone(), identity: self.identity_digest(id)? })
    }
}

impl SigningKey {
    /// Signs a message. The nonce is a hash of the key, the message and fresh randomness, so that neither a bad generator nor a repeated
    /// message gives the key away.
    ///
    /// # Errors
    /// [`Sm2Error::Randomness`].
    // ct: sm2/sign
    pub fn sign(&self, message: &[u8]) -> Result<Signature, Sm2Error> {
        self.sign_digest(&self.digest(message))
    }

    /// [`sign`](Self::sign) with randomness from `rng`.
    // ct: sm2/sign
    pub fn sign_with(&self, message: &[u8], rng: &mut (impl CryptoRng + ?Sized)) -> Signature {
        let Ok(signature) = self.hedged(&self.digest(message), |fresh| {
            rng.fill_bytes(fresh);
            Ok::<_, Infallible>(())
        });
        signature
    }

    /// Signs e = SM3(Z ‖ M), for callers that hash by themselves.
    ///
    /// # Errors
    /// [`Sm2Error::Randomness`].
    // ct: sm2/sign
    pub fn sign_digest(&self, digest: &[u8; 32]) -> Result<Signature, Sm2Error> {
        self.hedged(digest, |fresh| Ok(random::fill_hedged(fresh)?))
    }

    /// e = SM3(Z ‖ M).
    #[must_use]
    // ct: sm2/sign
    pub fn digest(&self, message: &[u8]) -> [u8; 32] {
        digest(self.secret.public_key(), &self.identity, message)
    }

    /// The key that verifies.
    #[must_use]
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey { public: self.secret.public_key().clone(), identity: self.identity }
    }

    fn hedged<E>(&self, digest: &[u8; 32], fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Signature, E> {
        secret::takes("sm2/sign", &*self.secret.scalar);
        stack::clearing::<FRAMES, _>(|| {
            first_accepted(fill, |count, fresh| self.sign_by(digest, &self.nonce(digest, fresh, count)))
        })
    }

    /// A hash of the key, fresh bytes and the digest, in one block of SHA-512.
    pub(super) fn nonce(&self, digest: &[u8; 32], fresh: &[u8; 32], count: u8) -> Zeroizing<[u64; 4]> {
        let key = self.secret.to_bytes();
        nonce(self.secret.ec, b"candor SM2 k ", count, [key.as_slice(), fresh, digest])
    }

    /// The signature with this nonce, unless it has a zero where none may be (§6.1, A5 and A6), which happens with probability 2^-254.
    pub(super) fn sign_by(&self, digest: &[u8; 32], nonce: &[u64; 4]) -> Option<Signature> {
        secret::ran("SM2", self.secret.ec.arm());
        let (r, s) = on_arm!(self.secret.ec.arm, |group: Sm2Curve| {
            let n = group.order;
            let point = group.affine(&Sm2Curve::base(self.secret.ec.arm, nonce));
            let x = n.reduced(&group.field.leave(&point.x));
            let r = n.sum(&n.reduced(&from_bytes(digest)), &x);
            // (1 + d)⁻¹·(k − r·d) = (1 + d)⁻¹·(k + r) − r.
            let both = n.sum(nonce, &r);
            let s = n.difference(&n.product(&self.inverse, &both), &r);
            let bad = is_zero(nonce) | is_zero(&r) | is_zero(&both) | is_zero(&s);
            if secret::declassified(bad as u8, "sm2-nonce-refused") != 0 {
                return None;
            }
            (r, s)
        });
        let signature = Signature([to_bytes(&r), to_bytes(&s)]);
        secret::declassify(signature.0.as_flattened(), "sm2-signature");
        Some(signature)
    }
}

impl VerifyingKey {
    /// Verifies a signature of a message.
    ///
    /// # Errors
    /// [`Sm2Error::Signature`].
    // ct: public, because signatures are
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Sm2Error> {
        self.verify_digest(&self.digest(message), signature)
    }

    /// Verifies a signature of e = SM3(Z ‖ M).
    ///
    /// # Errors
    /// [`Sm2Error::Signature`].
    // ct: public, because signatures are
    pub fn verify_digest(&self, digest: &[u8; 32], signature: &Signature) -> Result<(), Sm2Error> {
        let [r, s] = signature.0.each_ref().map(from_bytes);
        let valid = on_arm!(self.public.ec.arm, |group: Sm2Curve| {
            let (n, p) = (group.order, group.field);
            let t = n.sum(&r, &s);
            let point = Sm2Curve::base_plus_times_vartime(self.public.ec.arm, &s, &t, &self.public.point);
            // r = e + x mod n, without the inverse that would give x: is x·Z² = X for an x that gives r?
            let x = n.difference(&r, &n.reduced(&from_bytes(digest)));
            let zz = p.square(&point.z);
            let is = |x: &[u64; 4]| p.product(&p.enter(x), &zz) == point.x;
            let above = minus(&P::P, &N::P);
            let found = is(&x) || is_below(&x, &above) && is(&p.sum(&x, &N::P));
            t != [0; 4] && point.z != [0; 4] && found
        });
        if valid { Ok(()) } else { Err(Sm2Error::Signature) }
    }

    /// e = SM3(Z ‖ M).
    #[must_use]
    // ct: public, because a message that is verified is sent with its signature
    pub fn digest(&self, message: &[u8]) -> [u8; 32] {
        digest(&self.public, &self.identity, message)
    }
}

fn digest(public: &PublicKey, identity: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut hash = Sm3::with_cpu(public.ec.cpu);
    hash.update(identity);
    hash.update(message);
    hash.finalize().into()
}

impl Signature {
    /// r and s, 32 bytes each.
    ///
    /// # Errors
    /// [`Sm2Error::SignatureForm`].
    // ct: public, because signatures are
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Sm2Error> {
        let [r, s] = *bytes.as_chunks::<32>().0 else { return Err(Sm2Error::SignatureForm) };
        let in_range = |bytes: &[u8; 32]| *bytes != [0; 32] && is_below(&from_bytes::<[u64; 4]>(bytes), &N::P);
        if bytes.len() == 64 && in_range(&r) && in_range(&s) { Ok(Self([r, s])) } else { Err(Sm2Error::SignatureForm) }
    }

    /// r and s, 32 bytes each.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(self.0.as_flattened());
        bytes
    }

    /// The sequence of two integers in DER that GM/T 0009 §7.3 and OpenSSL have.
    ///
    /// # Errors
    /// [`Sm2Error::SignatureForm`].
    // ct: public, because signatures are
    pub fn from_der(der: &[u8]) -> Result<Self, Sm2Error> {
        let mut bytes = [0; 64];
        let (r, s) = bytes.split_at_mut(32);
        read_numbers(der, [r, s]).map_err(|_| Sm2Error::SignatureForm)?;
        Self::from_bytes(&bytes)
    }

    /// The same.
    #[must_use]
    pub fn to_der(&self) -> Vec<u8> {
        write_numbers(self.0.each_ref().map(<[u8; 32]>::as_slice))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature(")?;
        self.0.as_flattened().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

impl ZeroizeOnDrop for SigningKey {}

impl signature::SignatureEncoding for Signature {
    type Repr = [u8; 64];
}

impl TryFrom<&[u8]> for Signature {
    type Error = signature::Error;

    fn try_from(bytes: &[u8]) -> Result<Self, signature::Error> {
        Self::from_bytes(bytes).map_err(|_| signature::Error::new())
    }
}

impl From<Signature> for [u8; 64] {
    fn from(signature: Signature) -> Self {
        signature.to_bytes()
    }
}

impl signature::Signer<Signature> for SigningKey {
    fn try_sign(&self, message: &[u8]) -> Result<Signature, signature::Error> {
        self.sign(message).map_err(|_| signature::Error::new())
    }
}

impl signature::RandomizedSigner<Signature> for SigningKey {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[u8],
    ) -> Result<Signature, signature::Error> {
        self.hedged(&self.digest(message), |fresh| rng.try_fill_bytes(fresh).map_err(|_| signature::Error::new()))
    }
}

impl signature::Verifier<Signature> for VerifyingKey {
    fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        Self::verify(self, message, signature).map_err(|_| signature::Error::new())
    }
}

impl signature::Keypair for SigningKey {
    type VerifyingKey = VerifyingKey;

    fn verifying_key(&self) -> VerifyingKey {
        Self::verifying_key(self)
    }
}
