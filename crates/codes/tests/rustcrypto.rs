//! Both KEMs through the traits of RustCrypto's crate `kem`.

use candor_codes::rustcrypto::{Algorithm, EncapsulationKey, Hqc1, Hqc3, Hqc5, Mceliece348864, Mceliece348864f};
use candor_codes::{hqc, mceliece};
use candor_primitives::kem::{DerandomizedKem, KemError};
use candor_test_support::random::Random;
use kem::{Decapsulate, Decapsulator, Encapsulate, Generate, Kem, KeyExport, TryKeyInit};
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;

struct Numbers(Random);

impl TryRng for Numbers {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.word() as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.word())
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.copy_from_slice(&self.0.bytes(bytes.len()));
        Ok(())
    }
}

impl TryCryptoRng for Numbers {}

fn numbers(seed: u64) -> Numbers {
    Numbers(Random::new(seed))
}

/// What a program that knows these traits alone does.
fn exchange<K: Kem<DecapsulationKey: Decapsulate>>() {
    let (secret, public) = K::generate_keypair_from_rng(&mut numbers(1));
    assert_eq!(*secret.encapsulation_key(), public);
    let received = K::EncapsulationKey::new(&public.to_bytes()).expect("a good key");
    let (ciphertext, ours) = received.encapsulate_with_rng(&mut numbers(2));
    assert_eq!(secret.decapsulate(&ciphertext), ours);
    assert!(secret.decapsulate_slice(&ciphertext[1..]).is_err(), "too short");
    assert!(K::EncapsulationKey::new_from_slice(&public.to_bytes()[1..]).is_err(), "too short");
    let mut bad = ciphertext;
    bad[0] ^= 1;
    assert_ne!(secret.decapsulate(&bad), ours, "implicit rejection");
    let (_, another) = K::generate_keypair_from_rng(&mut numbers(3));
    assert_ne!(another, public);
}

#[test]
fn keys_ciphertexts_and_secrets_pass_through_the_traits() {
    exchange::<Hqc1>();
    exchange::<Hqc3>();
    exchange::<Hqc5>();
    exchange::<Mceliece348864>();
    exchange::<Mceliece348864f>();
}

/// The same keys and secrets as through this crate's own interface, from the same randomness; the secret key comes back from its seed.
fn is_the_same<A: Algorithm>(kem: impl DerandomizedKem, last_byte_of_key: u8) {
    fn bytes<K: DerandomizedKem>(kem: &K, public: &K::Public) -> Vec<u8> {
        let mut bytes = vec![0; K::PUBLIC];
        kem.public_to_bytes(public, &mut bytes).unwrap();
        bytes
    }
    let (secret, public) = kem.generate_with(&mut numbers(4)).unwrap();
    let theirs = A::DecapsulationKey::generate_from_rng(&mut numbers(4));
    assert!(bytes(&kem, &public) == theirs.encapsulation_key().to_bytes()[..]);
    assert!(kem.secret_to_seed(&secret).unwrap()[..] == theirs.to_bytes()[..]);
    let (ciphertext, shared) = theirs.encapsulation_key().encapsulate_with_rng(&mut numbers(5));
    assert!(kem.decapsulate(&secret, &ciphertext).unwrap().as_bytes()[..] == shared[..]);

    let again = <A::DecapsulationKey as kem::KeyInit>::new(&theirs.to_bytes());
    assert_eq!(again.encapsulation_key(), theirs.encapsulation_key());
    assert_eq!(again.decapsulate(&ciphertext), shared);

    // A key with bits beyond its columns or its polynomial is none.
    let mut key = theirs.encapsulation_key().to_bytes();
    let last = key.len() - 1;
    key[last] |= last_byte_of_key;
    assert_eq!(A::EncapsulationKey::new(&key).is_err(), last_byte_of_key != 0);
    let shown = [format!("{theirs:?}"), format!("{:?}", theirs.encapsulation_key())];
    let name = <A::Inner as candor_primitives::kem::Kem>::NAME;
    assert_eq!(shown, [format!("DecapsulationKey({name}, ..)"), format!("EncapsulationKey({name}, ..)")]);
}

/// On a stack that has no room for a public key, from one end to the other.
#[test]
fn a_large_public_key_is_written_and_read_without_the_stack() {
    const STACK: usize = 192 << 10;
    const { assert!(STACK < EncapsulationKey::<Mceliece348864f>::LENGTH) };
    let exchange = || {
        let (secret, public) = Mceliece348864f::generate_keypair();
        let mut bytes = vec![0; EncapsulationKey::<Mceliece348864f>::LENGTH];
        public.write_to(&mut bytes).unwrap();
        let received = EncapsulationKey::<Mceliece348864f>::new_from_slice(&bytes).unwrap();
        assert!(received == public);
        let (ciphertext, ours) = received.encapsulate();
        assert_eq!(secret.decapsulate(&ciphertext), ours);
        let short = public.write_to(&mut bytes[1..]);
        assert!(matches!(short, Err(KemError::Length { expected: 261120, got: 261119, .. })), "{short:?}");
    };
    std::thread::Builder::new().stack_size(STACK).spawn(exchange).unwrap().join().unwrap();
}

#[test]
fn secret_keys_wipe_themselves() {
    fn is_wiped<T: zeroize::ZeroizeOnDrop>() {}
    is_wiped::<<Hqc1 as Kem>::DecapsulationKey>();
    is_wiped::<<Mceliece348864 as Kem>::DecapsulationKey>();
    is_wiped::<hqc::Secret<hqc::Level1>>();
    is_wiped::<mceliece::Secret<mceliece::Set348864>>();
}

#[test]
fn the_traits_give_what_the_crate_s_own_interface_gives() {
    is_the_same::<Hqc1>(hqc::Hqc1::new(), 0x80);
    is_the_same::<Hqc5>(hqc::Hqc5::new(), 0x80);
    // 2720 columns are whole bytes, so any key of the right length is one.
    is_the_same::<Mceliece348864f>(mceliece::Mceliece348864f::new(), 0);
}
