use candor_fuzz_bodies::primitives as fuzz;
use candor_test_support::corpus::Corpus;

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
