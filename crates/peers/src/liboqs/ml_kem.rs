//! liboqs's ML-KEM in the tasks of ML-KEM. Its keys are bytes: each call expands the matrix anew, and checks the key that it is given.

use super::{FOUND, MlKem};
use crate::contract::ml_kem::{self, Failed, Level, Op};
use crate::shared_object::SharedObject;
use candor_lab::{Entry, Habit, Provenance, Refusal};
use candor_primitives::kem::Kem;

/// The entries of every liboqs here.
pub(super) fn entries(level: Level, op: Op) -> Vec<Entry> {
    FOUND.each(|object| {
        let name = &object.name;
        match level {
            Level::L512 => ml_kem::entry(name, level, op, move || Bytes::<512, 800, 1632, 768>::of(object)),
            Level::L768 => ml_kem::entry(name, level, op, move || Bytes::<768, 1184, 2400, 1088>::of(object)),
            Level::L1024 => ml_kem::entry(name, level, op, move || Bytes::<1024, 1568, 3168, 1568>::of(object)),
        }
    })
}

type Object = &'static SharedObject<super::Functions>;

/// ML-KEM-`N` on arrays, with the lengths of a public key, a secret key and a ciphertext.
struct Bytes<const N: usize, const PUBLIC: usize, const SECRET: usize, const CIPHERTEXT: usize> {
    kem: MlKem<N>,
    object: Object,
}

impl<const N: usize, const PUBLIC: usize, const SECRET: usize, const CIPHERTEXT: usize>
    Bytes<N, PUBLIC, SECRET, CIPHERTEXT>
{
    /// `MlKem::new` compares the library's lengths with its own, and this those with the arrays'.
    const FITS: () =
        assert!(PUBLIC == MlKem::<N>::PUBLIC && SECRET == MlKem::<N>::SECRET && CIPHERTEXT == MlKem::<N>::CIPHERTEXT);

    fn of(object: Object) -> Result<Self, Refusal> {
        let () = Self::FITS;
        Ok(Self { kem: MlKem::new(&object.functions)?, object })
    }
}

impl<const N: usize, const PUBLIC: usize, const SECRET: usize, const CIPHERTEXT: usize> ml_kem::MlKem
    for Bytes<N, PUBLIC, SECRET, CIPHERTEXT>
{
    type Secret = [u8; SECRET];
    type Public = [u8; PUBLIC];
    type Encoded = [u8; PUBLIC];
    type Ciphertext = [u8; CIPHERTEXT];
    type Shared = [u8; 32];

    fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), Failed> {
        let (mut secret, mut public) = ([0; SECRET], [0; PUBLIC]);
        let keypair = self.kem.functions.keypair;
        // SAFETY: a live object, and memory of the lengths that it was asked for when it was made.
        let status = unsafe { keypair(self.kem.kem.as_ptr(), public.as_mut_ptr(), secret.as_mut_ptr()) };
        if status == 0 { Ok((secret, public)) } else { Err("OQS_KEM_keypair fails") }
    }

    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed> {
        encoded.try_into().map_err(|_| "the public key has another length")
    }

    fn encaps(&self, to: &Self::Public) -> Result<(Self::Ciphertext, Self::Shared), Failed> {
        let (mut ciphertext, mut shared) = ([0; CIPHERTEXT], [0; 32]);
        let encaps = self.kem.functions.encaps;
        // SAFETY: as above.
        let status =
            unsafe { encaps(self.kem.kem.as_ptr(), ciphertext.as_mut_ptr(), shared.as_mut_ptr(), to.as_ptr()) };
        if status == 0 { Ok((ciphertext, shared)) } else { Err("OQS_KEM_encaps fails") }
    }

    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Self::Shared, Failed> {
        let ciphertext: &[u8; CIPHERTEXT] = ciphertext.try_into().map_err(|_| "the ciphertext has another length")?;
        let mut shared = [0; 32];
        let decaps = self.kem.functions.decaps;
        // SAFETY: as above.
        let status = unsafe { decaps(self.kem.kem.as_ptr(), shared.as_mut_ptr(), ciphertext.as_ptr(), with.as_ptr()) };
        if status == 0 { Ok(shared) } else { Err("OQS_KEM_decaps fails") }
    }

    fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, Failed>> {
        Some(expanded.try_into().map_err(|_| "the secret key has another length"))
    }

    fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>> {
        Some(secret.to_vec())
    }

    fn provenance(&self, op: Op) -> Provenance {
        // What its mlkem-native does since liboqs 0.13; the build of `cargo xtask peers` has no OpenSSL to draw from.
        let (how, checks) = match op {
            Op::Keygen => ("", None),
            Op::Encaps => ("", Some((Habit::ReadsKey, "the call checks the key's encoding"))),
            Op::Decaps => ("", Some((Habit::ReadsKey, "the call checks the key by the hash inside it"))),
            // Everybody reads the public key here.
            Op::Exchange => ("; both keys are checked in each call", None),
        };
        let timed = format!("{}{how}", op.timed());
        self.object.provenance(&timed).telling(op.by_system_call()).telling(checks)
    }
}
