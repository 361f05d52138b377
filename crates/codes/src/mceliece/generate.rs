//! Key pairs from seeds (specification, section 2.4.3).

use super::arm_mux::Arm;
use super::columns;
use super::control::control_bits;
use super::parameters::{ELEMENT_BITS, LAST_ROWS, ORDER_BITS, PIVOTS, Parameters, SEED};
use super::permutation::{self, Order};
use super::polynomial;
use super::systematic;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::Cpu;
use candor_primitives::hash::{ExtendableOutput, Shake256, Update, XofReader};
use core::ops::Range;
use zeroize::Zeroizing;

/// What the hash of a seed begins with.
const PREFIX: u8 = 64;

/// A key pair as bytes.
pub(super) struct KeyPair {
    pub(super) secret: Zeroizing<Box<[u8]>>,
    pub(super) public: Box<[u8]>,
}

/// Where the parts of a secret key are.
pub(super) struct Layout {
    pub(super) seed: Range<usize>,
    /// c.
    pub(super) pivots: Range<usize>,
    /// The coefficients of g.
    pub(super) polynomial: Range<usize>,
    pub(super) control: Range<usize>,
    /// s.
    pub(super) rejection: Range<usize>,
}

impl Layout {
    pub(super) const fn of(parameters: &Parameters) -> Self {
        let pivots = SEED + PIVOTS;
        let polynomial = pivots + parameters.polynomial();
        let control = polynomial + parameters.control();
        Self {
            seed: 0..SEED,
            pivots: SEED..pivots,
            polynomial: pivots..polynomial,
            control: polynomial..control,
            rejection: control..parameters.secret(),
        }
    }
}

/// The key pair of a seed δ. If δ gives none, the last bytes of its expansion take its place; how often that happens is public, since the seeds that
/// are discarded are independent of the last one.
pub(super) fn key_pair(cpu: Cpu, arm: Arm, parameters: &Parameters, seed: &[u8]) -> KeyPair {
    let mut expansion = Expansion::of(cpu, parameters, seed);
    let mut public = vec![0; parameters.public()].into_boxed_slice();
    loop {
        if let Some(secret) = expansion.attempt(arm, &mut public) {
            return KeyPair { secret, public };
        }
        expansion = Expansion::of(cpu, parameters, &expansion.bytes[expansion.next()]);
    }
}

/// Whether a secret key is the one that its seed δ gives, but for c, which is taken from the key: 1 or 0. T is not computed.
pub(super) fn is_consistent(cpu: Cpu, arm: Arm, parameters: &Parameters, secret: &[u8]) -> u8 {
    let layout = Layout::of(parameters);
    let expansion = Expansion::of(cpu, parameters, &secret[layout.seed.clone()]);
    let moved = u64::from_le_bytes(secret[layout.pivots.clone()].try_into().expect("64 bits"));
    let valid = systematic::is_choice(parameters, moved);
    let again = expansion.start(arm).map(|(g, mut order)| {
        if parameters.semi_systematic {
            systematic::move_columns(&systematic::positions(moved), parameters.rows() - LAST_ROWS, &mut order);
        }
        expansion.secret(arm, &g, &order, moved)
    });
    again.map_or(0, |again| subtle::ConstantTimeEq::ct_eq(&again[..], secret).unwrap_u8() & valid)
}

/// The hash of a seed: s, the order of the field's elements, the element whose polynomial is g, and the next seed.
struct Expansion<'a> {
    parameters: &'a Parameters,
    seed: Zeroizing<[u8; SEED]>,
    bytes: Zeroizing<Vec<u8>>,
}

impl<'a> Expansion<'a> {
    fn of(cpu: Cpu, parameters: &'a Parameters, seed: &[u8]) -> Self {
        let mut own = Zeroizing::new([0; SEED]);
        own.copy_from_slice(seed);
        let bits = parameters.n + parameters.q() * ORDER_BITS + parameters.t * ELEMENT_BITS;
        let mut bytes = Zeroizing::new(vec![0; bits / 8 + SEED]);
        let mut shake = Shake256::with_cpu(cpu);
        shake.update(&[PREFIX]);
        shake.update(seed);
        shake.finalize_xof().read(&mut bytes);
        Self { parameters, seed: own, bytes }
    }

    fn rejection(&self) -> Range<usize> {
        0..self.parameters.vector()
    }

    fn order(&self) -> Range<usize> {
        let first = self.parameters.vector();
        first..first + self.parameters.q() * ORDER_BITS / 8
    }

    fn element(&self) -> Range<usize> {
        let first = self.order().end;
        first..first + self.parameters.t * ELEMENT_BITS / 8
    }

    fn next(&self) -> Range<usize> {
        self.element().end..self.bytes.len()
    }

    /// The secret key, and T in `public`; nothing if this seed gives no key.
    fn attempt(&self, arm: Arm, public: &mut [u8]) -> Option<Zeroizing<Box<[u8]>>> {
        let (g, mut order) = self.start(arm)?;
        let moved = systematic::public_matrix(arm, self.parameters, &mut order, public)?;
        Some(self.secret(arm, &g, &order, moved))
    }

    /// g, and the order of the elements with 1/g of each.
    fn start(&self, arm: Arm) -> Option<(Zeroizing<Vec<u16>>, Order)> {
        let mask = (self.parameters.q() - 1) as u16;
        let mut element = Zeroizing::new(Vec::with_capacity(self.parameters.t));
        let bytes = self.bytes[self.element()].as_chunks::<2>().0;
        element.extend(bytes.iter().map(|bytes| u16::from_le_bytes(*bytes) & mask));
        let g = polynomial::minimal(arm, self.parameters, &element)?;
        let inverses = columns::inverses(arm, self.parameters, &g);
        let order = permutation::order(arm, &self.bytes[self.order()], &inverses)?;
        Some((g, order))
    }

    fn secret(&self, arm: Arm, g: &[u16], order: &Order, moved: u64) -> Zeroizing<Box<[u8]>> {
        let layout = Layout::of(self.parameters);
        let mut secret: Zeroizing<Box<[u8]>> = Zeroizing::new(vec![0; self.parameters.secret()].into());
        secret[layout.seed].copy_from_slice(&*self.seed);
        secret[layout.pivots].copy_from_slice(&moved.to_le_bytes());
        for (bytes, g) in secret[layout.polynomial].as_chunks_mut::<2>().0.iter_mut().zip(g) {
            *bytes = g.to_le_bytes();
        }
        secret[layout.control].copy_from_slice(&control_bits(arm, self.parameters.m, &order.numbers));
        secret[layout.rejection].copy_from_slice(&self.bytes[self.rejection()]);
        secret
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::{self, MCELIECE_348864, MCELIECE_348864F, MCELIECE_6960119F};
    use super::super::tests::arms;
    use super::*;
    use pq_mceliece::Algorithm;

    fn best() -> Arm {
        arms()[0]
    }

    #[test]
    fn a_key_pair_is_the_other_s_from_the_same_seed() {
        for (set, other, seeds) in [
            (&MCELIECE_348864, Algorithm::McEliece348864, 3),
            (&MCELIECE_348864F, Algorithm::McEliece348864f, 2),
            (&MCELIECE_6960119F, Algorithm::McEliece6960119f, 1),
        ] {
            for seed in 0..seeds {
                let seed = [seed; SEED];
                let pair = key_pair(Cpu::default(), best(), set, &seed);
                let (public, secret) = other.generate_keypair_from_seed(seed).unwrap();
                assert!(secret.value() == &pair.secret[..], "the secret key of {other:?} and {seed:?}");
                assert!(public.value() == &pair.public[..], "the public key of {other:?} and {seed:?}");
            }
        }
    }

    #[test]
    fn a_secret_key_that_its_seed_does_not_give_is_found_out() {
        for set in [&MCELIECE_348864, &MCELIECE_348864F] {
            let pair = key_pair(Cpu::default(), best(), set, &[9; SEED]);
            let check = |secret: &[u8]| is_consistent(Cpu::default(), best(), set, secret);
            assert_eq!(check(&pair.secret), 1);
            let layout = Layout::of(set);
            for part in [layout.seed, layout.pivots, layout.polynomial, layout.control, layout.rejection] {
                for at in [part.start, part.end - 1] {
                    let mut changed = pair.secret.clone();
                    changed[at] ^= 0x10;
                    assert_eq!(check(&changed), 0, "byte {at}");
                }
            }
        }
    }

    #[test]
    fn the_parts_of_a_secret_key_cover_it_without_gaps() {
        for set in parameters::ALL {
            let Layout { seed, pivots, polynomial, control, rejection } = Layout::of(set);
            assert_eq!(
                [seed.end, pivots.end, polynomial.end, control.end, rejection.end, seed.start],
                [pivots.start, polynomial.start, control.start, rejection.start, set.secret(), 0]
            );
        }
    }
}
