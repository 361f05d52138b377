//! candor's own subjects: the products as their users call them, through their public traits.

pub(crate) mod aead;
pub(crate) mod cipher;
pub(crate) mod code_based;
pub(crate) mod gf2;
pub(crate) mod gf2m;
pub(crate) mod gf2poly;
pub(crate) mod hash;
pub(crate) mod hqc;
pub(crate) mod insecure_seed;
pub(crate) mod ksf;
pub(crate) mod login;
pub(crate) mod mceliece;
pub(crate) mod ntor;
pub(crate) mod opaque;
pub(crate) mod oprf;
pub(crate) mod ristretto;
pub(crate) mod steps;
mod thread;
pub(crate) mod town;

pub(crate) use ksf::argon2id;
pub(crate) use opaque::{HybridOpaque, hybrid_opaque, opaque, opaque_provenance, upload};
pub(crate) use oprf::oprf;
pub(crate) use ristretto::ristretto;

use candor_cpu::Cpu;
use candor_lab::{Entry, Provenance};
use candor_peers::contract::{ml_kem, x25519};
use candor_peers::linked;
use candor_primitives::SharedSecret;
use candor_primitives::dh::{self, DiffieHellman};
use candor_primitives::kem::{self, Kem};

/// `candor@auto`: the back end picks its own arm, so candor has no tiers here.
pub(crate) const AUTO: &str = "candor@auto";

/// Arms by name, each with a CPU that takes it: the default first, then what the other tiers of this machine take.
pub(crate) fn distinct_arms(arm: impl Fn(Cpu) -> &'static str) -> Vec<(&'static str, Cpu)> {
    let tiers = Cpu::tiers().map(|tier| Cpu::named(tier.name).expect("a tier that this machine lists"));
    let mut arms: Vec<(&'static str, Cpu)> = Vec::new();
    for cpu in std::iter::once(Cpu::default()).chain(tiers) {
        if arms.iter().all(|(known, _)| *known != arm(cpu)) {
            arms.push((arm(cpu), cpu));
        }
    }
    arms
}

/// Our ML-KEM, back end AWS-LC.
pub(crate) fn ml_kem(level: ml_kem::Level, op: ml_kem::Op) -> Entry {
    use ml_kem::Level;
    match level {
        Level::L512 => ml_kem::entry(AUTO, level, op, || Ok(OurKem::<_, 800, 768>(kem::aws_lc::MlKem512))),
        Level::L768 => ml_kem::entry(AUTO, level, op, || Ok(OurKem::<_, 1184, 1088>(kem::aws_lc::MlKem768))),
        Level::L1024 => ml_kem::entry(AUTO, level, op, || Ok(OurKem::<_, 1568, 1568>(kem::aws_lc::MlKem1024))),
    }
}

/// Our X25519, back end AWS-LC.
pub(crate) fn x25519(op: x25519::Op) -> Entry {
    x25519::entry(AUTO, op, || Ok(OurDh(dh::aws_lc::X25519)))
}

/// A shared secret of ours, as bytes.
struct Secret32(SharedSecret);

impl AsRef<[u8]> for Secret32 {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A back end of [`Kem`] whose public keys and ciphertexts have `P` and `C` bytes. The lengths are parameters so that the
/// caller's buffers can live on the stack, as a user's would.
struct OurKem<K, const P: usize, const C: usize>(K);

impl<K: Kem + 'static, const P: usize, const C: usize> ml_kem::MlKem for OurKem<K, P, C> {
    type Secret = K::Secret;
    type Public = K::Public;
    type Encoded = [u8; P];
    type Ciphertext = [u8; C];
    type Shared = Secret32;

    fn keygen(&self) -> Result<(Self::Secret, [u8; P]), ml_kem::Failed> {
        let (secret, public) = self.0.generate().map_err(|_| "candor's key generation failed")?;
        let mut encoded = [0; P];
        self.0.public_to_bytes(&public, &mut encoded).map_err(|_| "candor's public key has the wrong length")?;
        Ok((secret, encoded))
    }

    fn public(&self, encoded: &[u8]) -> Result<Self::Public, ml_kem::Failed> {
        self.0.public_from_bytes(encoded).map_err(|_| "candor refuses the public key")
    }

    fn encaps(&self, to: &Self::Public) -> Result<([u8; C], Secret32), ml_kem::Failed> {
        let mut ciphertext = [0; C];
        let shared = self.0.encapsulate(to, &mut ciphertext).map_err(|_| "candor's encapsulation failed")?;
        Ok((ciphertext, Secret32(shared)))
    }

    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Secret32, ml_kem::Failed> {
        self.0.decapsulate(with, ciphertext).map(Secret32).map_err(|_| "candor's decapsulation failed")
    }

    fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, ml_kem::Failed>> {
        Some(self.0.secret_from_bytes(expanded).map_err(|_| "candor refuses the secret key"))
    }

    fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>> {
        self.0.secret_to_bytes(secret).ok().map(|bytes| bytes.to_vec())
    }

    fn provenance(&self, op: ml_kem::Op) -> Provenance {
        let timed = match op {
            ml_kem::Op::Exchange => format!("{}; parsing checks the public key (FIPS 203 §7.2)", op.timed()),
            _ => op.timed().to_owned(),
        };
        let mut provenance = on_aws_lc("candor_primitives::kem::Kem", &timed);
        provenance.arm = Some(linked::aws_lc_ml_kem_arm().into());
        provenance
    }
}

/// A back end of [`DiffieHellman`].
struct OurDh<D>(D);

impl<D: DiffieHellman + 'static> x25519::X25519 for OurDh<D> {
    type Secret = D::Secret;
    type Encoded = [u8; 32];
    type Shared = Secret32;

    fn keygen(&self) -> Result<(Self::Secret, [u8; 32]), x25519::Failed> {
        self.0.generate().map_err(|_| "candor's key generation failed")
    }

    fn ecdh(&self, secret: &Self::Secret, peer: &[u8; 32]) -> Result<Secret32, x25519::Failed> {
        self.0.agree(secret, peer).map(Secret32).map_err(|_| "candor's agreement failed")
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<Self::Secret, x25519::Failed>> {
        Some(self.0.secret_from_bytes(bytes).map_err(|_| "candor refuses the private key"))
    }

    fn provenance(&self, op: x25519::Op) -> Provenance {
        on_aws_lc("candor_primitives::dh::DiffieHellman", op.timed())
    }
}

/// What all of candor's subjects say about themselves.
pub(crate) fn ours(timed: &str) -> Provenance {
    Provenance { build: Some(linked::build().to_owned()), ..Provenance::of("candor", env!("CARGO_PKG_VERSION"), timed) }
}

/// A subject on the back end AWS-LC, reached through `traits`.
pub(crate) fn on_aws_lc(traits: &str, timed: &str) -> Provenance {
    let (wrapper, wrapper_sum) = linked::package("aws-lc-rs");
    let (library, library_sum) = linked::package("aws-lc-sys");
    let ids =
        [linked::package_id("aws-lc-rs", wrapper, wrapper_sum), linked::package_id("aws-lc-sys", library, library_sum)];
    Provenance {
        commit: Some(ids.join(", ")),
        arm: Some("chosen by the back end at run time; AWS-LC does not tell which".into()),
        ..ours(&format!("{timed} (through {traits}, back end aws-lc-rs {wrapper} on aws-lc-sys {library})"))
    }
}
