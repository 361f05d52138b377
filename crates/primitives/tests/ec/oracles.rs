//! RustCrypto's crates.

use super::{arms, length, less, more, order_and_prime, rng};
use candor_primitives::ec::{P256, P384, Secp256k1, Signature};
use candor_primitives::hash::{Sha256, Sha384};
use proptest::prelude::*;

/// What must hold for a secret key, a peer's and a message, on each arm and for the oracle.
macro_rules! oracle {
    ($module:ident, $curve:ident, $theirs:ident, $hash:ty) => {
        mod $module {
            use super::*;
            use $theirs::ecdsa;
            use $theirs::ecdsa::signature::hazmat::PrehashSigner;
            use $theirs::ecdsa::signature::{Signer, Verifier};

            fn agree(secret: &[u8], peer: &[u8], message: &[u8]) {
                let theirs = ecdsa::SigningKey::from_slice(secret).unwrap();
                let public = theirs.verifying_key();
                let signed: ecdsa::Signature = theirs.sign(message);
                let peers = $theirs::SecretKey::from_slice(peer).unwrap().public_key();
                let shared = $theirs::SecretKey::from_slice(secret).unwrap().diffie_hellman(&peers);
                for ec in arms::<$curve>() {
                    let ours = ec.secret_from_slice(secret).unwrap();
                    assert_eq!(ours.to_bytes().as_slice(), secret);
                    assert_eq!(ours.public_key().to_bytes().as_slice(), public.to_sec1_point(false).as_bytes());
                    let compressed = ours.public_key().to_compressed_bytes();
                    assert_eq!(compressed.as_slice(), public.to_sec1_point(true).as_bytes());
                    assert_eq!(ec.public_from_bytes(&compressed).as_ref(), Ok(ours.public_key()));

                    assert_eq!(ours.sign_deterministic(message).to_bytes().as_slice(), &*signed.to_bytes());
                    let signature = ours.sign(message).unwrap();
                    let read = ecdsa::Signature::from_slice(&signature.to_bytes()).unwrap();
                    public.verify(message, &read).unwrap();
                    let signature = Signature::from_bytes(&signed.to_bytes()).unwrap();
                    assert_eq!(ours.public_key().verify(message, &signature), Ok(()));

                    let peer = ec.public_from_bytes(&peers.to_sec1_bytes()).unwrap();
                    assert_eq!(ours.agree(&peer).as_bytes().as_slice(), &shared.raw_secret_bytes()[..]);
                }
            }

            #[test]
            fn keys_at_the_ends_of_the_range_do_what_theirs_do() {
                let [n, _] = order_and_prime::<$curve>();
                let zero = vec![0; length::<$curve>()];
                for small in (1..=33).chain([63, 64, 65, 127, 128, 129]) {
                    agree(&more(&zero, small), &less(&n, small), b"message");
                    agree(&less(&n, small), &more(&zero, small), b"");
                }
            }

            /// Messages' digests of that size are not to be found; digests are.
            #[test]
            fn digests_at_the_order_and_above_are_signed_as_theirs_are() {
                let [n, _] = order_and_prime::<$curve>();
                let secret = more(&vec![0; length::<$curve>()], 77);
                let theirs = ecdsa::SigningKey::from_slice(&secret).unwrap();
                let ends = [vec![0; n.len()], vec![0xff; n.len()]];
                for digest in [less(&n, 1), n.clone(), more(&n, 1), more(&n, 200)].into_iter().chain(ends) {
                    let signed: ecdsa::Signature = theirs.sign_prehash(&digest).unwrap();
                    for ec in arms::<$curve>() {
                        let ours = ec.secret_from_slice(&secret).unwrap();
                        let signature = ours.sign_digest_deterministic::<$hash>(&digest).unwrap();
                        assert_eq!(signature.to_bytes().as_slice(), &*signed.to_bytes());
                        assert_eq!(ours.public_key().verify_digest(&digest, &signature), Ok(()));
                    }
                }
            }

            #[test]
            fn keys_of_one_bit_do_what_theirs_do() {
                for bit in (0..8 * length::<$curve>() - 1).step_by(5) {
                    let mut key = vec![0; length::<$curve>()];
                    let last = key.len() - 1;
                    key[last - bit / 8] = 1 << (bit % 8);
                    agree(&key, &[vec![0; last], vec![7]].concat(), &key);
                }
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(24))]
                #[test]
                fn any_key_does_what_theirs_does(
                    secret in prop::collection::vec(any::<u8>(), length::<$curve>()),
                    peer in prop::collection::vec(any::<u8>(), length::<$curve>()),
                    message in prop::collection::vec(any::<u8>(), 0..200),
                ) {
                    let [n, _] = order_and_prime::<$curve>();
                    prop_assume!(secret < n && peer < n);
                    agree(&secret, &peer, &message);
                }
            }

            #[test]
            #[ignore = "10,000 keys take a minute in release"]
            fn ten_thousand_keys_do_what_theirs_do() {
                let [n, _] = order_and_prime::<$curve>();
                let mut keys = std::iter::from_fn(|| {
                    let mut key = vec![0; length::<$curve>()];
                    rand_core::Rng::fill_bytes(&mut rng(), &mut key);
                    Some(key)
                })
                .filter(|key| *key < n);
                for _ in 0..10_000 {
                    agree(&keys.next().unwrap(), &keys.next().unwrap(), b"one of ten thousand");
                }
            }
        }
    };
}

oracle!(p256_, P256, p256, Sha256);
oracle!(p384_, P384, p384, Sha384);
oracle!(secp256k1_, Secp256k1, k256, Sha256);
