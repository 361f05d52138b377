//! Arithmetic modulo polynomials: in the fields that the compiler knows, and modulo any sparse polynomial.

use super::products::random;
use super::{Extent, Problem, Tally};
use crate::ours;
use candor_gf2::Multiplier;
use candor_gf2::field::SparseModulus;
use candor_peers::contract::gf2m::{Field, Op, Operands};
use candor_peers::seed::Stream;

/// The most bits of a random modulus.
const LARGEST: u64 = 4096;
/// Pairs of operands modulo each random polynomial.
const PAIRS: usize = 6;

const OPS: [(Op, &str); 5] = [
    (Op::Mul, "products in fields"),
    (Op::MulMany, "many products in fields"),
    (Op::Square, "squares in fields"),
    (Op::Reduce, "reductions in fields"),
    (Op::Inverse, "inverses in fields"),
];

/// The fields of the tasks and some more, each on every arm, against NTL.
pub(super) fn compare_known(extent: Extent, tally: &mut Tally) -> Result<(), Problem> {
    let mut stream = Stream::new(extent.seed, "differential fields");
    for known in ours::gf2m::known() {
        let (peer, mut theirs) = ntl(&known.modulus)?;
        let ring = operands(&known.modulus, extent.random, &mut stream);
        // Zero has no inverse, and NTL ends the process over it.
        let units: Vec<Operands> =
            ring.iter().filter(|operands| operands.a.iter().any(|&word| word != 0)).cloned().collect();
        for (op, what) in OPS {
            let ring = if op == Op::Inverse { &units } else { &ring };
            let expected = results(theirs.as_mut(), op, ring);
            for (arm, mut field) in (known.arms)() {
                let name = format!("candor@{arm}");
                for (i, (ours, theirs)) in results(field.as_mut(), op, ring).iter().zip(&expected).enumerate() {
                    let of = || format!("{:x?} modulo {}", ring[i], known.modulus);
                    tally.compare(what, (&name, ours), (&peer, theirs), of)?;
                }
            }
        }
    }
    Ok(())
}

fn ntl(modulus: &SparseModulus<'_>) -> Result<(String, Box<dyn Field>), Problem> {
    let exponents: Vec<usize> = std::iter::once(modulus.degree()).chain(modulus.taps().iter().copied()).collect();
    candor_peers::gf2_field(&exponents).ok_or_else(|| Problem::Missing("NTL".into()))
}

fn results(field: &mut dyn Field, op: Op, ring: &[Operands]) -> Vec<Vec<u64>> {
    field.set(ring);
    field.run(op, ring.len() as u64);
    field.results(op)
}

/// Elements at which carries, masks and word boundaries show, then random ones. What is to be reduced has all its bits.
fn operands(modulus: &SparseModulus<'_>, count: usize, stream: &mut Stream) -> Vec<Operands> {
    let (m, n) = (modulus.degree(), modulus.words());
    let below = |mut words: Vec<u64>| {
        if m % 64 != 0 {
            words[n - 1] &= (1 << (m % 64)) - 1;
        }
        words
    };
    let bit = |i: usize| {
        let mut words = vec![0; n];
        words[i / 64] = 1 << (i % 64);
        words
    };
    let mut shapes: Vec<Vec<u64>> =
        [0, m / 2, m - 1].into_iter().chain(modulus.taps().iter().copied()).map(bit).collect();
    shapes.extend([0, u64::MAX, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa].map(|word| below(vec![word; n])));
    let ones = below(vec![u64::MAX; n]);
    let mut ring: Vec<Operands> = Vec::new();
    for shape in shapes {
        let wide = [&shape[..], &vec![u64::MAX; n]].concat();
        ring.push(Operands { a: shape.clone(), b: ones.clone(), wide });
        ring.push(Operands { a: below(random(n, stream)), b: shape.clone(), wide: [&vec![0; n][..], &shape].concat() });
    }
    ring.extend((0..count).map(|_| Operands {
        a: below(random(n, stream)),
        b: below(random(n, stream)),
        wide: random(2 * n, stream),
    }));
    ring
}

/// Random sparse polynomials, reducible or not, against NTL.
pub(super) fn compare_random(extent: Extent, arms: &[(String, Multiplier)], tally: &mut Tally) -> Result<(), Problem> {
    let mut stream = Stream::new(extent.seed, "differential moduli");
    for _ in 0..extent.random {
        let (degree, taps) = sparse(&mut stream);
        let modulus = SparseModulus::new(degree, &taps).expect("taps fall and are below the degree");
        let (peer, mut theirs) = ntl(&modulus)?;
        let ring = operands(&modulus, PAIRS, &mut stream);
        let mut expect = |op| results(theirs.as_mut(), op, &ring);
        let (products, squares, reduced) = (expect(Op::Mul), expect(Op::Square), expect(Op::Reduce));
        for (i, Operands { a, b, wide }) in ring.iter().enumerate() {
            let of = || format!("{:x?} modulo {modulus}", ring[i]);
            let mut folded = wide.clone();
            modulus.reduce(&mut folded);
            let mut by_rounds = wide.clone();
            modulus.reduce_by_rounds(&mut by_rounds, &mut vec![0; wide.len()]);
            for (ours, words) in [("candor, folding", folded), ("candor, rounds", by_rounds)] {
                tally.compare(
                    "reductions by random moduli",
                    (ours, &words[..modulus.words()]),
                    (&peer, &reduced[i]),
                    of,
                )?;
            }
            for (name, multiplier) in arms {
                let mut wide = vec![0; a.len() + b.len()];
                multiplier.mul(&mut wide, a, b);
                modulus.reduce(&mut wide);
                let kept = modulus.words();
                tally.compare("products by random moduli", (name, &wide[..kept]), (&peer, &products[i]), of)?;
                multiplier.square(&mut wide, a);
                modulus.reduce(&mut wide);
                tally.compare("squares by random moduli", (name, &wide[..kept]), (&peer, &squares[i]), of)?;
            }
        }
    }
    Ok(())
}

/// A degree from 2 on and one to five taps, anywhere below it.
fn sparse(stream: &mut Stream) -> (usize, Vec<usize>) {
    let degree = 2 + (stream.word() % (LARGEST - 1)) as usize;
    let count = 1 + stream.word() % 5;
    let taps: std::collections::BTreeSet<usize> =
        (0..count).map(|_| (stream.word() % degree as u64) as usize).collect();
    (degree, taps.into_iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_moduli_are_moduli_and_operands_are_reduced() {
        let mut stream = Stream::new(1, "test");
        for _ in 0..200 {
            let (degree, taps) = sparse(&mut stream);
            let modulus = SparseModulus::new(degree, &taps).unwrap();
            for Operands { a, b, wide } in operands(&modulus, 2, &mut stream) {
                for words in [a, b] {
                    assert_eq!(words.len(), modulus.words());
                    assert!(degree % 64 == 0 || words[words.len() - 1] >> (degree % 64) == 0);
                }
                assert_eq!(wide.len(), 2 * modulus.words());
            }
        }
    }

    /// NTL ends the process where there is no inverse: the moduli that we say are irreducible must be so.
    fn are_inverses(known: &ours::gf2m::Known, ring: &[Operands], inverses: &[Vec<u64>]) {
        let pairs = ring.iter().zip(inverses).filter(|(of, _)| of.a.iter().any(|&word| word != 0));
        let pairs: Vec<Operands> = pairs.map(|(of, inverse)| Operands { b: inverse.clone(), ..of.clone() }).collect();
        let (_, mut field) = (known.arms)().swap_remove(0);
        for product in results(field.as_mut(), Op::Mul, &pairs) {
            assert!(product[0] == 1 && product[1..].iter().all(|&word| word == 0), "{}", known.modulus);
        }
    }

    /// The arms of every known field agree with each other: what `compare_known` does, with ourselves for the peer.
    #[test]
    fn the_known_fields_are_found_with_all_their_arms() {
        let mut stream = Stream::new(2, "test");
        let known = ours::gf2m::known();
        assert!(known.len() >= 10);
        for field in known {
            let ring = operands(&field.modulus, 4, &mut stream);
            for (op, _) in OPS {
                let all: Vec<_> =
                    (field.arms)().into_iter().map(|(_, mut field)| results(field.as_mut(), op, &ring)).collect();
                assert!(all.iter().all(|results| *results == all[0]), "{}", field.modulus);
                if op == Op::Inverse {
                    are_inverses(&field, &ring, &all[0]);
                }
            }
        }
    }
}
