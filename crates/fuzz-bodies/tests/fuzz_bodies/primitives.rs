use candor_fuzz_bodies::primitives as fuzz;
use candor_primitives::aead::{
    Aead, Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, KeyInit, Nonce, Payload, Sm4Ccm, Sm4Gcm, XChaCha20Poly1305,
};
use candor_test_support::corpus::{Corpus, write};

#[test]
fn no_bytes_make_a_back_end_panic_or_disagree() {
    let corpus = Corpus::of("primitives_kem_bytes");
    corpus.run(10, fuzz::kem_bytes);
    for key in corpus.inputs() {
        // Every 16th byte: high bits push coefficients over the modulus, low bits break hashes.
        for at in (0..key.len()).step_by(16) {
            for flip in [1, 0x0f, 0xf0, 0xff] {
                let mut changed = key.to_vec();
                changed[at] ^= flip;
                fuzz::kem_bytes(&changed);
            }
        }
        for length in [0, 1, 31, 32, key.len() / 2, key.len() - 1] {
            fuzz::kem_bytes(&key[..length]);
        }
        fuzz::kem_bytes(&[key, &[0]].concat());
    }
}

#[test]
fn no_key_or_ciphertext_makes_two_arms_of_ml_kem_disagree() {
    let corpus = Corpus::of("primitives_ml_kem_agreements");
    corpus.run(3, fuzz::ml_kem_agreements);
    for data in corpus.inputs() {
        for rank in 0..3 {
            for count in [0, 1, 4, 9, 17] {
                fuzz::ml_kem_agreements(&[&[rank, count], &data[2..]].concat());
            }
        }
    }
}

#[test]
fn no_bytes_make_a_curve_panic_or_its_arms_disagree() {
    let corpus = Corpus::of("primitives_ec_bytes");
    corpus.run(10, fuzz::ec_bytes);
    for data in corpus.inputs() {
        for length in [0, 1, 32, 33, 48, 49, 64, 65, 96, 97, data.len() - 1] {
            fuzz::ec_bytes(&data[..length.min(data.len())]);
        }
        fuzz::ec_bytes(&[data, &[0]].concat());
    }
}

#[test]
fn no_bytes_make_rsa_panic_or_its_arms_disagree() {
    let corpus = Corpus::of("primitives_rsa_bytes");
    corpus.run(10, fuzz::rsa_bytes);
    for data in corpus.inputs() {
        for length in [0, 1, 255, 256, 257, data.len() - 1] {
            fuzz::rsa_bytes(&data[..length.min(data.len())]);
        }
        fuzz::rsa_bytes(&[data, &[0]].concat());
    }
}

#[test]
fn no_bytes_make_sm2_panic_or_its_arms_disagree() {
    let corpus = Corpus::of("primitives_sm2_bytes");
    corpus.run(10, fuzz::sm2_bytes);
    for data in corpus.inputs() {
        for length in [0, 1, 32, 33, 64, 65, 97, data.len() - 1] {
            fuzz::sm2_bytes(&data[..length.min(data.len())]);
        }
        fuzz::sm2_bytes(&[data, &[0]].concat());
    }
}

#[test]
fn no_scalar_or_point_makes_two_arms_of_x25519_disagree() {
    let corpus = Corpus::of("primitives_x25519_agreements");
    corpus.run(10, fuzz::x25519_agreements);
    for data in corpus.inputs() {
        for length in [0, 63, 64, 65, 128, 5 * 64, data.len()] {
            fuzz::x25519_agreements(&data[..length.min(data.len())]);
        }
    }
}

#[test]
fn no_message_makes_two_arms_of_a_hash_disagree() {
    let corpus = Corpus::of("primitives_hash_pieces");
    corpus.run(10, fuzz::hash_pieces);
    for data in corpus.inputs() {
        for length in [0, 1, 2, 3, 57, 58, 66, 130, 138, 300, data.len()] {
            for [first, others] in [[0, 0], [1, 255], [55, 56], [64, 127], [200, 30]] {
                let mut changed = data[..length].to_vec();
                changed.iter_mut().zip([first, others]).for_each(|(byte, new)| *byte = new);
                fuzz::hash_pieces(&changed);
            }
        }
    }
}

#[test]
fn no_message_makes_two_arms_of_an_aead_disagree_or_opens_after_a_change() {
    let corpus = Corpus::of("primitives_aead_messages");
    corpus.run(10, fuzz::aead_messages);
    for data in corpus.inputs() {
        for (round, length) in [0, 2, 3, 34, 58, 59, 60, 75, 90, 200, 570, 1100, data.len()].into_iter().enumerate() {
            for aad in [0, 1, 16, 255] {
                let mut changed = data[..length].to_vec();
                let change = (round * 4999 + usize::from(aad) * 77).to_le_bytes();
                changed.iter_mut().zip([aad, change[0], change[1]]).for_each(|(byte, new)| *byte = new);
                fuzz::aead_messages(&changed);
            }
        }
    }
}

#[test]
fn no_message_makes_two_arms_of_a_cipher_or_a_mac_disagree() {
    let corpus = Corpus::of("primitives_cipher_messages");
    corpus.run(40, fuzz::cipher_messages);
    for data in corpus.inputs() {
        for (round, length) in [53, 54, 69, 70, 85, 200, 330, 570, 1100, data.len()].into_iter().enumerate() {
            for width in 0..4 {
                let mut changed = data[..length.min(data.len())].to_vec();
                let heads = [width, (round * 29) as u8, (round * 91) as u8, round as u8 % 3, (round * 31) as u8];
                changed[..5].copy_from_slice(&heads);
                fuzz::cipher_messages(&changed);
            }
        }
    }
}

#[test]
fn no_bytes_with_a_nonce_in_front_open_where_rustcrypto_refuses_them() {
    let corpus = Corpus::of("primitives_random_nonce");
    corpus.run(60, fuzz::random_nonce);
    for data in corpus.inputs() {
        (0..data.len()).for_each(|length| fuzz::random_nonce(&data[..length]));
    }
}

#[test]
#[ignore = "writes the corpora; run it by name after a change of their formats"]
fn write_corpora() {
    let pattern = |length: usize| (0..length).map(|n| (n * 151 + n / 256) as u8);
    write("primitives_cipher_messages", "short", &pattern(120).collect::<Vec<_>>());
    write("primitives_cipher_messages", "long", &pattern(2500).collect::<Vec<_>>());

    fn sealed<A: Aead + KeyInit>(file: &str) {
        let key: [u8; 32] = std::array::from_fn(|n| n as u8);
        let mut nonce = Nonce::<A>::default();
        nonce.fill(9);
        let message = Payload { msg: b"a message that is longer than a block", aad: b"header" };
        let sealed = A::new_from_slice(&key[..A::key_size()]).unwrap().encrypt(&nonce, message).unwrap();
        write("primitives_random_nonce", file, &[&[6], &key[..], b"header", &nonce, &sealed].concat());
    }
    sealed::<Aes128Gcm>("aes-128-gcm");
    sealed::<Aes256Gcm>("aes-256-gcm");
    sealed::<Sm4Gcm>("sm4-gcm");
    sealed::<Sm4Ccm>("sm4-ccm");
    sealed::<ChaCha20Poly1305>("chacha20-poly1305");
    sealed::<XChaCha20Poly1305>("xchacha20-poly1305");
}
