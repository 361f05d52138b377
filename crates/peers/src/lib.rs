//! The contract of a measured task, and other people's libraries that keep it.
//!
//! [`contract`] has a module for each kind of work: a small trait that a library implements ([`contract::ml_kem::MlKem`], …), and the
//! subjects that prepare, check and time whatever implements it. That every library goes through the same code is what makes the rows
//! of a table comparable. Which work is measured, and under which names, is decided above, in `candor-subjects`.
//!
//! Every other module is a library: `ring.rs` is ring. It says in `Offer` what it can do and is compiled if its cargo feature
//! is on (`peer-ring`). CONTRIBUTING.md shows how one is added.
//!
//! ```
//! use candor_peers::contract::hash::{Algorithm, Shape};
//! let entries = candor_peers::hash(Algorithm::Sha256, Shape { messages: 1, bytes: 1024 });
//! for entry in &entries {
//!     println!("{}", entry.subject); // ring-0.17.14, …
//! }
//! ```

// What several libraries share is unused where most of them are left out.
#![cfg_attr(not(feature = "peers"), allow(dead_code))]

mod list;
mod program;
mod shared_object;

pub mod contract;
pub mod insecure_seed;
pub mod linked;
pub mod seed;
pub mod tor_relays;

pub use list::{
    Peer, PeerState, aead, aeads, argon2id, cipher, ciphers, ec, file_sha256, gf2, gf2_field, gf2_inlined,
    gf2_products, gf2m, hash, hash_batch, hkdf, hmac, hqc, hqc_decode, imported, mceliece, mceliece_decode, ml_kem,
    ml_kem_prepared, ntor, opaque, oprf, peers, ristretto, rsa, sm2, x25519,
};

// The libraries. Each file has its feature at its head; their order in the tables is that of the feature `peers` in Cargo.toml.
mod argon2;
mod argon2_rust;
mod aws_lc;
mod blake2b_simd;
mod coreutils;
mod dalek;
mod gf2x;
mod gmsm;
mod gmssl;
mod graviola;
mod hqc_kem;
mod ipsec_mb;
mod lib25519;
mod libcrux;
mod libgcrypt;
mod libmceliece;
mod liboqs;
mod libsm;
mod libsodium;
mod ml_kem;
mod opaque_ke;
mod openssl;
mod pq_mceliece;
mod pqclean;
mod ring;
mod ring_interface;
mod rustcrypto_aead;
mod rustcrypto_ec;
mod rustcrypto_hash;
mod rustcrypto_rsa;
mod secp256k1;
mod sm2;
mod sm4;
mod tor;
