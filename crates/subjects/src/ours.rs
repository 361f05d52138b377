//! candor's own subjects: the products as their users call them, through their public traits.

pub(crate) mod aead;
pub(crate) mod c_abi;
pub(crate) mod cipher;
pub(crate) mod code_based;
pub(crate) mod create2;
pub(crate) mod ec;
pub(crate) mod file;
pub(crate) mod gf2;
pub(crate) mod gf2m;
pub(crate) mod gf2poly;
pub(crate) mod hash;
pub(crate) mod hqc;
pub(crate) mod insecure_seed;
pub(crate) mod ksf;
pub(crate) mod load;
pub(crate) mod login;
pub(crate) mod mceliece;
pub(crate) mod ml_kem;
pub(crate) mod ntor;
pub(crate) mod opaque;
pub(crate) mod oprf;
pub(crate) mod relays;
pub(crate) mod ristretto;
pub(crate) mod rsa;
pub(crate) mod sm2;
pub(crate) mod sparse;
pub(crate) mod steps;
mod thread;
pub(crate) mod town;
pub(crate) mod transfer;
pub(crate) mod x25519;

pub(crate) use ksf::argon2id;
pub(crate) use opaque::{HybridAnswer, HybridOpaque, hybrid_opaque, opaque, opaque_provenance, upload};
pub(crate) use oprf::oprf;
pub(crate) use ristretto::ristretto;

use candor_cpu::Cpu;
use candor_lab::{Habit, Provenance};
use candor_peers::linked;
use candor_primitives::SharedSecret;

/// `candor@auto`: the back end picks its own arm, so candor has no tiers here.
pub(crate) const AUTO: &str = "candor@auto";

/// The same code on AWS-LC, which picks its own arm.
pub(crate) const AUTO_AWS_LC: &str = "candor+aws-lc@auto";

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

/// A shared secret of ours, as bytes.
struct Secret32(SharedSecret);

impl AsRef<[u8]> for Secret32 {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// What our signatures over curves tell of their nonces.
const NONCE: (Habit, &str) = (
    Habit::DrawsFromStore,
    "the nonce from the key, the digest and 32 bytes of a store that the system fills for sixteen",
);

/// What all of candor's subjects say about themselves.
pub(crate) fn ours(timed: &str) -> Provenance {
    Provenance { build: Some(linked::build().to_owned()), ..Provenance::of("candor", env!("CARGO_PKG_VERSION"), timed) }
}

/// A subject whose links and signatures are AWS-LC's and whose handshakes are our own, reached through `traits`.
pub(crate) fn on_links(traits: &str, timed: &str) -> Provenance {
    Provenance {
        arm: Some(
            "handshakes: our own ML-KEM and X25519 on their default arms; TLS: chosen by AWS-LC, which does not tell"
                .into(),
        ),
        ..on_aws_lc(traits, timed)
    }
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
