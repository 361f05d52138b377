//! The base points of the Koblitz curves (FIPS 186-4, D.1.3): numbers that others computed, which a wrong product does not put on their curves.

use candor_gf2::field::{Field, Modulus};

/// y² + xy = x³ + ax² + 1 holds for (x, y), in the field that `field` computes in.
fn on_curve<M: Modulus>(field: &Field<M>, a: bool, x: &str, y: &str) -> bool {
    let element = |hex: &str| {
        let mut words = field.zero().words().to_owned();
        let digits = hex.as_bytes().rchunks(16);
        for (word, digits) in words.as_mut().iter_mut().zip(digits) {
            *word = u64::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
        }
        field.element(words).unwrap()
    };
    let (x, y) = (element(x), element(y));
    let square = field.square(&x);
    let left = field.square(&y) + field.mul(&x, &y);
    let right = field.mul(&square, &x) + if a { square } else { field.zero() } + field.one();
    left == right
}

/// Name of the curve, x and y, as the standard has them.
type Point = (&'static str, &'static str, &'static str);

const K_163: Point =
    ("K-163", "2fe13c0537bbc11acaa07d793de4e6d5e5c94eee8", "289070fb05d38ff58321f2e800536d538ccdaa3d9");
const K_233: Point = (
    "K-233",
    "17232ba853a7e731af129f22ff4149563a419c26bf50a4c9d6eefad6126",
    "1db537dece819b7f70f555a67c427a8cd9bf18aeb9b56e0c11056fae6a3",
);
const K_283: Point = (
    "K-283",
    "503213f78ca44883f1a3b8162f188e553cd265f23c1567a16876913b0c2ac2458492836",
    "1ccda380f1c9e318d90f95d07e5426fe87e45c0e8184698e45962364e34116177dd2259",
);
const K_409: Point = (
    "K-409",
    "060f05f658f49c1ad3ab1890f7184210efd0987e307c84c27accfb8f9f67cc2c460189eb5aaaa62ee222eb1b35540cfe9023746",
    "1e369050b7c4e42acba1dacbf04299c3460782f918ea427e6325165e9ea10e3da5f6c42e9c55215aa9ca27a5863ec48d8e0286b",
);
const K_571: Point = (
    "K-571",
    "26eb7a859923fbc82189631f8103fe4ac9ca2970012d5d46024804801841ca44370958493b205e647da304db4ceb08cbbd1ba39494776fb988b47174dca88c7e2945283a01c8972",
    "349dc807f4fbf374f4aeade3bca95314dd58cec9f307a54ffc61efc006d8a2c9d4979c0ac44aea74fbebbb9f772aedcb620b01a7ba7af1b320430c8591984f601cd4c143ef1c7a3",
);

/// The curves whose base point is not on them, on this CPU: none, if their products are right.
pub fn missed(cpu: candor_cpu::Cpu) -> Vec<&'static str> {
    use candor_gf2::field::{Nist163, Nist233, Nist283, Nist409, Nist571};

    let held = [
        (K_163.0, on_curve(&Field::<Nist163>::with_cpu(cpu), true, K_163.1, K_163.2)),
        (K_233.0, on_curve(&Field::<Nist233>::with_cpu(cpu), false, K_233.1, K_233.2)),
        (K_283.0, on_curve(&Field::<Nist283>::with_cpu(cpu), false, K_283.1, K_283.2)),
        (K_409.0, on_curve(&Field::<Nist409>::with_cpu(cpu), false, K_409.1, K_409.2)),
        (K_571.0, on_curve(&Field::<Nist571>::with_cpu(cpu), false, K_571.1, K_571.2)),
    ];
    held.into_iter().filter(|(_, held)| !held).map(|(name, _)| name).collect()
}
