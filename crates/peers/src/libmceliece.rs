//! libmceliece, loaded at run time: Classic McEliece by Bernstein and Chou, which chooses among the arms that it was compiled with.
//!
//! `cargo xtask peers libmceliece` puts Debian's package into `target/peers`, with a stand-in for librandombytes.

#![cfg(feature = "peer-libmceliece")]
#![allow(unsafe_code)] // C libraries behind dlopen: every call crosses into them.

use crate::contract::kem::{self, Failed, Op, SeededKem};
use crate::contract::mceliece::{self, Set};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::given::{Given, Kem, Randomness, randomness};
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Provenance, Refusal};
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "libmceliece",
    file: "libmceliece",
    what: "Classic McEliece by its designers, with arms chosen at run time, loaded at run time",
    how: "build it with `cargo xtask peers libmceliece`",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &["librandombytes-kernel.so.1"],
};

struct Functions {
    randomness: Randomness,
    /// Keeps the code mapped, and has the functions of every set.
    library: Library,
}

fn look_up(library: Library, built: &Built) -> Result<(String, Functions), String> {
    // The library's own need for it has been met by now, so that this is the one that it uses.
    // SAFETY: it is in memory already; its constructors have run.
    let source = unsafe { Library::new("librandombytes-kernel.so.1") };
    let source = source.map_err(|error| format!("lacks librandombytes: {error}"))?;
    let randomness = randomness(&source)?;
    std::mem::forget(source);
    let version = built.field("version").unwrap_or("of unknown version").to_owned();
    Ok((version, Functions { randomness, library }))
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What libmceliece offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn mceliece(&self, set: Set, op: Op) -> Vec<Entry> {
        FOUND.each(|object| {
            kem::entry(&object.name, op, mceliece::COINS, move || OfSet::new(object, set).map_err(Refusal::failed))
        })
    }
}

/// One parameter set of it.
struct OfSet {
    given: Given,
    object: &'static SharedObject<Functions>,
    implementation: String,
}

impl OfSet {
    fn new(object: &'static SharedObject<Functions>, set: Set) -> Result<Self, String> {
        let Functions { randomness, library } = &object.functions;
        let name = |function| format!("mceliece_kem_{}_{function}", set.number());
        let [public, secret, ciphertext] = set.sizes();
        // SAFETY: the types and lengths are those of mceliece.h. The name of the implementation is a constant.
        unsafe {
            let implementation = function::<unsafe extern "C" fn() -> *const c_char>(library, &name("implementation"))?;
            let kem = Kem::look_up(library, [&name("keypair"), &name("enc"), &name("dec")])?;
            Ok(Self {
                given: Given { kem, randomness: *randomness, sizes: [public, secret, ciphertext, 32] },
                object,
                implementation: CStr::from_ptr(implementation()).to_string_lossy().into_owned(),
            })
        }
    }
}

impl SeededKem for OfSet {
    type Secret = Vec<u8>;
    type Public = Vec<u8>;
    type Bytes = Vec<u8>;

    fn keygen(&self, seed: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Failed> {
        Ok(self.given.keygen(seed))
    }

    fn export(&self, secret: &Vec<u8>) -> Vec<u8> {
        secret.clone()
    }

    fn public(&self, encoded: &[u8]) -> Result<Vec<u8>, Failed> {
        self.given.public(encoded)
    }

    fn encaps(&self, to: &Vec<u8>, coins: &[u8]) -> Result<(Vec<u8>, [u8; 32]), Failed> {
        self.given.encaps(to, &[], mceliece::state(coins))
    }

    fn decaps(&self, with: &Vec<u8>, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        self.given.decaps(with, ciphertext)
    }

    fn provenance(&self, op: Op) -> Provenance {
        let mut provenance = self.object.provenance(op.timed_seeded());
        provenance.arm = Some(format!("{}, chosen by the library at run time", self.implementation));
        provenance
    }
}
