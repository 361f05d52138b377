//! Keys and ciphertexts of KEMs; messages for hashes.

use candor_cpu::Cpu;
use candor_primitives::hash::{Batch, Blake2b512, Digest, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Sm3};
use candor_primitives::kem::{Kem, aws_lc, libcrux, rustcrypto};

/// The same bytes as a key and as a ciphertext of every back end and level: nothing panics, all back ends accept the same keys, and an
/// accepted public key is given back unchanged.
pub fn kem_bytes(data: &[u8]) {
    fn takes<K: Kem>(kem: K, data: &[u8]) -> [bool; 2] {
        let public = kem.public_from_bytes(data);
        if let Ok(public) = &public {
            let mut again = vec![0; K::PUBLIC];
            kem.public_to_bytes(public, &mut again).expect("the buffer fits");
            assert!(again == data, "{}: another public key than was read", K::NAME);
            let mut ciphertext = vec![0; K::CIPHERTEXT];
            kem.encapsulate(public, &mut ciphertext).expect("a checked key can be used");
        }
        let secret = kem.secret_from_bytes(data);
        if let Ok(secret) = &secret {
            let again = kem.secret_to_bytes(secret).expect("a secret key has a byte form");
            // Not the same bytes always: FIPS 203 §7.3 has no modulus check on ŝ, and a back end may reduce what it reads.
            assert!(kem.secret_from_bytes(&again).is_ok(), "{}: does not read what it wrote", K::NAME);
            // Any ciphertext of the right length decapsulates (implicit rejection), any other is an error.
            assert!(kem.decapsulate(secret, &vec![data[0]; K::CIPHERTEXT]).is_ok());
            assert!(kem.decapsulate(secret, data).is_err() || data.len() == K::CIPHERTEXT);
        }
        [public.is_ok(), secret.is_ok()]
    }
    let agree = |verdicts: [[bool; 2]; 3]| assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]), "{verdicts:?}");
    agree([takes(aws_lc::MlKem512, data), takes(libcrux::MlKem512, data), takes(rustcrypto::MlKem512, data)]);
    agree([takes(aws_lc::MlKem768, data), takes(libcrux::MlKem768, data), takes(rustcrypto::MlKem768, data)]);
    agree([takes(aws_lc::MlKem1024, data), takes(libcrux::MlKem1024, data), takes(rustcrypto::MlKem1024, data)]);
}

/// Hashes agree with themselves: whatever the tier, whatever the pieces, alone or in a batch. Data: the length of the first piece,
/// the length of the others, the message.
pub fn hash_pieces(data: &[u8]) {
    let [first, others, message @ ..] = data else { return };
    let (head, tail) = message.split_at(usize::from(*first).min(message.len()));
    macro_rules! check {
        ($($hash:ident),+) => {
            $(
                let mut whole = $hash::with_cpu(Cpu::portable());
                whole.update(message);
                let expected = whole.finalize();
                for tier in Cpu::tiers() {
                    let Ok(cpu) = Cpu::named(tier.name) else { continue };
                    let mut hash = $hash::with_cpu(cpu);
                    hash.update(head);
                    tail.chunks(usize::from(*others) + 1).for_each(|piece| hash.update(piece));
                    assert!(hash.finalize() == expected, "{} at {}", stringify!($hash), tier.name);
                }
            )+
        };
    }
    check!(Sha256, Sha384, Sha512, Sha3_256, Sha3_512, Blake2b512, Sm3);

    let messages: Vec<&[u8]> = tail.chunks(usize::from(*others) + 1).chain([head, message]).collect();
    for tier in Cpu::tiers() {
        let Ok(cpu) = Cpu::named(tier.name) else { continue };
        let mut digests = vec![[0; 32]; messages.len()];
        macro_rules! batch {
            ($hash:ident, $into:ident) => {
                let _ = Batch::with_cpu(cpu).$into(&messages, &mut digests);
                for (message, digest) in messages.iter().zip(&digests) {
                    assert!(
                        $hash::digest(message)[..] == digest[..],
                        "batch of {} at {}",
                        stringify!($hash),
                        tier.name
                    );
                }
            };
        }
        batch!(Sha256, sha256_into);
        batch!(Sha3_256, sha3_256_into);
        batch!(Sm3, sm3_into);
    }
}
