//! Secret and public keys.

use super::arm::on_arm;
use super::kept::Kept;
use super::{FRAMES, Sm2, Sm2Error};
use crate::curve::modulus::{is_below, minus};
use crate::curve::sm2::{N, P, Sm2Curve};
use crate::curve::{Affine, Curve, Prime, Words, from_bytes, to_bytes};
use crate::hash::{Digest, Sm3};
use crate::{random, stack};
use candor_cpu::secret;
use core::fmt;
use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Stack on which the bytes of a key lie, or digests of an identity are made.
pub(super) const FRAMES_OF_BYTES: usize = 2048;

/// A secret key: a number from 1 to n − 2, with its public key. Wiped on drop.
#[derive(Clone)]
pub struct SecretKey {
    pub(super) sm2: Sm2,
    pub(super) scalar: Kept<Words>,
    public: PublicKey,
}

/// A public key: a point of the curve, and not the one at infinity.
#[derive(Clone)]
pub struct PublicKey {
    pub(super) sm2: Sm2,
    /// In Montgomery's form.
    pub(super) point: Affine,
    /// x and y.
    pub(super) bytes: [[u8; 32]; 2],
}

impl Sm2 {
    /// A fresh key pair, from the operating system's randomness.
    ///
    /// # Errors
    /// [`Sm2Error::Randomness`].
    pub fn generate(&self) -> Result<SecretKey, Sm2Error> {
        self.generate_by(|bytes| Ok(random::fill(bytes)?))
    }

    /// A fresh key pair, from `rng`.
    ///
    /// # Errors
    /// [`Sm2Error::Generator`].
    // ct: sm2/keygen
    pub fn generate_with(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<SecretKey, Sm2Error> {
        self.generate_by(|bytes| {
            rng.fill_bytes(bytes);
            Ok(())
        })
    }

    fn generate_by(&self, mut fill: impl FnMut(&mut [u8]) -> Result<(), Sm2Error>) -> Result<SecretKey, Sm2Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let mut bytes = Zeroizing::new([0; 32]);
            // One in 2^32 is out of range.
            for _ in 0..8 {
                fill(bytes.as_mut_slice())?;
                if let Ok(secret) = self.secret_from_bytes(&bytes) {
                    return Ok(secret);
                }
            }
            Err(Sm2Error::Generator)
        })
    }

    /// The key pair whose secret key is this number, the highest byte first.
    ///
    /// # Errors
    /// [`Sm2Error::SecretKey`] unless it is from 1 to n − 2.
    // ct: sm2/keygen
    pub fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<SecretKey, Sm2Error> {
        secret::takes("sm2/keygen", bytes);
        secret::ran("SM2", self.arm());
        stack::clearing::<FRAMES, _>(|| {
            let mut key = SecretKey { sm2: *self, scalar: Kept::new(), public: PublicKey::generator(*self) };
            *key.scalar = from_bytes(bytes);
            // From 1 to n − 2: d − 1 is below n − 2, where 0 has become 2^256 − 1.
            let below = is_below(&minus(&key.scalar, &[1, 0, 0, 0]), &const { minus(&N::P, &[2, 0, 0, 0]) });
            if secret::declassified(u8::from(below), "sm2-secret-key-range") == 0 {
                return Err(Sm2Error::SecretKey);
            }
            key.public.point = on_arm!(self.arm, |group| group.affine(&group.base(&key.scalar)));
            key.public.write();
            key.public.publish();
            Ok(key)
        })
    }

    /// The public key in SEC1's form: 65 bytes that begin with 4, or 33 that begin with 2 or 3.
    ///
    /// # Errors
    /// [`Sm2Error::PublicKey`].
    // ct: public, because the key is
    pub fn public_from_bytes(&self, bytes: &[u8]) -> Result<PublicKey, Sm2Error> {
        let coordinate = |bytes: &[u8]| -> Result<Words, Sm2Error> {
            let words = from_bytes(bytes.try_into().map_err(|_| Sm2Error::PublicKey)?);
            if is_below(&words, &P::P) { Ok(words) } else { Err(Sm2Error::PublicKey) }
        };
        let (x, y, odd) = match *bytes {
            [4, ref both @ ..] if both.len() == 64 => (coordinate(&both[..32])?, Some(coordinate(&both[32..])?), 0),
            [tag @ (2 | 3), ref x @ ..] => (coordinate(x)?, None, tag & 1),
            _ => return Err(Sm2Error::PublicKey),
        };
        let point = on_arm!(self.arm, |group| {
            let field = group.field;
            let x = field.enter(&x);
            let y = match y {
                Some(y) => field.enter(&y),
                None => {
                    let y = group.y_of_vartime(&x);
                    let is_odd = field.leave(&y)[0] & 1 == u64::from(odd);
                    if is_odd { y } else { field.difference(&[0; 4], &y) }
                }
            };
            let point = Affine { x, y };
            group.is_on_curve(&point).then_some(point)
        });
        let mut key = PublicKey { sm2: *self, point: point.ok_or(Sm2Error::PublicKey)?, bytes: [[0; 32]; 2] };
        key.write();
        Ok(key)
    }
}

impl SecretKey {
    /// The number, the highest byte first.
    #[must_use]
    // ct: sm2/keygen
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(to_bytes(&self.scalar))
    }

    /// The public key.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }
}

impl PublicKey {
    /// In SEC1's form, 65 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 65] {
        let mut bytes = [4; 65];
        bytes[1..].copy_from_slice(self.bytes.as_flattened());
        bytes
    }

    /// In SEC1's compressed form: 33 bytes.
    #[must_use]
    pub fn to_compressed_bytes(&self) -> [u8; 33] {
        let mut bytes = [2 + (self.bytes[1][31] & 1); 33];
        bytes[1..].copy_from_slice(&self.bytes[0]);
        bytes
    }

    /// Z, the digest of the identity, the curve and the key, which goes before each message (GB/T 32918.2 §5.5).
    ///
    /// # Errors
    /// [`Sm2Error::Identity`].
    // ct: public, because identities and public keys are
    pub fn identity_digest(&self, id: &[u8]) -> Result<[u8; 32], Sm2Error> {
        let bits = id.len().checked_mul(8).and_then(|bits| u16::try_from(bits).ok()).ok_or(Sm2Error::Identity)?;
        let [x, y] = Sm2Curve::GENERATOR;
        let mut hash = Sm3::with_cpu(self.sm2.cpu);
        hash.update(bits.to_be_bytes());
        hash.update(id);
        for number in [minus(&P::P, &[3, 0, 0, 0]), Sm2Curve::B, x, y] {
            hash.update(to_bytes(&number));
        }
        hash.update(self.bytes.as_flattened());
        Ok(hash.finalize().into())
    }

    fn generator(sm2: Sm2) -> Self {
        let point = on_arm!(sm2.arm, |group| group.generator());
        Self { sm2, point, bytes: Sm2Curve::GENERATOR.map(|number| to_bytes(&number)) }
    }

    /// Marks the key as public, when it has been made.
    fn publish(&mut self) {
        secret::declassify(self.bytes.as_flattened(), "sm2-public-key");
        for word in self.point.x.iter_mut().chain(&mut self.point.y) {
            *word = secret::declassified_u64(*word, "sm2-public-key");
        }
    }

    /// The bytes of the point.
    fn write(&mut self) {
        let Affine { x, y } = self.point;
        self.bytes = on_arm!(self.sm2.arm, |group| [x, y].map(|number| to_bytes(&group.field.leave(&number))));
    }
}

impl PartialEq for PublicKey {
    // ct: public, because public keys are
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey(")?;
        self.to_compressed_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl ZeroizeOnDrop for SecretKey {}
