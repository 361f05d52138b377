//! Fields modulo polynomials with a tap just below m, and with many of them: their constants must not be too much for the compiler, and right.

mod field_reference;

use candor_gf2::field::{Element, Field, Modulus, SparseModulus};
use field_reference::{elements, fields, mul};

macro_rules! moduli {
    ($($name:ident = $m:literal, $taps:expr, $words:literal;)+) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        impl Modulus for $name {
            const MODULUS: SparseModulus<'static> = SparseModulus::constant($m, $taps);
            type Words = [u64; $words];
        }
    )+};
}

moduli! {
    // Divisible by x, and squarefree.
    FiveTerms = 521, &[520, 519, 300, 1], 9;
    // The reciprocal of x^532 + x + 1.
    Trinomial = 532, &[531, 0], 9;
    // All ones: irreducible, since 547 is prime and 2 generates the units modulo 547.
    AllOnes = 546, &ALL, 9;
    // As many taps as there can be.
    Widest = 576, &ALL_OF_576, 9;
}

const ALL: [usize; 546] = falling();
const ALL_OF_576: [usize; 576] = falling();

const fn falling<const N: usize>() -> [usize; N] {
    let mut taps = [0; N];
    let mut i = 0;
    while i < N {
        taps[i] = N - 1 - i;
        i += 1;
    }
    taps
}

fn every_square_has_its_root<M: Modulus>() {
    for words in elements::<M>(6) {
        let square = mul::<M>(&words, &words);
        for (tier, field) in fields::<M>() {
            let (a, square) = (field.element(words).unwrap(), field.element(square).unwrap());
            assert!(field.sqrt(&square) == a, "{tier}");
        }
    }
}

#[test]
fn square_roots_are_right_wherever_taps_are() {
    every_square_has_its_root::<FiveTerms>();
    every_square_has_its_root::<Trinomial>();
    every_square_has_its_root::<AllOnes>();
}

/// a + a² + a⁴ + …, by the reference.
fn trace<M: Modulus>(a: &M::Words) -> Vec<u64> {
    let (mut sum, mut power) = (a.as_ref().to_vec(), *a);
    for _ in 1..M::MODULUS.degree() {
        power = mul::<M>(&power, &power);
        sum.iter_mut().zip(power.as_ref()).for_each(|(sum, word)| *sum ^= word);
    }
    sum
}

fn traces_and_inverses<M: Modulus>() {
    let field = Field::<M>::new();
    for words in elements::<M>(1).into_iter().rev().take(1) {
        let a = field.element(words).unwrap();
        let mut expected = vec![0; words.as_ref().len()];
        expected[0] = u64::from(field.trace(&a));
        assert_eq!(trace::<M>(&words), expected);
        if a != Element::default() {
            assert_eq!(mul::<M>(&words, field.invert(&a).words()).as_ref(), field.one().words().as_ref());
        }
    }
}

#[test]
fn traces_and_inverses_are_right_in_fields_with_dense_moduli() {
    traces_and_inverses::<Trinomial>();
    traces_and_inverses::<AllOnes>();
}

#[test]
fn irreducibility_is_known_at_compile_time() {
    const { assert!(Trinomial::MODULUS.is_irreducible().unwrap() && AllOnes::MODULUS.is_irreducible().unwrap()) }
    const { assert!(!FiveTerms::MODULUS.is_irreducible().unwrap() && !Widest::MODULUS.is_irreducible().unwrap()) }
    // Not squarefree, so nothing is promised; it compiles, and answers.
    let field = Field::<Widest>::new();
    assert!(field.sqrt(&field.zero()) == field.zero());
}
