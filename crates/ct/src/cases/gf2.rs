//! Binary polynomials and fields with secret coefficients. Lengths and moduli are public.

use candor_cpu::{Cpu, secret};
use candor_gf2::Multiplier;
use candor_gf2::field::{Field, Hqc8, McEliece13, Modulus, Nist233, Nist571, Packed};

/// Lengths that pass through leaves, splits and the recursion.
const LENGTHS: [usize; 4] = [3, 9, 40, 131];

/// Products and squares of secret polynomials, by every way of asking for them.
pub(crate) fn multiplier(cpu: Cpu) {
    let compute = |cpu: Cpu, a: &[u64], b: &[u64]| {
        let multiplier = Multiplier::with_cpu(cpu);
        let (mut product, mut square) = (vec![0; 2 * a.len()], vec![0; 2 * a.len()]);
        let mut same = product.clone();
        multiplier.mul(&mut product, a, b);
        multiplier.mul_with_scratch(&mut same, a, b, &mut vec![0; multiplier.scratch_words(a.len(), b.len())]);
        multiplier.square(&mut square, a);
        [product, same, square].concat()
    };
    for n in LENGTHS {
        compare(cpu, n, compute);
    }
    compare(cpu, 9, many::<3>);
    compare(cpu, 80, many::<40>);
}

/// Products that are leaves, of the lengths that some arm computes in two ways: by themselves, and of many.
pub(crate) fn short(cpu: Cpu) {
    for n in [3, 4, 7, 8, 9] {
        compare(cpu, n, |cpu, a, b| {
            let mut product = vec![0; 2 * a.len()];
            Multiplier::with_cpu(cpu).mul(&mut product, a, b);
            product
        });
    }
}

/// Products of several polynomials of `N` words.
fn many<const N: usize>(cpu: Cpu, a: &[u64], b: &[u64]) -> Vec<u64> {
    let [a, b] = [a, b].map(|words| words.as_chunks::<N>().0);
    let mut products = vec![[[0; N]; 2]; a.len()];
    Multiplier::with_cpu(cpu).mul_many(&mut products, a, b);
    products.as_flattened().as_flattened().to_vec()
}

/// Every operation of a field on secret elements.
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
            let reduced = field.reduce(&words, &zero);
            // Poisoned again: memcheck knows that what is masked away is zero, and whether it is is to be found out here.
            let bytes: Vec<[u8; 8]> = reduced.words().as_ref().iter().map(|word| word.to_le_bytes()).collect();
            secret::poison(bytes.as_flattened());
            words.as_mut().iter_mut().zip(&bytes).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
            field.element(words).expect("it was reduced")
        };
        let (a, b) = (element(a), element(b));
        let mut products = [field.zero(); 5];
        field.mul_many(&[a, b, a, b, a], &[b, b, a, a, b], &mut products);
        let others = [
            field.mul(&a, &b),
            field.square(&a),
            field.square_times(&b, 5),
            field.invert(&a),
            field.sqrt(&b),
            field.half_trace(&a).expect("the degree is odd"),
        ];
        let results = products.into_iter().chain(others).flat_map(|result| result.words().as_ref().to_vec());
        let equal = [(a, b), (a, a)].map(|(left, right)| secret::declassified(u8::from(left == right), "equality"));
        results.chain([u64::from(field.trace(&a))]).chain(equal.map(u64::from)).collect()
    });
}

/// Products of many elements of small fields.
pub(crate) fn packed(cpu: Cpu) {
    compare(cpu, 40, in_slots::<Hqc8>);
    compare(cpu, 40, in_slots::<McEliece13>);
}

fn in_slots<M: Modulus>(cpu: Cpu, a: &[u64], b: &[u64]) -> Vec<u64> {
    let below = (1 << M::MODULUS.degree()) - 1;
    let elements = |words: &[u64]| -> Vec<u16> {
        words.iter().flat_map(|word| [0, 16, 32].map(|at| (word >> at & below) as u16)).collect()
    };
    let (a, b) = (elements(a), elements(b));
    let mut products = vec![0; a.len()];
    Packed::<M>::with_cpu(cpu).mul_many(&a, &b, &mut products);
    products.into_iter().map(u64::from).collect()
}

/// Reduction modulo what is known at run time only.
pub(crate) fn sparse(cpu: Cpu) {
    compare(cpu, 19, |_, a, b| {
        secret::ran("gf2m-sparse", "portable");
        let (mut folded, mut rounds, mut scratch) = (a.to_vec(), b.to_vec(), vec![0; b.len()]);
        Nist571::MODULUS.reduce(&mut folded);
        Nist571::MODULUS.reduce_by_rounds(&mut rounds, &mut scratch);
        [folded, rounds].concat()
    });
}

/// Computes from `n` words each on the portable arm, then from the same words, secret, on the arm in question.
fn compare(cpu: Cpu, n: usize, compute: impl Fn(Cpu, &[u64], &[u64]) -> Vec<u64>) {
    let bytes: Vec<u8> = (0..16 * n).map(|i| (i as u8).wrapping_mul(167) ^ (i >> 8) as u8).collect();
    let words =
        |bytes: &[u8]| -> Vec<u64> { bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect() };
    let as_bytes = |words: Vec<u64>| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let expected = secret::aside(|| {
        let expected = as_bytes(compute(Cpu::portable(), &words(&bytes[..8 * n]), &words(&bytes[8 * n..])));
        secret::declassify(&expected, "result"); // what `compute` itself has poisoned
        expected
    });

    secret::poison(&bytes);
    let result = as_bytes(compute(cpu, &words(&bytes[..8 * n]), &words(&bytes[8 * n..])));
    secret::declassify(&result, "result");
    assert!(result == expected, "the result is wrong, so whatever ran was not what was asked for");
}
