//! PQClean, loaded at run time: Classic McEliece on AVX2, and HQC of round 4, in portable C at every level of optimisation and on AVX2.
//!
//! `cargo xtask peers pqclean` builds them into `target/peers`, a library for each variant.

#![cfg(feature = "peer-pqclean")]
#![allow(unsafe_code)] // C libraries behind dlopen: every call crosses into them.

use crate::contract::hqc::{self, Code, DECODE, Level};
use crate::contract::kem::{self, Failed, Op, SeededKem};
use crate::contract::mceliece::{self, Set};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::given::{Given, Kem, Randomness, randomness};
use crate::shared_object::{Found, SharedObject, Which, function};
use candor_lab::{Entry, Provenance, Refusal};
use libloading::Library;
use std::ffi::c_int;
use std::sync::LazyLock;

static MCELIECE: Which = Which {
    name: "pqclean-mceliece",
    file: "libcandor-pqclean-mceliece",
    what: "Classic McEliece by PQClean, on AVX2, loaded at run time",
    how: "build it with `cargo xtask peers pqclean`",
    arm: "fixed when it was built",
    needs: &[],
};

static HQC: Which = Which {
    name: "pqclean-hqc",
    file: "libcandor-pqclean-hqc",
    what: "HQC of round 4 by PQClean, in C and on AVX2, loaded at run time",
    how: "build it with `cargo xtask peers pqclean`",
    arm: "fixed when it was built",
    needs: &[],
};

struct Functions {
    randomness: Randomness,
    /// `clean` or `avx2`, as it stands in the functions' names.
    implementation: &'static str,
    /// Keeps the code mapped, and has the functions of every set.
    library: Library,
}

fn look_up(library: Library, built: &Built) -> Result<(String, Functions), String> {
    let randomness = randomness(&library)?;
    let version = built.field("version").unwrap_or("of unknown version").to_owned();
    let implementation = if built.field("variant") == Some("avx2") { "AVX2" } else { "CLEAN" };
    if implementation == "AVX2" && !avx2() {
        return Err("was built for AVX2, which this CPU lacks".into());
    }
    Ok((version, Functions { randomness, implementation, library }))
}

/// Whether the CPU has what these libraries were compiled for, and what nothing in them asks for.
fn avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return ["avx2", "bmi1", "bmi2", "aes", "popcnt", "pclmulqdq"].into_iter().all(|feature| match feature {
        "avx2" => std::arch::is_x86_feature_detected!("avx2"),
        "bmi1" => std::arch::is_x86_feature_detected!("bmi1"),
        "bmi2" => std::arch::is_x86_feature_detected!("bmi2"),
        "aes" => std::arch::is_x86_feature_detected!("aes"),
        "popcnt" => std::arch::is_x86_feature_detected!("popcnt"),
        _ => std::arch::is_x86_feature_detected!("pclmulqdq"),
    });
    #[cfg(not(target_arch = "x86_64"))]
    false
}

static FOUND_MCELIECE: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&MCELIECE, look_up));
static FOUND_HQC: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&HQC, look_up));

/// What PQClean offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        [FOUND_MCELIECE.peers(), FOUND_HQC.peers()].concat()
    }

    fn mceliece(&self, set: Set, op: Op) -> Vec<Entry> {
        let make = move |object| OfSet::mceliece(object, set).map_err(Refusal::failed);
        FOUND_MCELIECE.each(|object| kem::entry(&object.name, op, mceliece::COINS, move || make(object)))
    }

    fn mceliece_decode(&self, set: Set) -> Vec<Entry> {
        let make = move |object| OfDecoder::new(object, set).map_err(Refusal::failed);
        FOUND_MCELIECE.each(|object| mceliece::decode(&object.name, set, move || make(object)))
    }

    /// In C, only what is compiled as usual is of interest for the whole KEM: nearly all of its time goes into a schoolbook product.
    fn hqc(&self, level: Level, op: Op) -> Vec<Entry> {
        let make = move |object| OfSet::hqc(object, level).map_err(Refusal::failed);
        FOUND_HQC.each_by_several(|object| match object.name.ends_with("+O3") || object.name.ends_with("+avx2") {
            true => vec![kem::entry(&object.name, op, level.coins(), move || make(object))],
            false => Vec::new(),
        })
    }

    fn hqc_decode(&self, level: Level) -> Vec<Entry> {
        FOUND_HQC.each(|object| {
            hqc::decode(&object.name, level, move || OfCode::new(object, level).map_err(Refusal::failed))
        })
    }
}

/// One parameter set.
struct OfSet {
    given: Given,
    object: &'static SharedObject<Functions>,
    /// Where it is not that of the task.
    older_specification: Option<&'static str>,
}

impl OfSet {
    fn mceliece(object: &'static SharedObject<Functions>, set: Set) -> Result<Self, String> {
        let [public, secret, ciphertext] = set.sizes();
        let prefix = format!("MCELIECE{}", set.number().to_uppercase());
        Self::new(object, &prefix, [public, secret, ciphertext, 32], None)
    }

    fn hqc(object: &'static SharedObject<Functions>, level: Level) -> Result<Self, String> {
        // Each api.h of PQClean's.
        let sizes = match level {
            Level::L1 => [2249, 2305, 4433, 64],
            Level::L3 => [4522, 4586, 8978, 64],
            Level::L5 => [7245, 7317, 14421, 64],
        };
        Self::new(object, prefix(level), sizes, Some("round 4"))
    }

    fn new(
        object: &'static SharedObject<Functions>,
        prefix: &str,
        sizes: [usize; 4],
        older_specification: Option<&'static str>,
    ) -> Result<Self, String> {
        let Functions { randomness, implementation, library } = &object.functions;
        let names =
            ["keypair", "enc", "dec"].map(|name| format!("PQCLEAN_{prefix}_{implementation}_crypto_kem_{name}"));
        // SAFETY: the types and lengths are those of the set's api.h, and the library is never closed.
        let kem = unsafe { Kem::look_up(library, names.each_ref()) }?;
        Ok(Self { given: Given { kem, randomness: *randomness, sizes }, object, older_specification })
    }
}

/// As it stands in the functions' names.
fn prefix(level: Level) -> &'static str {
    match level {
        Level::L1 => "HQC128",
        Level::L3 => "HQC192",
        Level::L5 => "HQC256",
    }
}

impl SeededKem for OfSet {
    type Secret = Vec<u8>;
    type Public = Vec<u8>;
    type Bytes = Vec<u8>;

    fn older_specification(&self) -> Option<&'static str> {
        self.older_specification
    }

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
        match self.older_specification {
            Some(_) => self.given.encaps(to, coins, 0),
            None => self.given.encaps(to, &[], mceliece::state(coins)),
        }
    }

    fn decaps(&self, with: &Vec<u8>, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        self.given.decaps(with, ciphertext)
    }

    fn provenance(&self, op: Op) -> Provenance {
        let mut provenance = self.object.provenance(op.timed_seeded());
        provenance.different_operation = self.older_specification.map(|older| {
            format!(
                "HQC of {older} (2023-04-30): other keys, ciphertexts and secrets, and less hashing than the specification of 2025; its answers \
                 agree with its own kind's only"
            )
        });
        provenance
    }
}

/// The error vector, what follows the first 40 bytes of a secret key, and the ciphertext.
type Decrypt = unsafe extern "C" fn(*mut u8, *const u8, *const u8) -> c_int;

/// A set of Classic McEliece with its decoder.
struct OfDecoder {
    kem: OfSet,
    decrypt: Decrypt,
}

impl OfDecoder {
    fn new(object: &'static SharedObject<Functions>, set: Set) -> Result<Self, String> {
        let name = format!("PQCLEAN_MCELIECE{}_AVX2_decrypt", set.number().to_uppercase());
        // SAFETY: the type is that of decrypt.h, and the library is never closed.
        let decrypt = unsafe { function(&object.functions.library, &name) }?;
        Ok(Self { kem: OfSet::mceliece(object, set)?, decrypt })
    }
}

impl SeededKem for OfDecoder {
    type Secret = Vec<u8>;
    type Public = Vec<u8>;
    type Bytes = Vec<u8>;

    fn keygen(&self, seed: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Failed> {
        self.kem.keygen(seed)
    }

    fn export(&self, secret: &Vec<u8>) -> Vec<u8> {
        self.kem.export(secret)
    }

    fn public(&self, encoded: &[u8]) -> Result<Vec<u8>, Failed> {
        self.kem.public(encoded)
    }

    fn encaps(&self, to: &Vec<u8>, coins: &[u8]) -> Result<(Vec<u8>, [u8; 32]), Failed> {
        self.kem.encaps(to, coins)
    }

    fn decaps(&self, with: &Vec<u8>, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        self.kem.decaps(with, ciphertext)
    }

    fn provenance(&self, op: Op) -> Provenance {
        self.kem.provenance(op)
    }
}

impl mceliece::Decoder for OfDecoder {
    fn decode(&self, with: &Vec<u8>, ciphertext: &[u8], error: &mut [u8]) -> bool {
        // SAFETY: a key of ours, a ciphertext of its length, and as many bytes of errors as the set has.
        unsafe { (self.decrypt)(error.as_mut_ptr(), with[40..].as_ptr(), ciphertext.as_ptr()) == 0 }
    }

    fn decode_provenance(&self) -> Provenance {
        self.kem.object.provenance(mceliece::DECODE)
    }
}

/// `code_encode` and `code_decode`: to, from. A message is bytes in C and words on AVX2.
type Convert = unsafe extern "C" fn(*mut u64, *const u64);

/// The code below HQC.
struct OfCode {
    encode: Convert,
    decode: Convert,
    object: &'static SharedObject<Functions>,
    level: Level,
}

impl OfCode {
    fn new(object: &'static SharedObject<Functions>, level: Level) -> Result<Self, String> {
        let Functions { implementation, library, .. } = &object.functions;
        let name = |name| format!("PQCLEAN_{}_{implementation}_code_{name}", prefix(level));
        // SAFETY: the types are those of code.h, where bytes may have any alignment, and words do; the library is never closed.
        unsafe {
            Ok(Self {
                encode: function(library, &name("encode"))?,
                decode: function(library, &name("decode"))?,
                object,
                level,
            })
        }
    }
}

/// The most words of a message, and of a codeword on AVX2, which reads whole registers.
const MESSAGE: usize = 4;
const WORD: usize = 904;

impl Code for OfCode {
    fn words(&self) -> usize {
        match self.level {
            Level::L1 => 276,
            Level::L3 => 560,
            Level::L5 => 900,
        }
    }

    fn encode(&self, message: &[u8], word: &mut [u64]) {
        let (mut from, mut to) = ([0; MESSAGE], [0; WORD]);
        for (word, bytes) in from.iter_mut().zip(message.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        // SAFETY: room for the longest message and the longest codeword.
        unsafe { (self.encode)(to.as_mut_ptr(), from.as_ptr()) };
        word.copy_from_slice(&to[..word.len()]);
    }

    fn decode(&self, word: &[u64], message: &mut [u8]) {
        let mut to = [0; MESSAGE];
        // SAFETY: as many words as a codeword has, and room for the longest message.
        unsafe { (self.decode)(to.as_mut_ptr(), word.as_ptr()) };
        for (bytes, word) in message.as_chunks_mut::<8>().0.iter_mut().zip(to) {
            *bytes = word.to_le_bytes();
        }
    }

    fn provenance(&self) -> Provenance {
        self.object.provenance(DECODE)
    }
}
