//! X25519 of our own against AWS-LC's.

use candor_cpu::Cpu;
use candor_primitives::dh::x25519::X25519;
use candor_primitives::dh::{DiffieHellman, aws_lc};

/// Public keys and agreements of any scalars and points, one by one, two by two and all at once: on every tier what AWS-LC computes. Data: 32 bytes
/// of scalar and 32 of a u-coordinate, again and again.
pub fn x25519_agreements(data: &[u8]) {
    let inputs: Vec<(&[u8; 32], &[u8; 32])> =
        data.as_chunks::<32>().0.as_chunks::<2>().0.iter().map(|[scalar, point]| (scalar, point)).collect();
    let expected = results(&aws_lc::X25519, &inputs);
    for tier in Cpu::tiers() {
        let Ok(cpu) = Cpu::named(tier.name) else { continue };
        let ours = X25519::with_cpu(cpu);
        assert!(results(&ours, &inputs) == expected, "one by one on {}", ours.arm());
        let secrets: Vec<_> = inputs.iter().map(|(scalar, _)| ours.secret_from_bytes(scalar).expect("a key")).collect();
        let publics = ours.public_many(&secrets.iter().collect::<Vec<_>>()).expect("public keys");
        let pairs: Vec<_> = secrets.iter().zip(inputs.iter().map(|(_, point)| *point)).collect();
        let at_once: Vec<_> = publics.into_iter().zip(ours.agree_many(&pairs)).collect();
        assert!(at_once == expected, "all at once on {}", ours.arm());
        for (pair, expected) in pairs.as_chunks().0.iter().zip(expected.as_chunks::<2>().0) {
            let two = ours.agree_pair(*pair);
            assert!(two[0] == expected[0].1 && two[1] == expected[1].1, "two by two on {}", ours.arm());
        }
    }
}

type Agreed = Result<candor_primitives::SharedSecret, candor_primitives::dh::DhError>;

fn results<D: DiffieHellman>(dh: &D, inputs: &[(&[u8; 32], &[u8; 32])]) -> Vec<([u8; 32], Agreed)> {
    let result = |(scalar, point): &(&[u8; 32], &[u8; 32])| {
        let secret = dh.secret_from_bytes(scalar).expect("any 32 bytes are a key");
        (dh.public_of(&secret).expect("a public key"), dh.agree(&secret, point))
    };
    inputs.iter().map(result).collect()
}
