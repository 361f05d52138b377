//! Secret and public keys, and what their parts must be.

use super::blinding::Blinding;
use super::exponents::{inverse_of, less_one};
use super::modulus::Modulus;
use super::power::powers;
use super::private::Secret;
use super::{FRAMES, Rsa, RsaError, Size};
use crate::stack;
use crate::words::{Number, from_bytes, is_below, is_same, is_word, product, remainder, subtract_word, to_bytes};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::barrier::mask_u64;
use candor_cpu::secret;
use core::fmt;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// A public key: a modulus and an exponent.
#[derive(Clone)]
pub struct PublicKey {
    pub(super) rsa: Rsa,
    pub(super) size: Size,
    pub(super) modulus: Modulus,
    pub(super) exponent: u64,
}

/// A secret key: two primes and what belongs to them, with its public key. Wiped on drop.
pub struct SecretKey {
    pub(super) public: PublicKey,
    pub(super) secret: Box<Secret>,
}

/// The parts of a secret key by their names in RFC 8017 §3.2, each with the highest byte first.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// n.
    pub modulus: &'a [u8],
    /// e.
    pub public_exponent: &'a [u8],
    /// d.
    pub private_exponent: &'a [u8],
    /// p and q.
    pub primes: [&'a [u8]; 2],
    /// d modulo p − 1 and q − 1.
    pub exponents: [&'a [u8]; 2],
    /// 1/q modulo p.
    pub coefficient: &'a [u8],
}

impl Rsa {
    /// The public key with this modulus and this exponent, the highest byte first.
    ///
    /// # Errors
    /// [`RsaError::Modulus`] unless it is odd and has 2,048, 3,072 or 4,096 bits, [`RsaError::Exponent`] unless it is odd, at least 3, and below
    /// 2^64.
    // ct: public, because the key is
    pub fn public_from_parts(&self, modulus: &[u8], exponent: &[u8]) -> Result<PublicKey, RsaError> {
        let digits = |bytes: &[u8]| bytes.iter().skip_while(|byte| **byte == 0).count();
        let size = Size::ALL.into_iter().find(|size| size.bytes() == digits(modulus)).ok_or(RsaError::Modulus)?;
        let words = from_bytes(modulus, size.words()).ok_or(RsaError::Modulus)?;
        if words[0] & 1 == 0 || words[size.words() - 1] >> 63 == 0 {
            return Err(RsaError::Modulus);
        }
        let exponent = from_bytes(exponent, 1).ok_or(RsaError::Exponent)?[0];
        if exponent & 1 == 0 || exponent < 3 {
            return Err(RsaError::Exponent);
        }
        Ok(PublicKey { rsa: *self, size, modulus: Modulus::new(self.arm, &words), exponent })
    }

    /// The secret key with these parts. That the primes are primes is not looked at: with others an operation ends in [`RsaError::Fault`].
    ///
    /// # Errors
    /// Those of [`public_from_parts`](Self::public_from_parts), and [`RsaError::SecretKey`] unless all parts belong together: n = pq with two
    /// different numbers of half its size, ed = 1 modulo p − 1 and modulo q − 1, the exponents and the coefficient are those that follow.
    // ct: rsa/key
    pub fn secret_from_parts(&self, parts: &Parts<'_>) -> Result<SecretKey, RsaError> {
        secret::takes("rsa/key", parts.primes[0]);
        secret::ran("RSA", self.arm());
        stack::clearing::<FRAMES, _>(|| {
            let public = self.public_from_parts(parts.modulus, parts.public_exponent)?;
            let half = public.size.words() / 2;
            let number = |bytes: &[u8], words| from_bytes(bytes, words).ok_or(RsaError::SecretKey);
            let [p, q] = [number(parts.primes[0], half)?, number(parts.primes[1], half)?];
            let exponents = [number(parts.exponents[0], half)?, number(parts.exponents[1], half)?];
            let coefficient = number(parts.coefficient, half)?;
            let exponent = number(parts.private_exponent, 2 * half)?;
            // The product has all bits, so both primes have all of theirs.
            let is_product = is_same(&product(&p, &q), &public.modulus.words) & !is_same(&p, &q);
            if secret::declassified(is_product as u8 & 1, "rsa-secret-key") == 0 {
                return Err(RsaError::SecretKey);
            }
            let key = SecretKey::assembled(public, [p, q], exponent, Some(coefficient))?;
            let is_right =
                is_same(&key.secret.exponents[0], &exponents[0]) & is_same(&key.secret.exponents[1], &exponents[1]);
            if secret::declassified(is_right as u8 & 1, "rsa-secret-key") == 0 {
                return Err(RsaError::SecretKey);
            }
            Ok(key)
        })
    }
}

impl SecretKey {
    /// The key of these primes, whose product is the modulus, this private exponent, and this coefficient or the one that follows.
    ///
    /// # Errors
    /// [`RsaError::SecretKey`] unless ed = 1 modulo p − 1 and modulo q − 1, and the coefficient is 1/q modulo p.
    pub(super) fn assembled(
        public: PublicKey,
        primes: [Number; 2],
        exponent: Number,
        coefficient: Option<Number>,
    ) -> Result<Self, RsaError> {
        let mut is_right = mask_u64(is_below(&exponent, &public.modulus.words));
        let exponents = primes.each_ref().map(|prime| {
            let below = less_one(prime);
            let (inverse, exists) = inverse_of(public.exponent, &below);
            is_right &= exists & is_same(&remainder(&exponent, &below), &inverse);
            inverse
        });
        let primes = primes.each_ref().map(|prime| Modulus::new(public.rsa.arm, prime));
        let [p, q] = &primes;
        let of_q = p.enter(&p.reduced(&q.words));
        let coefficient = coefficient.unwrap_or_else(|| {
            // q^(p − 2) is 1/q, by Fermat's little theorem. Powers come in pairs; the other is the same.
            let mut less_two = less_one(&p.words);
            subtract_word(&mut less_two, 1);
            let [power, _] = powers([p, p], [&of_q, &of_q], [&less_two, &less_two]);
            p.leave(&power)
        });
        let mut one = p.element();
        p.product(&p.formed(&coefficient), &of_q, &mut one);
        is_right &= is_word(&p.plain(&one), 1) & mask_u64(is_below(&coefficient, &p.words));
        if secret::declassified(is_right as u8 & 1, "rsa-secret-key") == 0 {
            return Err(RsaError::SecretKey);
        }
        let coefficient_element = p.enter(&coefficient);
        let blinding = Blinding::new(public.modulus.form.len());
        let secret = Secret { primes, exponents, coefficient, coefficient_element, exponent, blinding };
        Ok(Self { public, secret: Box::new(secret) })
    }

    /// The same key with the code of `rsa`, and with a blinding of its own. Key files give keys with the fastest code for this CPU.
    #[must_use]
    // ct: rsa/key
    pub fn on(&self, rsa: &Rsa) -> Self {
        stack::clearing::<FRAMES, _>(|| {
            let Secret { primes, exponents, coefficient, exponent, .. } = &*self.secret;
            let public = self.public.on(rsa);
            let primes = primes.each_ref().map(|prime| Modulus::new(rsa.arm, &prime.words));
            let secret = Secret {
                coefficient_element: primes[0].enter(coefficient),
                blinding: Blinding::new(public.modulus.form.len()),
                exponents: exponents.clone(),
                coefficient: coefficient.clone(),
                exponent: exponent.clone(),
                primes,
            };
            Self { public, secret: Box::new(secret) }
        })
    }

    /// The public key.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// d, p, q, d modulo p − 1 and q − 1, and 1/q modulo p, the highest byte first.
    pub(super) fn numbers(&self) -> [Zeroizing<Vec<u8>>; 6] {
        let Secret { primes: [p, q], exponents: [of_p, of_q], coefficient, exponent, .. } = &*self.secret;
        [exponent, &p.words, &q.words, of_p, of_q, coefficient].map(|number| Zeroizing::new(bytes(number)))
    }
}

fn bytes(number: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; 8 * number.len()];
    to_bytes(number, &mut bytes);
    bytes
}

impl PublicKey {
    /// How long the modulus is.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The modulus, the highest byte first: 256, 384 or 512 bytes.
    #[must_use]
    pub fn modulus(&self) -> Vec<u8> {
        bytes(&self.modulus.words)
    }

    /// The same key with the code of `rsa`.
    #[must_use]
    // ct: public, because public keys are
    pub fn on(&self, rsa: &Rsa) -> Self {
        Self { rsa: *rsa, modulus: Modulus::new(rsa.arm, &self.modulus.words), ..*self }
    }

    /// The exponent.
    #[must_use]
    pub fn exponent(&self) -> u64 {
        self.exponent
    }
}

impl Clone for SecretKey {
    /// The copy draws a blinding of its own.
    fn clone(&self) -> Self {
        self.on(&self.public.rsa)
    }
}

impl PartialEq for PublicKey {
    // ct: public, because public keys are
    fn eq(&self, other: &Self) -> bool {
        self.exponent == other.exponent && self.modulus.words == other.modulus.words
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
        write!(f, "PublicKey({} bits, e = {}, ", self.size.bits(), self.exponent)?;
        self.modulus().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl ZeroizeOnDrop for SecretKey {}
