//! Binary polynomials and fields with secret coefficients. Lengths and moduli are public.

use candor_cpu::{Cpu, secret};
use candor_gf2::Multiplier;
use candor_gf2::field::{Field, Modulus, Nist233, Nist571};

/// Lengths that pass through leaves, splits and the recursion.
const LENGTHS: [usize; 4] = [3, 9, 40, 131];

/// Products and squares of secret polynomials.
pub(crate) fn multiplier(cpu: Cpu) {
    let compute = |cpu: Cpu, a: &[u64], b: &[u64]| {
        let multiplier = Multiplier::with_cpu(cpu);
        let (mut product, mut square) = (vec![0; 2 * a.len()], vec![0; 2 * a.len()]);
        multiplier.mul(&mut product, a, b);
        multiplier.square(&mut square, a);
        [product, square].concat()
    };
    for n in LENGTHS {
        compare(cpu, n, compute);
    }
}

/// Reductions, products and inverses of secret elements.
pub(crate) fn field(cpu: Cpu) {
    in_field::<Nist233>(cpu);
    in_field::<Nist571>(cpu);
}

fn in_field<M: Modulus>(cpu: Cpu) {
    compare(cpu, M::MODULUS.words(), |cpu, a, b| {
        let field = Field::<M>::with_cpu(cpu);
        let zero = *field.zero().words();
        let element = |from: &[u64]| {
            let mut words = zero;
            words.as_mut().copy_from_slice(from);
            field.reduce(&words, &zero)
        };
        let (a, b) = (element(a), element(b));
        [field.mul(&a, &b), field.invert(&a)].map(|result| result.words().as_ref().to_vec()).concat()
    });
}

/// Computes from `n` words each on the portable arm, then from the same words, secret, on the arm in question.
fn compare(cpu: Cpu, n: usize, compute: impl Fn(Cpu, &[u64], &[u64]) -> Vec<u64>) {
    let bytes: Vec<u8> = (0..16 * n).map(|i| (i as u8).wrapping_mul(167) ^ (i >> 8) as u8).collect();
    let words =
        |bytes: &[u8]| -> Vec<u64> { bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect() };
    let expected = compute(Cpu::portable(), &words(&bytes[..8 * n]), &words(&bytes[8 * n..]));
    secret::arms();

    secret::poison(&bytes);
    let result = compute(cpu, &words(&bytes[..8 * n]), &words(&bytes[8 * n..]));
    let result: Vec<u8> = result.iter().flat_map(|word| word.to_le_bytes()).collect();
    secret::declassify(&result, "result");
    let expected: Vec<u8> = expected.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(result == expected, "the result is wrong, so whatever ran was not what was asked for");
}
