//! Secret and public keys.

use super::{Ec, EcError, FRAMES, NamedCurve, on_arm};
use crate::curve::words::{Words, from_bytes, is_below, minus, small, to_bytes};
use crate::curve::{Affine, Curve, Modulus};
use crate::kept::Kept;
use crate::{random, stack};
use candor_cpu::secret;
use core::fmt;
use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Stack on which the bytes of a key lie, or digests of an identity are made.
pub(crate) const FRAMES_OF_BYTES: usize = 4096;

/// A number of the curve's size, the highest byte first: 32 bytes, or 48 for P-384.
pub type Bytes<C> = <<C as Curve>::W as Words>::Bytes;

/// A secret key: a number from 1 to n − 1, or n − 2 for SM2, with its public key. Wiped on drop.
#[derive(Clone)]
pub struct SecretKey<C: NamedCurve> {
    pub(crate) ec: Ec<C>,
    pub(crate) scalar: Kept<C::W>,
    public: PublicKey<C>,
}

/// A public key: a point of the curve, and not the one at infinity.
#[derive(Clone)]
pub struct PublicKey<C: NamedCurve> {
    pub(crate) ec: Ec<C>,
    /// As it stands in the field.
    pub(crate) point: Affine<C::W>,
    /// x and y.
    pub(crate) bytes: [Bytes<C>; 2],
}

impl<C: NamedCurve> Ec<C> {
    /// A fresh key pair, from the operating system's randomness.
    ///
    /// # Errors
    /// [`EcError::Randomness`].
    pub fn generate(&self) -> Result<SecretKey<C>, EcError> {
        self.generate_by(|bytes| Ok(random::fill(bytes)?))
    }

    /// A fresh key pair, from `rng`.
    ///
    /// # Errors
    /// [`EcError::Generator`].
    // ct: ec/keygen
    pub fn generate_with(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<SecretKey<C>, EcError> {
        self.generate_by(|bytes| {
            rng.fill_bytes(bytes);
            Ok(())
        })
    }

    fn generate_by(&self, mut fill: impl FnMut(&mut [u8]) -> Result<(), EcError>) -> Result<SecretKey<C>, EcError> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let mut bytes = Zeroizing::new(C::W::ZERO_BYTES);
            // One in 2^32 is out of range.
            for _ in 0..8 {
                fill(bytes.as_mut())?;
                if let Ok(secret) = self.secret_from_bytes(&bytes) {
                    return Ok(secret);
                }
            }
            Err(EcError::Generator)
        })
    }

    /// The key pair whose secret key is this number, the highest byte first.
    ///
    /// # Errors
    /// [`EcError::SecretKey`] unless it is from 1 to n − 1, or n − 2 for SM2.
    // ct: ec/keygen
    pub fn secret_from_bytes(&self, bytes: &Bytes<C>) -> Result<SecretKey<C>, EcError> {
        secret::takes("ec/keygen", bytes);
        secret::ran(C::NAME, self.arm());
        stack::clearing::<FRAMES, _>(|| {
            let mut key = SecretKey { ec: *self, scalar: Kept::new(C::W::ZERO), public: PublicKey::generator(*self) };
            *key.scalar = from_bytes(bytes);
            // From 1 to h: d − 1 is below h, where 0 has become R − 1.
            let highest = minus(&C::Order::P, &small(C::ABOVE_SECRETS));
            let below = is_below(&minus(&*key.scalar, &small(1)), &highest);
            if secret::declassified(u8::from(below), "ec-secret-key-range") == 0 {
                return Err(EcError::SecretKey);
            }
            key.public.point = {
                let point = C::base(self.arm, &key.scalar);
                on_arm!(self.arm, |group: C| group.affine(&point))
            };
            key.public.write();
            key.public.publish();
            Ok(key)
        })
    }

    /// The same from a slice.
    ///
    /// # Errors
    /// [`EcError::SecretKey`], also if the length is another.
    // ct: ec/keygen
    pub fn secret_from_slice(&self, bytes: &[u8]) -> Result<SecretKey<C>, EcError> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let mut number = Zeroizing::new(C::W::ZERO_BYTES);
            if bytes.len() != number.as_ref().len() {
                return Err(EcError::SecretKey);
            }
            number.as_mut().copy_from_slice(bytes);
            self.secret_from_bytes(&number)
        })
    }

    /// The public key in SEC1's form: a byte 4 and both coordinates, or a byte 2 or 3 and x.
    ///
    /// # Errors
    /// [`EcError::PublicKey`].
    // ct: public, because the key is
    pub fn public_from_bytes(&self, bytes: &[u8]) -> Result<PublicKey<C>, EcError> {
        let length = size_of::<Bytes<C>>();
        let coordinate = |bytes: &[u8]| {
            let mut number = C::W::ZERO_BYTES;
            number.as_mut().copy_from_slice(bytes);
            let words = from_bytes::<C::W>(&number);
            if is_below(&words, &C::Field::P) { Ok(words) } else { Err(EcError::PublicKey) }
        };
        let (x, y, odd) = match *bytes {
            [4, ref both @ ..] if both.len() == 2 * length => {
                let (x, y) = both.split_at(length);
                (coordinate(x)?, Some(coordinate(y)?), 0)
            }
            [tag @ (2 | 3), ref x @ ..] if x.len() == length => (coordinate(x)?, None, tag & 1),
            _ => return Err(EcError::PublicKey),
        };
        let point = on_arm!(self.arm, |group: C| {
            let field = group.field;
            let x = field.enter(&x);
            let y = match y {
                Some(y) => field.enter(&y),
                None => {
                    let y = group.y_of_vartime(&x);
                    let is_odd = field.leave(&y)[0] & 1 == u64::from(odd);
                    if is_odd { y } else { field.negative(&y) }
                }
            };
            let point = Affine { x, y };
            group.is_on_curve(&point).then_some(point)
        });
        let mut key = PublicKey { ec: *self, point: point.ok_or(EcError::PublicKey)?, bytes: [C::W::ZERO_BYTES; 2] };
        key.write();
        Ok(key)
    }
}

impl<C: NamedCurve> SecretKey<C> {
    /// The number, the highest byte first.
    #[must_use]
    // ct: ec/keygen
    pub fn to_bytes(&self) -> Zeroizing<Bytes<C>> {
        Zeroizing::new(to_bytes(&*self.scalar))
    }

    /// The public key.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey<C> {
        &self.public
    }
}

impl<C: NamedCurve> PublicKey<C> {
    /// In SEC1's form, uncompressed: 65 or 97 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> <C::W as Words>::Sec1 {
        let mut bytes = C::W::EMPTY_SEC1;
        let (tag, both) = bytes.as_mut().split_at_mut(1);
        tag[0] = 4;
        both.chunks_mut(size_of::<Bytes<C>>())
            .zip(&self.bytes)
            .for_each(|(to, number)| to.copy_from_slice(number.as_ref()));
        bytes
    }

    /// In SEC1's compressed form: 33 or 49 bytes.
    #[must_use]
    pub fn to_compressed_bytes(&self) -> <C::W as Words>::Compressed {
        let [x, y] = self.bytes.each_ref().map(AsRef::as_ref);
        let mut bytes = C::W::EMPTY_COMPRESSED;
        let (tag, to) = bytes.as_mut().split_at_mut(1);
        tag[0] = 2 + (y[y.len() - 1] & 1);
        to.copy_from_slice(x);
        bytes
    }

    fn generator(ec: Ec<C>) -> Self {
        let point = on_arm!(ec.arm, |group: C| group.generator());
        Self { ec, point, bytes: C::GENERATOR.map(|number| to_bytes(&number)) }
    }

    /// Marks the key as public, when it has been made.
    fn publish(&mut self) {
        for number in &self.bytes {
            secret::declassify(number.as_ref(), "ec-public-key");
        }
        for word in self.point.x.as_mut().iter_mut().chain(self.point.y.as_mut()) {
            *word = secret::declassified_u64(*word, "ec-public-key");
        }
    }

    /// The bytes of the point.
    fn write(&mut self) {
        let Affine { x, y } = self.point;
        self.bytes = on_arm!(self.ec.arm, |group: C| [x, y].map(|number| to_bytes(&group.field.leave(&number))));
    }
}

impl<C: NamedCurve> PartialEq for PublicKey<C> {
    // ct: public, because public keys are
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<C: NamedCurve> Eq for PublicKey<C> {}

impl<C: NamedCurve> fmt::Debug for SecretKey<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl<C: NamedCurve> fmt::Debug for PublicKey<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey(")?;
        self.to_compressed_bytes().as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl<C: NamedCurve> ZeroizeOnDrop for SecretKey<C> {}
