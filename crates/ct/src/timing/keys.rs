//! RSA with one key against many: a secret is the number of a key, of which each class has its own.
//!
//! Ciphertexts and messages tell nothing, since they are blinded. What a leak would tell is the key, whose exponents are the same in each operation. So the
//! classes are one key, another one, and any of some. The key of a measurement is copied to the same place outside the clock, or the caches would know how
//! often it has served. It has no pair of the blinding yet: the work draws one, so that both powers of a fresh pair and of a result are in the time.

use crate::measure::{Timed, Work};
use candor_cpu::Cpu;
use candor_primitives::hash::{Digest, Sha256};
use candor_primitives::rsa::{Pss, Rsa, SecretKey, Size};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

/// Keys of the class of many.
const KEYS: usize = 16;

/// Bytes of secret input: the number of a key.
pub(crate) const OF_SIGNATURE: usize = 1;

/// The number of a key, and a message.
pub(crate) const OF_DECRYPTION: usize = 33;

/// What a measurement works with: a key and a ciphertext for it, or an empty one.
type Ready = (SecretKey, Vec<u8>);

/// A signature of one digest.
pub(crate) fn sign(cpu: Cpu) -> Timed {
    with_key(cpu, |_, _| Vec::new(), |(key, _), _| signed(key))
}

/// A good ciphertext of the secret message.
pub(crate) fn decrypt(cpu: Cpu) -> Timed {
    let encrypt = |key: &SecretKey, secret: &[u8]| {
        key.public_key().encrypt_oaep::<Sha256>(&secret[1..], b"").expect("a short message")
    };
    with_key(cpu, encrypt, |(key, sealed), secret| {
        let opened = black_box(key.decrypt_oaep::<Sha256>(sealed, b"")).expect("a good ciphertext");
        assert_eq!(opened[..], secret[1..]);
    })
}

/// A control: a signature with a planted leak. Every other key takes a hundredth longer, by a hash of four kilobytes.
pub(crate) fn leaky(cpu: Cpu) -> Timed {
    with_key(
        cpu,
        |_, _| Vec::new(),
        |(key, _), secret| {
            signed(key);
            if secret[0] & 1 == 1 {
                _ = black_box(Sha256::with_cpu(Cpu::portable()).chain_update([7; 4096]).finalize());
            }
        },
    )
}

fn signed(key: &SecretKey) {
    _ = black_box(key.sign_digest::<Pss<Sha256>>(&[5; 32])).expect("a signature");
}

/// Work on the key whose number is the secret's first byte, with what `more` makes for it.
fn with_key(
    cpu: Cpu,
    more: impl Fn(&SecretKey, &[u8]) -> Vec<u8> + 'static,
    work: impl Fn(&Ready, &[u8]) + 'static,
) -> Timed {
    let rsa = Rsa::with_cpu(cpu);
    let keys: Vec<SecretKey> = (0..KEYS).map(|_| rsa.generate(Size::Bits2048).expect("a key")).collect();
    let ready: Rc<RefCell<Option<Ready>>> = Rc::default();
    let to = Rc::clone(&ready);
    let prepare: Work = Box::new(move |secret| {
        // First the old one goes, so that the allocator gives the new one its place.
        to.borrow_mut().take();
        let key = &keys[usize::from(secret[0]) % KEYS];
        let more = more(key, secret);
        *to.borrow_mut() = Some((key.clone(), more));
    });
    let work: Work = Box::new(move |secret| work(ready.borrow().as_ref().expect("it was prepared"), secret));
    Timed::prepared(prepare, work)
}
