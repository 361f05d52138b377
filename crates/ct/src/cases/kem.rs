//! ML-KEM: decapsulation with a secret key, encapsulation with secret coins.
//!
//! Of an expanded decapsulation key dk_pke and z are secret; ek and H(ek) are public (FIPS 203 §7.1), and with ek its seed ρ, on
//! which the rejection sampling of the matrix depends.

use candor_cpu::{Cpu, secret};
use candor_primitives::kem::ml_kem::{ML_KEM_512, ML_KEM_768, ML_KEM_1024, ParameterSet};
use candor_primitives::kem::pkcs8::{Form, secret_from_pkcs8, secret_to_pkcs8};
use candor_primitives::kem::{self, DerandomizedKem, Kem};

/// A good and a bad ciphertext for a poisoned key. That the two take different paths is what must not show.
pub(super) fn decapsulate<K: Kem>(kem: K, set: ParameterSet) {
    let (secret, public) = kem.generate().expect("a key pair");
    let mut good = vec![0; K::CIPHERTEXT];
    let sent = kem.encapsulate(&public, &mut good).expect("an encapsulation");
    let mut bad = good.clone();
    bad[K::CIPHERTEXT / 2] ^= 1;
    let rejected = kem.decapsulate(&secret, &bad).expect("implicit rejection");
    let dk = kem.secret_to_bytes(&secret).expect("the key's bytes");
    secret::reset();

    secret::poison(&dk[set.dk_pke()]);
    secret::poison(&dk[set.z()]);
    let poisoned = kem.secret_from_bytes(&dk).expect("a good key");
    for (ciphertext, expected) in [(&good, sent), (&bad, rejected)] {
        let found = kem.decapsulate(&poisoned, ciphertext).expect("no ciphertext is an error");
        secret::declassify(found.as_bytes(), "result");
        assert!(found == expected, "the result is wrong, so whatever ran was not ML-KEM");
    }
}

/// Secret coins; the ciphertext is published.
pub(super) fn encapsulate<K: DerandomizedKem>(kem: K) {
    let (_, public) = kem.generate().expect("a key pair");
    let coins = vec![0x3c; K::ENCAPSULATE_COINS];
    let (mut expected, mut ciphertext) = (vec![0; K::CIPHERTEXT], vec![0; K::CIPHERTEXT]);
    let sent = kem.encapsulate_from(&public, &coins, &mut expected).expect("an encapsulation");
    secret::reset();

    secret::poison(&coins);
    let found = kem.encapsulate_from(&public, &coins, &mut ciphertext).expect("an encapsulation");
    secret::declassify(found.as_bytes(), "result");
    secret::declassify(&ciphertext, "ciphertext");
    assert!(found == sent && ciphertext == expected, "the result is wrong, so whatever ran was not this KEM");
}

/// An expanded key in PKCS#8, read and written. Its structure is public, as is the encapsulation key in it.
pub(crate) fn pkcs8(_: Cpu) {
    let (kem, set) = (kem::libcrux::MlKem768, ML_KEM_768);
    let (secret, _) = kem.generate().expect("a key pair");
    let dk = kem.secret_to_bytes(&secret).expect("the key's bytes");
    let document = secret_to_pkcs8(&kem, &secret, Form::Expanded).expect("a document");
    let der = document.as_bytes().to_vec();
    secret::reset();

    let at = der.windows(dk.len()).position(|bytes| bytes == &dk[..]).expect("the key stands in its document");
    secret::poison(&der[at..][set.dk_pke()]);
    secret::poison(&der[at..][set.z()]);
    let poisoned = secret_from_pkcs8(&kem, &der).expect("a good document");
    let again = secret_to_pkcs8(&kem, &poisoned, Form::Expanded).expect("a document");
    secret::declassify(again.as_bytes(), "result");
    secret::declassify(&der, "keys");
    assert!(again.as_bytes() == der, "the result is wrong, so whatever ran was not PKCS#8");
}

macro_rules! decapsulations {
    ($($name:ident: $back_end:ident, $level:ident, $set:ident;)+) => {
        $(pub(crate) fn $name(_: Cpu) {
            decapsulate(kem::$back_end::$level, $set);
        })+
    };
}

decapsulations! {
    aws_lc_512: aws_lc, MlKem512, ML_KEM_512;
    aws_lc_768: aws_lc, MlKem768, ML_KEM_768;
    aws_lc_1024: aws_lc, MlKem1024, ML_KEM_1024;
    libcrux_512: libcrux, MlKem512, ML_KEM_512;
    libcrux_768: libcrux, MlKem768, ML_KEM_768;
    libcrux_1024: libcrux, MlKem1024, ML_KEM_1024;
    rustcrypto_512: rustcrypto, MlKem512, ML_KEM_512;
    rustcrypto_768: rustcrypto, MlKem768, ML_KEM_768;
    rustcrypto_1024: rustcrypto, MlKem1024, ML_KEM_1024;
}

macro_rules! encapsulations {
    ($($name:ident: $back_end:ident, $level:ident;)+) => {
        $(pub(crate) fn $name(_: Cpu) {
            encapsulate(kem::$back_end::$level);
        })+
    };
}

encapsulations! {
    libcrux_512_encapsulate: libcrux, MlKem512;
    libcrux_768_encapsulate: libcrux, MlKem768;
    libcrux_1024_encapsulate: libcrux, MlKem1024;
    rustcrypto_768_encapsulate: rustcrypto, MlKem768;
}
