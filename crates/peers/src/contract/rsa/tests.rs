//! The witnesses refuse what they must: an honest library judges forged ones, and its honest twin.

use super::reference::Key;
use super::{Failed, Input, KeyFiles, Op, Rsa, Size, entry};
use candor_lab::{Mismatch, Provenance, Subject, Witness};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const SEED: u64 = 20261126;

/// What is wrong with a library.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Nothing,
    /// Signs or decrypts with another key.
    OtherKey,
    /// Signs or encrypts something else.
    OtherInput,
    /// Verifies without looking.
    AcceptsAny,
    /// Makes keys of another size.
    OtherSize,
    /// Gives a secret key with one bit wrong.
    WrongBit,
    /// Makes keys with a number that is no prime, whose parts belong together.
    Composite,
}

const FAULTS: [(Fault, Op); 8] = [
    (Fault::OtherKey, Op::Sign),
    (Fault::OtherInput, Op::Sign),
    (Fault::AcceptsAny, Op::Verify),
    (Fault::OtherInput, Op::Encrypt),
    (Fault::OtherInput, Op::Decrypt),
    (Fault::OtherSize, Op::Keygen),
    (Fault::WrongBit, Op::Keygen),
    (Fault::Composite, Op::Keygen),
];

/// A library made of the reference, which counts the keys that it makes.
struct Library(Fault, Arc<AtomicUsize>);

impl Rsa for Library {
    type Pair = Key;
    type Secret = Key;
    type Public = Key;

    fn keygen(&self) -> Result<Key, Failed> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let key = Key::read(Size::Bits2048.key())?;
        Ok(match self.0 {
            // The size itself is cheap to get wrong: a smaller key.
            Fault::OtherSize => Key::new(1024),
            Fault::Composite => key.composite(),
            _ => key,
        })
    }

    fn export(&self, pair: Key) -> Result<Vec<u8>, Failed> {
        let mut file = pair.files().pkcs8;
        if self.0 == Fault::WrongBit {
            // A bit of the modulus, which begins within the first fifty bytes and has 256.
            file[100] ^= 1;
        }
        Ok(file)
    }

    fn secret(&self, files: &KeyFiles) -> Result<Key, Failed> {
        if self.0 == Fault::OtherKey { Ok(Key::new(2048)) } else { Key::read(&files.pkcs8) }
    }

    fn public(&self, files: &KeyFiles) -> Result<Key, Failed> {
        Key::read(&files.pkcs8)
    }

    fn sign(&self, secret: &Key, input: &Input) -> Result<Vec<u8>, Failed> {
        secret.sign(if self.0 == Fault::OtherInput { &[7; 32] } else { &input.digest })
    }

    fn verify(&self, public: &Key, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        if self.0 == Fault::AcceptsAny { Ok(()) } else { public.verify(&input.digest, signature) }
    }

    fn encrypt(&self, public: &Key, input: &Input) -> Result<Vec<u8>, Failed> {
        public.encrypt(if self.0 == Fault::OtherInput { &[7; 32] } else { &input.message })
    }

    fn decrypt(&self, secret: &Key, sealed: &[u8]) -> Result<Vec<u8>, Failed> {
        let mut message = secret.decrypt(sealed)?;
        if self.0 == Fault::OtherInput {
            message[0] ^= 1;
        }
        Ok(message)
    }

    fn provenance(&self, op: Op) -> Provenance {
        Provenance::of("a test", "0", &op.timed(Size::Bits2048))
    }
}

fn subject(fault: Fault, op: Op) -> Box<dyn Subject> {
    counting(fault, Size::Bits2048, op).0
}

/// With the number of keys that it has made.
fn counting(fault: Fault, size: Size, op: Op) -> (Box<dyn Subject>, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let entry = entry("a", size, op, move || Ok(Library(fault, Arc::clone(&count))));
    (entry.make().expect("it can be made"), made)
}

/// What an honest library says of one with a fault; or what the faulty one refuses itself by.
fn judged(fault: Fault, op: Op) -> Result<(), Mismatch> {
    let mut honest = subject(Fault::Nothing, op);
    honest.prepare(SEED).expect("an honest library");
    let witness: Result<Witness, _> = subject(fault, op).prepare(SEED);
    match witness {
        Ok(witness) => honest.check(&witness),
        Err(_) => Err(Mismatch::new("refuses itself")),
    }
}

#[test]
fn an_honest_library_passes_and_each_fault_is_found() {
    for (_, op) in Op::ALL {
        assert!(judged(Fault::Nothing, op).is_ok(), "{op:?}");
    }
    for (number, (fault, op)) in FAULTS.into_iter().enumerate() {
        assert!(judged(fault, op).is_err(), "fault {number} in {op:?}");
    }
}

/// What the witness of a composite is refused by: the parts alone are not enough.
#[test]
fn a_key_of_composites_is_refused_for_its_primes_alone() {
    let key = Key::read(Size::Bits2048.key()).unwrap();
    assert_eq!(key.check(Size::Bits2048), Ok(()));
    let composite = Key::read(&key.composite().files().pkcs8).expect("the parts belong together");
    assert_eq!(composite.check(Size::Bits2048), Err("makes a key of primes that are none"));
}

#[test]
fn an_operation_of_key_generation_makes_as_many_keys_as_it_says() {
    for (size, keys) in [(Size::Bits2048, 8), (Size::Bits3072, 4), (Size::Bits4096, 2)] {
        let (mut subject, made) = counting(Fault::Nothing, size, Op::Keygen);
        subject.prepare(SEED).expect("an honest library");
        assert_eq!(made.swap(0, Ordering::Relaxed), 1, "the witness");
        subject.run(2);
        assert_eq!(made.load(Ordering::Relaxed), 2 * keys);
        assert!(Op::Keygen.timed(size).contains(&format!("makes {keys} fresh key pairs")));
    }
}
