//! The private operation: blinded, modulo both primes, and verified before anybody sees its result.

use super::RsaError;
use super::blinding::{Blinding, Pair, lineage};
use super::exponents::less_one;
use super::key::SecretKey;
use super::modulus::Modulus;
use super::power::{powers, public_power};
use crate::words::{self, Number, add, is_same, product, subtract_modulo, zero};
use candor_cpu::secret;

/// What a secret key computes with.
pub(super) struct Secret {
    pub(super) primes: [Modulus; 2],
    /// d modulo each prime less one.
    pub(super) exponents: [Number; 2],
    /// 1/q modulo p.
    pub(super) coefficient: Number,
    /// The same, as an element of p.
    pub(super) coefficient_element: Number,
    /// d.
    pub(super) exponent: Number,
    pub(super) blinding: Blinding,
}

impl SecretKey {
    /// c^d modulo n, for c below n, blinded by a pair of the operation's own or by the one that is kept. `fill` gives randomness for a fresh one.
    ///
    /// # Errors
    /// Those of `fill`, and [`RsaError::Fault`] if the result's public power is not c.
    pub(super) fn private_power(
        &self,
        c: &[u64],
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), RsaError>,
        pair: Pair,
    ) -> Result<Number, RsaError> {
        secret::ran("RSA", self.public.rsa.arm());
        let n = &self.public.modulus;
        let times = |a: &[u64], b: &[u64]| {
            let mut product = n.element();
            n.product(a, b, &mut product);
            product
        };
        let [v, u] = match pair {
            Pair::Own => self.fresh_pair(fill)?,
            Pair::Kept => {
                let square = |element: &Number| times(element, element);
                self.secret.blinding.next(lineage(), || self.fresh_pair(fill), square)?
            }
        };
        let blinded = n.plain(&times(&n.formed(c), &v));
        let power = self.secret.power(&blinded, self.secret.exponents.each_ref().map(|exponent| &exponent[..]));
        let result = n.plain(&times(&n.formed(&power), &u));
        let is_right = is_same(&public_power(n, &result, self.public.exponent), c);
        if secret::declassified(is_right as u8 & 1, "rsa-fault") == 0 {
            self.secret.blinding.forget();
            return Err(RsaError::Fault);
        }
        Ok(result)
    }

    /// A random v and v^(−d), as elements of n.
    pub(super) fn fresh_pair(
        &self,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), RsaError>,
    ) -> Result<[Number; 2], RsaError> {
        let (n, secret) = (&self.public.modulus, &*self.secret);
        let mut bytes = zeroize::Zeroizing::new(alloc::vec![0; 8 * n.len()]);
        fill(&mut bytes)?;
        let v = words::from_bytes(&bytes, n.len()).expect("as many bytes as the number has");
        let v = n.reduced(&v);
        // −d modulo p − 1 is p − 1 − d.
        let negative = |at: usize| {
            let mut exponent = less_one(&secret.primes[at].words);
            words::subtract(&mut exponent, &secret.exponents[at]);
            exponent
        };
        let (first, second) = (negative(0), negative(1));
        let u = secret.power(&v, [&first, &second]);
        let (v, u) = (n.enter(&v), n.enter(&u));
        // u^e·v is 1, unless something went wrong.
        let mut check = n.element();
        n.product(&n.enter(&public_power(n, &n.leave(&u), self.public.exponent)), &v, &mut check);
        let is_right = words::is_word(&n.leave(&check), 1);
        if secret::declassified(is_right as u8 & 1, "rsa-fault") == 0 {
            return Err(RsaError::Fault);
        }
        Ok([v, u])
    }
}

impl Secret {
    /// A number of the modulus' length to the power that has these exponents modulo p − 1 and q − 1, modulo n, by Garner's formula.
    fn power(&self, number: &[u64], exponents: [&[u64]; 2]) -> Number {
        let [p, q] = &self.primes;
        let bases = [p.enter_wide(number), q.enter_wide(number)];
        let [x, y] = powers([p, q], [&bases[0], &bases[1]], exponents);
        let (x, y) = (p.leave(&x), q.leave(&y));
        // y + q·((x − y)/q modulo p)
        let mut difference = x;
        subtract_modulo(&mut difference, &p.reduced(&y), &p.words);
        let mut quotient = p.element();
        p.product(&p.formed(&difference), &self.coefficient_element, &mut quotient);
        let mut power = product(&p.plain(&quotient), &q.words);
        let mut wide = zero(power.len());
        wide[..y.len()].copy_from_slice(&y);
        add(&mut power, &wide);
        power
    }
}
