//! The irreducible polynomial of a key (specification, section 2.4.1).

use super::arm_mux::Arm;
use super::parameters::Parameters;
use crate::kernels::mceliece::field;
use crate::kernels::mceliece::polynomials::{self, LENGTH, Product, Vector};
use alloc::vec::Vec;
use candor_cpu::secret;
use zeroize::Zeroizing;

/// The minimal polynomial over GF(2^m) of an element of GF((2^m)ᵗ) that is given by its t coefficients: t coefficients, lowest first, below
/// a leading 1. Nothing if its degree is less than t.
pub(super) fn minimal(arm: Arm, parameters: &Parameters, element: &[u16]) -> Option<Zeroizing<Vec<u16>>> {
    match parameters.m {
        12 => of_field::<12>(arm, parameters, element),
        _ => of_field::<13>(arm, parameters, element),
    }
}

/// 1, β, …, βᵗ are columns of a system whose solution has the coefficients.
fn of_field<const M: usize>(arm: Arm, parameters: &Parameters, element: &[u16]) -> Option<Zeroizing<Vec<u16>>> {
    let t = parameters.t;
    let mut beta = Zeroizing::new([0; LENGTH]);
    beta[..t].copy_from_slice(element);
    let multiples = Zeroizing::new(polynomials::multiples::<M>(&beta));
    let mut powers: Zeroizing<Vec<Vector>> = Zeroizing::new(Vec::with_capacity(t + 1));
    let mut one = [0; LENGTH];
    one[0] = 1;
    powers.extend([one, *beta]);
    while powers.len() <= t {
        // An even power is a square, and squaring a polynomial squares its coefficients.
        let mut product = Zeroizing::new([0; 2 * LENGTH]);
        if powers.len().is_multiple_of(2) {
            let half = &powers[powers.len() / 2];
            product.iter_mut().step_by(2).zip(half).for_each(|(to, a)| *to = field::square::<M>(*a));
        } else {
            *product = arm.multiply::<M>(&powers[powers.len() - 1], &multiples);
        }
        reduce::<M>(parameters, &mut product);
        powers.push(*product.first_chunk().expect("the lower half of a product"));
    }
    let regular = arm.eliminate::<M>(&mut powers);
    // Whether the element lies in a subfield says nothing of the key that another element gives.
    if secret::declassified(regular as u8, "mceliece-retry") == 0 {
        return None;
    }
    Some(Zeroizing::new(powers[t][..t].to_vec()))
}

/// What is left of a product modulo F.
fn reduce<const M: usize>(parameters: &Parameters, product: &mut Product) {
    for from in (parameters.t..2 * parameters.t - 1).rev() {
        let high = core::mem::take(&mut product[from]);
        for (exponent, coefficient) in parameters.modulus {
            let term = if *coefficient == 1 { high } else { field::times::<M>(*coefficient, high) };
            product[from - parameters.t + exponent] ^= term;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters;
    use super::super::tests::arms;
    use super::*;
    use candor_test_support::Random;

    /// g(β) = 0 in GF((2^m)ᵗ), computed by Horner's rule with schoolbook products.
    fn vanishes<const M: usize>(set: &Parameters, g: &[u16], beta: &[u16]) -> bool {
        let mut value = vec![0; set.t];
        value[0] = 1;
        for coefficient in g.iter().rev() {
            let mut product = [0; 2 * LENGTH];
            for (i, a) in value.iter().enumerate() {
                beta.iter().enumerate().for_each(|(j, b)| product[i + j] ^= field::times::<M>(*a, *b));
            }
            reduce::<M>(set, &mut product);
            value.copy_from_slice(&product[..set.t]);
            value[0] ^= coefficient;
        }
        value.iter().all(|value| *value == 0)
    }

    #[test]
    fn an_element_is_a_root_of_its_minimal_polynomial() {
        let mut random = Random::new(5);
        for set in parameters::ALL.into_iter().filter(|set| set.semi_systematic) {
            let beta: Vec<u16> = (0..set.t).map(|_| random.word() as u16 & (set.q() - 1) as u16).collect();
            for arm in arms() {
                let g = minimal(arm, set, &beta).expect("nearly every element has degree t");
                assert_eq!(g.len(), set.t);
                assert!(if set.m == 12 { vanishes::<12>(set, &g, &beta) } else { vanishes::<13>(set, &g, &beta) });
            }
        }
    }

    #[test]
    fn elements_of_smaller_fields_have_none_of_degree_t() {
        for set in parameters::ALL {
            for constant in [0, 1, 77] {
                let mut beta = vec![0; set.t];
                beta[0] = constant;
                arms().into_iter().for_each(|arm| assert!(minimal(arm, set, &beta).is_none()));
            }
        }
    }
}
