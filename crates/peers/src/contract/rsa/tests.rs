//! The witnesses refuse what they must: an honest library judges forged ones, and its honest twin.

use super::reference::Key;
use super::{Failed, Input, KeyFiles, Op, Rsa, Size, entry};
use candor_lab::{Mismatch, Provenance, Subject, Witness};

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
}

const FAULTS: [(Fault, Op); 7] = [
    (Fault::OtherKey, Op::Sign),
    (Fault::OtherInput, Op::Sign),
    (Fault::AcceptsAny, Op::Verify),
    (Fault::OtherInput, Op::Encrypt),
    (Fault::OtherInput, Op::Decrypt),
    (Fault::OtherSize, Op::Keygen),
    (Fault::WrongBit, Op::Keygen),
];

/// A library made of the reference.
struct Library(Fault);

impl Rsa for Library {
    type Pair = Key;
    type Secret = Key;
    type Public = Key;

    fn keygen(&self) -> Result<Key, Failed> {
        // The size itself is cheap to get wrong: a smaller key.
        if self.0 == Fault::OtherSize { Ok(Key::new(1024)) } else { Key::read(Size::Bits2048.key()) }
    }

    fn export(&self, pair: Key) -> Result<Vec<u8>, Failed> {
        let mut file = pair.files().pkcs8;
        if self.0 == Fault::WrongBit {
            *file.last_mut().unwrap() ^= 1;
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
        Provenance::of("a test", "0", op.timed())
    }
}

fn subject(fault: Fault, op: Op) -> Box<dyn Subject> {
    let entry = entry("a", Size::Bits2048, op, move || Ok(Library(fault)));
    entry.make().expect("it can be made")
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
