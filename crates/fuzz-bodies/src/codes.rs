//! Keys and ciphertexts of HQC.

use candor_codes::hqc::{Hqc, Level, Level1, Level3, Level5};
use candor_cpu::Cpu;
use candor_primitives::kem::{DerandomizedKem, Kem};

/// Any bytes as a public key, a secret key and a ciphertext, at each level: the portable arm and the best one take the same, what is taken is
/// written as it was read and can be used, and both arms compute the same from it.
pub fn hqc_bytes(data: &[u8]) {
    takes::<Level1>(data);
    takes::<Level3>(data);
    takes::<Level5>(data);
}

fn takes<L: Level>(data: &[u8]) {
    let [portable, best] = [Cpu::portable(), Cpu::host()].map(Hqc::<L>::with_cpu);
    let both = [&portable, &best];

    let keys = both.map(|kem| kem.public_from_bytes(data));
    assert_eq!(keys[0].as_ref().err(), keys[1].as_ref().err());
    if let [Ok(one), Ok(other)] = &keys {
        let mut again = vec![0; Hqc::<L>::PUBLIC];
        best.public_to_bytes(other, &mut again).expect("the buffer fits");
        assert!(again == data, "a public key is not written as it was read");
        let coins = vec![data[0]; Hqc::<L>::ENCAPSULATE_COINS];
        let [mut a, mut b] = both.map(|_| vec![0; Hqc::<L>::CIPHERTEXT]);
        let first = portable.encapsulate_from(one, &coins, &mut a).expect("a checked key can be used");
        let second = best.encapsulate_from(other, &coins, &mut b).expect("a checked key can be used");
        assert!(first == second && a == b, "two arms encapsulate differently");
    }

    let keys = both.map(|kem| kem.secret_from_bytes(data));
    assert_eq!(keys[0].as_ref().err(), keys[1].as_ref().err());
    if let [Ok(one), Ok(other)] = &keys {
        assert!(best.secret_to_bytes(other).expect("a key has a byte form")[..] == *data);
        let ciphertext = vec![data[0]; Hqc::<L>::CIPHERTEXT];
        decapsulate_alike(&portable, one, &best, other, &ciphertext);
    }

    if data.len() == Hqc::<L>::CIPHERTEXT {
        let [one, other] = both.map(|kem| kem.secret_from_seed(&[7; 32]).expect("32 bytes are a seed"));
        decapsulate_alike(&portable, &one, &best, &other, data);
    }
}

fn decapsulate_alike<L: Level>(
    portable: &Hqc<L>,
    one: &<Hqc<L> as Kem>::Secret,
    best: &Hqc<L>,
    other: &<Hqc<L> as Kem>::Secret,
    ciphertext: &[u8],
) {
    let first = portable.decapsulate(one, ciphertext).expect("no ciphertext of this length is an error");
    let second = best.decapsulate(other, ciphertext).expect("no ciphertext of this length is an error");
    assert!(first == second, "two arms decapsulate differently");
}
