//! Does an arm agree with the portable one, and its fields with polynomials written bit by bit, on this machine? `cargo xtask qemu` runs it under emulators of other processors.
//!
//! `arms host ARM` takes the CPU as detected and fails if its arm is not ARM. `arms force TIER ARM` takes the tier without asking
//! the CPU (built with the feature `ct`): an instruction that is missing then kills the process.

#[path = "../../tests/field_reference/mod.rs"]
mod field_reference;
mod low;

use candor_cpu::Cpu;
use candor_gf2::field::{
    Field, Gcm128, Hqc8, McEliece12, McEliece13, Modulus, Nist163, Nist233, Nist283, Nist409, Nist571,
};
use candor_gf2::{Multiplier, Product};
use candor_test_support::Random;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (cpu, wanted) = match words[..] {
        ["host", arm] => (Some(Cpu::host()), arm),
        ["force", tier, arm] => (low::force(tier), arm),
        _ => (None, ""),
    };
    let Some(cpu) = cpu else {
        eprintln!("arms host ARM | arms force TIER ARM (with the feature `ct`)");
        return ExitCode::from(2);
    };
    match check(cpu, wanted) {
        Ok(products) => {
            println!("arm {wanted}: {products} products agree with the portable arm and the reference");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Compares all that the arm offers with the portable arm; says how many products it compared.
fn check(cpu: Cpu, wanted: &str) -> Result<usize, String> {
    let (arm, portable) = (Multiplier::with_cpu(cpu), Multiplier::with_cpu(Cpu::portable()));
    if arm.arm() != wanted {
        return Err(format!("arm {} was chosen; expected {wanted}", arm.arm()));
    }
    let mut random = Random::new(7);
    let mut count = 0;
    let lengths =
        (1..=64).map(|n| (n, n)).chain([(0, 3), (3, 1), (9, 70), (97, 33), (128, 128), (277, 277), (901, 901)]);
    for (an, bn) in lengths {
        for pattern in 0..4 {
            let (a, b) = (factor(&mut random, an, pattern), factor(&mut random, bn, pattern / 2));
            let (mut ours, mut theirs) = (vec![0; an + bn], vec![0; an + bn]);
            arm.mul(&mut ours, &a, &b);
            portable.mul(&mut theirs, &a, &b);
            same(&ours, &theirs, &format!("the product of {an} and {bn} words, pattern {pattern},"))?;
            let (mut ours, mut theirs) = (vec![0; 2 * an], vec![0; 2 * an]);
            arm.square(&mut ours, &a);
            portable.square(&mut theirs, &a);
            same(&ours, &theirs, &format!("the square of {an} words, pattern {pattern},"))?;
            count += 2;
        }
    }
    count += many::<1>(arm, portable, &mut random)?;
    count += many::<3>(arm, portable, &mut random)?;
    count += many::<8>(arm, portable, &mut random)?;
    count += many::<9>(arm, portable, &mut random)?;
    count += field::<Gcm128>(cpu)? + field::<Nist163>(cpu)? + field::<Nist233>(cpu)? + field::<Nist283>(cpu)?;
    count += field::<Nist409>(cpu)? + field::<Nist571>(cpu)?;
    if let Some(curve) = field_reference::curves::missed(cpu).first() {
        return Err(format!("the base point of {curve} is not on the curve: a product in its field is wrong"));
    }
    count += field::<Hqc8>(cpu)? + field::<McEliece12>(cpu)? + field::<McEliece13>(cpu)?;
    Ok(count)
}

/// Products, squares and inverses of a field against the reference of the tests, which multiplies and reduces bit by bit.
fn field<M: Modulus>(cpu: Cpu) -> Result<usize, String> {
    let field = Field::<M>::with_cpu(cpu);
    let elements = field_reference::elements::<M>(20);
    let element = |words: &M::Words| field.element(*words).map_err(|error| error.to_string());
    let what = |of: &str| format!("{of} in the field of degree {}", M::MODULUS.degree());
    let agree = |ours: &M::Words, theirs: &M::Words, of: &str| {
        let same = ours.as_ref() == theirs.as_ref();
        if same { Ok(()) } else { Err(format!("{} differs from the reference's", what(of))) }
    };
    for (a, b) in elements.iter().zip(elements.iter().rev()) {
        let (x, y) = (element(a)?, element(b)?);
        agree(field.mul(&x, &y).words(), &field_reference::mul::<M>(a, b), "a product")?;
        agree(field.square(&x).words(), &field_reference::mul::<M>(a, a), "a square")?;
        agree(field.square_times(&x, 3).words(), field.square(&field.square(&field.square(&x))).words(), "a power")?;
        agree(field.sqrt(&field.square(&x)).words(), a, "a square root")?;
        let remainder = field_reference::remainder(&M::MODULUS, &[a.as_ref(), b.as_ref()].concat());
        agree(field.reduce(a, b).words(), &field_reference::words::<M>(&remainder), "a remainder")?;
        let inverse = field.invert(&x);
        let one = field_reference::mul::<M>(a, inverse.words());
        if a.as_ref().iter().any(|word| *word != 0) {
            agree(&one, field.one().words(), "an element times its inverse")?;
        }
    }
    let (left, right): (Result<Vec<_>, _>, Result<Vec<_>, _>) =
        (elements.iter().map(element).collect(), elements.iter().rev().map(element).collect());
    let (left, right) = (left?, right?);
    let mut products = vec![field.zero(); left.len()];
    field.mul_many(&left, &right, &mut products);
    for ((product, a), b) in products.iter().zip(&elements).zip(elements.iter().rev()) {
        agree(product.words(), &field_reference::mul::<M>(a, b), "one of many products")?;
    }
    Ok(3 * elements.len())
}

/// The same for products of one length in a row.
fn many<const N: usize>(arm: Multiplier, portable: Multiplier, random: &mut Random) -> Result<usize, String> {
    let factors = |random: &mut Random| -> Vec<[u64; N]> {
        (0..5).map(|pattern| factor(random, N, pattern).try_into().expect("as long as asked for")).collect()
    };
    let (a, b) = (factors(random), factors(random));
    let empty: Product<N> = [[0; N]; 2];
    let (mut ours, mut theirs) = (vec![empty; a.len()], vec![empty; a.len()]);
    arm.mul_many(&mut ours, &a, &b);
    portable.mul_many(&mut theirs, &a, &b);
    same(ours.as_flattened().as_flattened(), theirs.as_flattened().as_flattened(), &format!("{N} words in a row"))?;
    Ok(a.len())
}

fn same(ours: &[u64], theirs: &[u64], what: &str) -> Result<(), String> {
    match ours == theirs {
        true => Ok(()),
        false => Err(format!("{what} differs from the portable arm's")),
    }
}

/// A factor: all ones, the lowest and the highest bit, or random words.
fn factor(random: &mut Random, words: usize, pattern: usize) -> Vec<u64> {
    let mut factor: Vec<u64> = (0..words).map(|_| random.word()).collect();
    match pattern {
        1 => factor.fill(u64::MAX),
        2 => {
            factor.fill(0);
            if let Some(first) = factor.first_mut() {
                *first = 1;
            }
            if let Some(last) = factor.last_mut() {
                *last |= 1 << 63;
            }
        }
        _ => {}
    }
    factor
}
