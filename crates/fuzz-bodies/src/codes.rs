//! Keys and ciphertexts of HQC and Classic McEliece.

use candor_codes::hqc::{Hqc, Level1, Level3, Level5};
use candor_codes::mceliece::{Mceliece, ParameterSet, Set348864f, Set6960119f};
use candor_cpu::Cpu;
use candor_primitives::kem::{DerandomizedKem, Kem};
use std::sync::LazyLock;

/// Any bytes as a public key, a secret key and a ciphertext, at each level: the portable arm and the best one take the same, what is taken is
/// written as it was read and can be used, and both arms compute the same from it.
pub fn hqc_bytes(data: &[u8]) {
    let [portable, best] = [Cpu::portable(), Cpu::host()];
    takes(data, &Hqc::<Level1>::with_cpu(portable), &Hqc::<Level1>::with_cpu(best), &seeded);
    takes(data, &Hqc::<Level3>::with_cpu(portable), &Hqc::<Level3>::with_cpu(best), &seeded);
    takes(data, &Hqc::<Level5>::with_cpu(portable), &Hqc::<Level5>::with_cpu(best), &seeded);
}

/// The same for Classic McEliece, with the set whose rows fill their bytes and one whose rows do not. The keys that ciphertexts are tried on are made
/// once.
pub fn mceliece_bytes(data: &[u8]) {
    static SMALL: LazyLock<Vec<u8>> = LazyLock::new(exported::<Set348864f>);
    static UNEVEN: LazyLock<Vec<u8>> = LazyLock::new(exported::<Set6960119f>);
    mceliece::<Set348864f>(data, &SMALL);
    mceliece::<Set6960119f>(data, &UNEVEN);
}

fn exported<S: ParameterSet>() -> Vec<u8> {
    let kem = Mceliece::<S>::new();
    let secret = kem.secret_from_seed(&[7; 32]).expect("32 bytes are a seed");
    kem.secret_to_bytes(&secret).expect("a key has a byte form").to_vec()
}

fn mceliece<S: ParameterSet>(data: &[u8], key: &[u8]) {
    let [portable, best] = [Cpu::portable(), Cpu::host()].map(Mceliece::<S>::with_cpu);
    takes(data, &portable, &best, &|kem| kem.secret_from_bytes(key).expect("a key that was written can be read"));
}

fn seeded<K: Kem>(kem: &K) -> K::Secret {
    kem.secret_from_seed(&[7; 32]).expect("32 bytes are a seed")
}

/// `key` makes the secret key for which `data` may be a ciphertext.
fn takes<K: DerandomizedKem>(data: &[u8], portable: &K, best: &K, key: &dyn Fn(&K) -> K::Secret) {
    let both = [portable, best];

    let keys = both.map(|kem| kem.public_from_bytes(data));
    assert_eq!(keys[0].as_ref().err(), keys[1].as_ref().err());
    if let [Ok(one), Ok(other)] = &keys {
        let mut again = vec![0; K::PUBLIC];
        best.public_to_bytes(other, &mut again).expect("the buffer fits");
        assert!(again == data, "a public key is not written as it was read");
        let coins = vec![data[0]; K::ENCAPSULATE_COINS];
        let [mut a, mut b] = both.map(|_| vec![0; K::CIPHERTEXT]);
        let first = portable.encapsulate_from(one, &coins, &mut a).expect("a checked key can be used");
        let second = best.encapsulate_from(other, &coins, &mut b).expect("a checked key can be used");
        assert!(first == second && a == b, "two arms encapsulate differently");
    }

    let keys = both.map(|kem| kem.secret_from_bytes(data));
    assert_eq!(keys[0].as_ref().err(), keys[1].as_ref().err());
    if let [Ok(one), Ok(other)] = &keys {
        assert!(best.secret_to_bytes(other).expect("a key has a byte form")[..] == *data);
        let ciphertext = vec![data[0]; K::CIPHERTEXT];
        decapsulate_alike(portable, one, best, other, &ciphertext);
    }

    if data.len() == K::CIPHERTEXT {
        decapsulate_alike(portable, &key(portable), best, &key(best), data);
    }
}

fn decapsulate_alike<K: Kem>(portable: &K, one: &K::Secret, best: &K, other: &K::Secret, ciphertext: &[u8]) {
    let first = portable.decapsulate(one, ciphertext).expect("no ciphertext of this length is an error");
    let second = best.decapsulate(other, ciphertext).expect("no ciphertext of this length is an error");
    assert!(first == second, "two arms decapsulate differently");
}
