//! ML-KEM of our own against libcrux's.

use candor_cpu::Cpu;
use candor_primitives::SharedSecret;
use candor_primitives::hash::{Digest, Sha3_256};
use candor_primitives::kem::ml_kem::{MlKem, PreparedMlKem};
use candor_primitives::kem::{DerandomizedKem, KeyPair, libcrux};

/// Ciphertexts and secrets of any key, dishonest ones included, one by one and all at once, kept as bytes and prepared: on every tier what
/// libcrux computes. Data: the rank, how many operations (up to 17), and bytes of which the key, the coins and the ciphertexts are made.
pub fn ml_kem_agreements(data: &[u8]) {
    let [rank, count, bytes @ ..] = data else { return };
    let input = Input { count: usize::from(count % 18), bytes };
    match rank % 3 {
        0 => input.agree::<2>(&libcrux::MlKem512),
        1 => input.agree::<3>(&libcrux::MlKem768),
        _ => input.agree::<4>(&libcrux::MlKem1024),
    }
}

struct Input<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl Input<'_> {
    /// So many bytes, the data again and again from another place for each number.
    fn draw(&self, number: usize, length: usize) -> Vec<u8> {
        let byte = |at: usize| self.bytes.get(at % self.bytes.len().max(1)).copied().unwrap_or_default();
        (number..number + length).map(byte).collect()
    }

    /// A decapsulation key with any ŝ, coefficients from q to 4095 as well (FIPS 203 §7.3 checks none of them), and its encapsulation key.
    fn key(&self, rank: usize) -> (Vec<u8>, Vec<u8>) {
        let mut public = self.draw(1, 384 * rank);
        for [a, b, c] in public.as_chunks_mut().0 {
            let pair = [u16::from(*a) | u16::from(*b & 15) << 8, u16::from(*b >> 4) | u16::from(*c) << 4];
            let [low, high] = pair.map(|coefficient| coefficient % 3329);
            (*a, *b, *c) = (low as u8, (low >> 8) as u8 | (high << 4) as u8, (high >> 4) as u8);
        }
        public.extend(self.draw(2, 32));
        let hash = Sha3_256::digest(&public);
        ([self.draw(3, 384 * rank), public.clone(), hash.to_vec(), self.draw(4, 32)].concat(), public)
    }

    fn agree<const K: usize>(&self, oracle: &impl DerandomizedKem) {
        let (secret, public) = self.key(K);
        let expected = self.one_by_one(oracle, &secret, &public);
        for tier in Cpu::tiers() {
            let Ok(cpu) = Cpu::named(tier.name) else { continue };
            let (kept, prepared) = (MlKem::<K>::with_cpu(cpu), PreparedMlKem::<K>::with_cpu(cpu));
            assert!(self.one_by_one(&kept, &secret, &public) == expected, "one by one on {}", tier.name);
            assert!(self.one_by_one(&prepared, &secret, &public) == expected, "prepared, one by one on {}", tier.name);
            assert!(self.at_once(&kept, &secret, &public) == expected, "all at once on {}", tier.name);
            assert!(self.at_once(&prepared, &secret, &public) == expected, "prepared, all at once on {}", tier.name);
        }
    }

    fn coins(&self) -> Vec<Vec<u8>> {
        (0..self.count).map(|number| self.draw(7 * number + 5, 32)).collect()
    }

    /// What arrives: every other ciphertext as it was sent, the others any bytes.
    fn arrives(&self, number: usize, sent: &[u8]) -> Vec<u8> {
        if number.is_multiple_of(2) { sent.to_vec() } else { self.draw(11 * number + 6, sent.len()) }
    }

    fn one_by_one<K: DerandomizedKem>(&self, kem: &K, secret: &[u8], public: &[u8]) -> Vec<Exchanged> {
        let (secret, public) = keys(kem, secret, public);
        let exchange = |(number, coins): (usize, Vec<u8>)| {
            let mut ciphertext = vec![0; K::CIPHERTEXT];
            let sent = kem.encapsulate_from(&public, &coins, &mut ciphertext).expect("a ciphertext");
            let found = kem.decapsulate(&secret, &self.arrives(number, &ciphertext)).expect("a secret");
            (ciphertext, sent, found)
        };
        self.coins().into_iter().enumerate().map(exchange).collect()
    }

    fn at_once<K: DerandomizedKem>(&self, kem: &K, secret: &[u8], public: &[u8]) -> Vec<Exchanged> {
        let (secret, public) = keys(kem, secret, public);
        let (coins, mut ciphertexts) = (self.coins(), vec![vec![0; K::CIPHERTEXT]; self.count]);
        let coins: Vec<_> = coins.iter().map(Vec::as_slice).collect();
        let mut rooms: Vec<_> = ciphertexts.iter_mut().map(Vec::as_mut_slice).collect();
        let sent = kem.encapsulate_many_from(&vec![&public; self.count], &coins, &mut rooms).expect("ciphertexts");
        let arrive: Vec<_> = ciphertexts.iter().enumerate().map(|(number, sent)| self.arrives(number, sent)).collect();
        let arrive: Vec<_> = arrive.iter().map(Vec::as_slice).collect();
        let found = kem.decapsulate_many(&vec![&secret; self.count], &arrive).expect("secrets");
        ciphertexts
            .into_iter()
            .zip(sent)
            .zip(found)
            .map(|((ciphertext, sent), found)| (ciphertext, sent, found))
            .collect()
    }
}

/// A ciphertext, its secret, and the secret of what arrived.
type Exchanged = (Vec<u8>, SharedSecret, SharedSecret);

fn keys<K: DerandomizedKem>(kem: &K, secret: &[u8], public: &[u8]) -> KeyPair<K> {
    let secret = kem.secret_from_bytes(secret).expect("a key whose parts belong together");
    (secret, kem.public_from_bytes(public).expect("a key with coefficients below q"))
}
