use candor_codes::hqc::Hqc1;
use candor_codes::mceliece::Mceliece348864f;
use candor_fuzz_bodies::codes::{hqc_bytes, mceliece_bytes};
use candor_primitives::kem::{DerandomizedKem, Kem};
use candor_test_support::corpus::{self, Corpus};

#[test]
fn no_bytes_make_hqc_panic_or_its_arms_disagree() {
    let corpus = Corpus::of("codes_hqc_bytes");
    corpus.run(3, hqc_bytes);
    for data in corpus.inputs() {
        for length in [0, 1, 31, 32, data.len() - 1] {
            hqc_bytes(&data[..length]);
        }
        hqc_bytes(&[data, &[0]].concat());
    }
}

/// A public key is a quarter of a megabyte, so the corpus has none: it is made here.
#[test]
fn no_bytes_make_classic_mceliece_panic_or_its_arms_disagree() {
    let kem = Mceliece348864f::new();
    let (_, public) = kem.generate_from(&[7; 32]).unwrap();
    let mut key = vec![0; Mceliece348864f::PUBLIC];
    kem.public_to_bytes(&public, &mut key).unwrap();
    assert!(kem.public_from_bytes(&key).is_ok());
    mceliece_bytes(&key);

    let corpus = Corpus::of("codes_mceliece_bytes");
    corpus.run(3, mceliece_bytes);
    for data in corpus.inputs() {
        for length in [0, 1, 31, 32, data.len() - 1] {
            mceliece_bytes(&data[..length]);
        }
        mceliece_bytes(&[data, &[0]].concat());
    }
    let any = |taken: &dyn Fn(&[u8]) -> bool| corpus.inputs().any(taken);
    assert!(any(&|data| kem.secret_from_bytes(data).is_ok()));
    assert!(any(&|data| data.len() == Mceliece348864f::CIPHERTEXT));
}

/// A corpus of nothing but refusals would test nothing.
#[test]
fn the_corpus_has_a_key_of_each_kind_and_a_ciphertext() {
    let kem = Hqc1::new();
    let corpus = Corpus::of("codes_hqc_bytes");
    let any = |taken: &dyn Fn(&[u8]) -> bool| corpus.inputs().any(taken);
    assert!(any(&|data| kem.public_from_bytes(data).is_ok()));
    assert!(any(&|data| kem.secret_from_bytes(data).is_ok()));
    assert!(any(&|data| data.len() == Hqc1::CIPHERTEXT));
}

#[test]
#[ignore = "writes the corpus; run it after a change of the scheme"]
fn write_the_corpus() {
    let kem = Hqc1::new();
    let (secret, public) = kem.generate_from(&[7; 32]).unwrap();
    let mut key = vec![0; Hqc1::PUBLIC];
    kem.public_to_bytes(&public, &mut key).unwrap();
    let mut ciphertext = vec![0; Hqc1::CIPHERTEXT];
    kem.encapsulate_from(&public, &[5; Hqc1::ENCAPSULATE_COINS], &mut ciphertext).unwrap();
    corpus::write("codes_hqc_bytes", "public-key", &key);
    corpus::write("codes_hqc_bytes", "secret-key", &kem.secret_to_bytes(&secret).unwrap());
    corpus::write("codes_hqc_bytes", "ciphertext", &ciphertext);

    let kem = Mceliece348864f::new();
    let (secret, public) = kem.generate_from(&[7; 32]).unwrap();
    let mut ciphertext = vec![0; Mceliece348864f::CIPHERTEXT];
    kem.encapsulate_from(&public, &[5; Mceliece348864f::ENCAPSULATE_COINS], &mut ciphertext).unwrap();
    corpus::write("codes_mceliece_bytes", "secret-key", &kem.secret_to_bytes(&secret).unwrap());
    corpus::write("codes_mceliece_bytes", "ciphertext", &ciphertext);
}
