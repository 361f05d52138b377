//! ECDSA and ECDH on every curve and every arm of this machine: RustCrypto's crates as oracles both ways, Wycheproof's vectors, OpenSSL's program
//! with keys as PEM, and everything that must be refused beside what must not.

mod files;
mod oracles;
mod refused;
#[path = "../stuck/mod.rs"]
mod stuck;
mod wycheproof;

use candor_cpu::Cpu;
use candor_primitives::ec::{Ec, NamedCurve, SecretKey};

/// Runs a function for each curve.
macro_rules! of_each_curve {
    ($function:ident) => {{
        use candor_primitives::ec::{P256, P384, Secp256k1};
        $function::<P256>();
        $function::<P384>();
        $function::<Secp256k1>();
    }};
}

pub(crate) use of_each_curve;

/// A curve on each arm.
fn arms<C: NamedCurve>() -> Vec<Ec<C>> {
    let mut arms: Vec<Ec<C>> = Cpu::tiers().map(|tier| Ec::with_cpu(Cpu::named(tier.name).unwrap())).collect();
    arms.dedup_by_key(|ec| ec.arm());
    arms
}

/// Bytes of a number.
fn length<C: NamedCurve>() -> usize {
    size_of::<candor_primitives::ec::Bytes<C>>()
}

/// The key whose bytes are all this one.
fn key<C: NamedCurve>(ec: Ec<C>, byte: u8) -> SecretKey<C> {
    ec.secret_from_slice(&vec![byte; length::<C>()]).unwrap()
}

/// A number of some bytes, and so many more.
fn more(number: &[u8], small: u8) -> Vec<u8> {
    let mut number = number.to_vec();
    number.iter_mut().rev().fold(small, |carry, byte| {
        let (sum, above) = byte.overflowing_add(carry);
        *byte = sum;
        u8::from(above)
    });
    number
}

/// A number of some bytes less a small one.
fn less(number: &[u8], small: u8) -> Vec<u8> {
    let mut number = number.to_vec();
    number.iter_mut().rev().fold(small, |borrow, byte| {
        let (difference, below) = byte.overflowing_sub(borrow);
        *byte = difference;
        u8::from(below)
    });
    number
}

/// The operating system's randomness.
fn rng() -> rand_core::UnwrapErr<getrandom::SysRng> {
    rand_core::UnwrapErr(getrandom::SysRng)
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The order n of a curve, and its field's p.
fn order_and_prime<C: NamedCurve>() -> [Vec<u8>; 2] {
    let numbers = match C::NAME {
        "P-256" => [
            "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
            "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
        ],
        "P-384" => [
            "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
            "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
        ],
        "secp256k1" => [
            "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
            "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f",
        ],
        other => panic!("no order of {other}"),
    };
    numbers.map(hex)
}
