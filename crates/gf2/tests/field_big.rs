//! The fields of several words: every tier against polynomials written bit by bit, and the laws of a field.

mod field_reference;

use candor_gf2::field::*;
use candor_test_support::Random;
use field_reference::{elements, fields, mul, remainder, words};

/// x^113 + x^9 + 1 (SEC 2: sect113r1): two words, an odd degree.
#[derive(Clone, Copy, Debug)]
struct Sect113;
impl Modulus for Sect113 {
    const MODULUS: SparseModulus<'static> = SparseModulus::constant(113, &[9, 0]);
    type Words = [u64; 2];
}

/// Runs `$test::<M>` for every modulus in its own test, so that a failure names the field.
macro_rules! for_each_field {
    ($($module:ident = $modulus:ty),+ $(,)?) => {$(
        mod $module {
            use super::*;

            #[test]
            fn products_are_those_of_the_reference_on_every_tier() {
                products::<$modulus>();
            }

            #[test]
            fn reduction_is_right_for_all_bits_set_too() {
                reductions::<$modulus>();
            }

            #[test]
            fn many_products_are_as_single_ones_at_every_length() {
                many::<$modulus>();
            }

            #[test]
            fn squares_and_roots_undo_each_other() {
                squares::<$modulus>();
            }

            #[test]
            fn an_element_times_its_inverse_is_one() {
                inverses::<$modulus>();
            }

            #[test]
            fn the_trace_is_the_sum_of_the_conjugates_and_linear() {
                traces::<$modulus>();
            }

            #[test]
            fn half_traces_solve_quadratic_equations() {
                half_traces::<$modulus>();
            }

            #[test]
            fn a_bit_at_the_degree_is_refused() {
                refusals::<$modulus>();
            }
        }
    )+};
}

for_each_field! {
    gcm128 = Gcm128,
    nist163 = Nist163,
    nist233 = Nist233,
    nist283 = Nist283,
    nist409 = Nist409,
    nist571 = Nist571,
    sect113 = Sect113,
    aes8 = Aes8,
    hqc8 = Hqc8,
    mceliece12 = McEliece12,
    mceliece13 = McEliece13,
}

fn products<M: Modulus>() {
    let inputs = elements::<M>(12);
    for a in &inputs {
        for b in &inputs {
            let right = mul::<M>(a, b);
            for (tier, field) in fields::<M>() {
                let product = field.mul(&field.element(*a).unwrap(), &field.element(*b).unwrap());
                assert_eq!(product.words().as_ref(), right.as_ref(), "{a:x?} times {b:x?} on {tier}");
            }
        }
    }
}

fn reductions<M: Modulus>() {
    let n = M::MODULUS.words();
    let mut random = Random::new(n as u64);
    let mut inputs: Vec<Vec<u64>> = vec![vec![u64::MAX; 2 * n], vec![0; 2 * n]];
    inputs.extend((0..128 * n).map(|i| {
        let mut one = vec![0; 2 * n];
        one[i / 64] = 1 << (i % 64);
        one
    }));
    inputs.extend((0..200).map(|_| (0..2 * n).map(|_| random.word()).collect()));
    for input in inputs {
        let right = remainder(&M::MODULUS, &input);
        let (low, high) = (words::<M>(&input[..n]), words::<M>(&input[n..]));
        for (tier, field) in fields::<M>() {
            assert_eq!(field.reduce(&low, &high).words().as_ref(), right, "{input:x?} on {tier}");
        }
        let mut folded = input.clone();
        M::MODULUS.reduce(&mut folded);
        assert_eq!(folded[..n], right, "{input:x?} folded");
        assert!(folded[n..].iter().all(|word| *word == 0));
        let mut fed_back = input.clone();
        M::MODULUS.reduce_by_rounds(&mut fed_back, &mut vec![0; 2 * n]);
        assert_eq!(fed_back[..n], right, "{input:x?} by rounds");
    }
}

fn many<M: Modulus>() {
    for (tier, field) in fields::<M>() {
        let inputs: Vec<_> = elements::<M>(9).into_iter().map(|a| field.element(a).unwrap()).collect();
        let turned: Vec<_> = inputs.iter().rev().copied().collect();
        let right: Vec<_> = inputs.iter().zip(&turned).map(|(a, b)| field.mul(a, b)).collect();
        for count in (0..=9).chain([inputs.len()]) {
            let mut out = vec![field.one(); count];
            field.mul_many(&inputs[..count], &turned[..count], &mut out);
            assert!(out == right[..count], "{count} products on {tier}");
        }
    }
}

fn squares<M: Modulus>() {
    for (tier, field) in fields::<M>() {
        for a in elements::<M>(20) {
            let a = field.element(a).unwrap();
            let square = field.square(&a);
            assert!(square == field.mul(&a, &a), "{:x?} squared on {tier}", a.words());
            assert!(field.sqrt(&square) == a, "the root of {:x?} on {tier}", square.words());
            assert!(field.square(&field.sqrt(&a)) == a, "{:x?} on {tier}", a.words());
            assert!(field.square_times(&a, 3) == field.square(&field.square(&square)));
            assert!(field.square_times(&a, M::MODULUS.degree()) == a, "the m-fold square is the element, on {tier}");
        }
    }
}

fn inverses<M: Modulus>() {
    for (tier, field) in fields::<M>() {
        assert!(field.invert(&field.zero()) == field.zero());
        for a in elements::<M>(8).into_iter().filter(|a| a.as_ref().iter().any(|word| *word != 0)) {
            let a = field.element(a).unwrap();
            assert!(field.mul(&a, &field.invert(&a)) == field.one(), "1/{:x?} on {tier}", a.words());
        }
    }
}

fn traces<M: Modulus>() {
    let field = Field::<M>::new();
    let inputs: Vec<_> = elements::<M>(8).into_iter().map(|a| field.element(a).unwrap()).collect();
    for a in &inputs {
        let (mut sum, mut conjugate) = (field.zero(), *a);
        for _ in 0..M::MODULUS.degree() {
            sum += conjugate;
            conjugate = field.square(&conjugate);
        }
        assert!(sum == if field.trace(a) == 1 { field.one() } else { field.zero() }, "the trace of {:x?}", a.words());
        for b in &inputs {
            assert_eq!(field.trace(&(*a + *b)), field.trace(a) ^ field.trace(b));
        }
    }
    assert!(inputs.iter().any(|a| field.trace(a) == 1));
}

fn half_traces<M: Modulus>() {
    let field = Field::<M>::new();
    for a in elements::<M>(8) {
        let a = field.element(a).unwrap();
        let Some(z) = field.half_trace(&a) else {
            assert_eq!(M::MODULUS.degree() % 2, 0);
            continue;
        };
        let right = if field.trace(&a) == 1 { a + field.one() } else { a };
        assert!(field.square(&z) + z == right, "{:x?}", a.words());
    }
}

fn refusals<M: Modulus>() {
    let field = Field::<M>::new();
    let m = M::MODULUS.degree();
    let mut bad = *field.zero().words();
    let Some(word) = bad.as_mut().get_mut(m / 64) else { return }; // 128 fills its words
    *word = 1 << (m % 64);
    assert_eq!(field.element(bad).unwrap_err(), ElementError { degree: m });
    let mut good = *field.zero().words();
    good.as_mut()[(m - 1) / 64] = 1 << ((m - 1) % 64);
    assert_eq!(field.element(good).unwrap().words().as_ref(), good.as_ref());
}

#[test]
fn gcm_multiplies_as_its_specification_says() {
    // x^127 · x = x^128 = x^7 + x^2 + x + 1.
    let field = Field::<Gcm128>::new();
    let product = field.mul(&field.element([0, 1 << 63]).unwrap(), &field.element([2, 0]).unwrap());
    assert_eq!(product.words(), &[0x87, 0]);
}

#[test]
fn aes_multiplies_as_its_specification_says() {
    // FIPS 197, 4.2: {57}·{83} = {c1}.
    let field = Field::<Aes8>::new();
    assert_eq!(field.mul(&field.element([0x57]).unwrap(), &field.element([0x83]).unwrap()).words(), &[0xc1]);
}

#[test]
fn products_may_overwrite_their_factors() {
    let field = Field::<Nist283>::new();
    let mut a = field.element([1, 2, 3, 4, 5]).unwrap();
    let right = field.mul(&a, &a);
    a = field.mul(&a, &a);
    assert!(a == right);
}

#[test]
fn the_base_points_of_the_koblitz_curves_are_on_them_on_every_tier() {
    for tier in candor_cpu::Cpu::tiers() {
        let cpu = candor_cpu::Cpu::named(tier.name).unwrap();
        assert_eq!(field_reference::curves::missed(cpu), Vec::<&str>::new(), "{}", tier.name);
    }
}
