//! Our X25519: AWS-LC behind our trait (`candor@auto`), and our own on each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::{AUTO, Secret32, on_aws_lc, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Provenance};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::x25519::{Failed, ManyX25519, Op, Pair, Several, X25519, entry, several_entry};
use candor_primitives::dh::{self, DiffieHellman};

/// By the back end AWS-LC.
pub(crate) fn by_aws_lc(op: Op) -> Entry {
    entry(AUTO, op, || Ok(Ours(dh::aws_lc::X25519, Source::AwsLc)))
}

/// Our own, on each arm.
pub(crate) fn own(op: Op) -> Vec<Entry> {
    let own = |(arm, cpu)| {
        entry(format!("candor@{arm}"), op, move || Ok(Ours(dh::x25519::X25519::with_cpu(cpu), Source::Own(arm))))
    };
    arms().into_iter().map(own).collect()
}

/// Several at once, on the arms that do more than one after another.
pub(crate) fn at_once(several: Several) -> Vec<Entry> {
    let own = |(arm, cpu)| {
        let name = format!("candor@{arm}+{}", if several == Several::Pair { "pair" } else { "batch" });
        several_entry(name, several, move || Ok(Ours(dh::x25519::X25519::with_cpu(cpu), Source::Own(arm))))
    };
    arms().into_iter().filter(|(arm, _)| *arm == "avx512").map(own).collect()
}

fn arms() -> Vec<(&'static str, Cpu)> {
    best_first(|cpu| dh::x25519::X25519::with_cpu(cpu).arm())
}

/// Whose code runs.
#[derive(Clone, Copy)]
enum Source {
    AwsLc,
    Own(&'static str),
}

/// A back end of [`DiffieHellman`].
struct Ours<D>(D, Source);

impl<D: DiffieHellman + 'static> X25519 for Ours<D> {
    type Secret = D::Secret;
    type Encoded = [u8; 32];
    type Shared = Secret32;

    fn keygen(&self) -> Result<(Self::Secret, [u8; 32]), Failed> {
        self.0.generate().map_err(|_| "candor's key generation failed")
    }

    fn ecdh(&self, secret: &Self::Secret, peer: &[u8; 32]) -> Result<Secret32, Failed> {
        self.0.agree(secret, peer).map(Secret32).map_err(|_| AGREEMENT)
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<Self::Secret, Failed>> {
        Some(self.0.secret_from_bytes(bytes).map_err(|_| "candor refuses the private key"))
    }

    fn provenance(&self, op: Op) -> Provenance {
        const TRAIT: &str = "candor_primitives::dh::DiffieHellman";
        match self.1 {
            Source::AwsLc => on_aws_lc(TRAIT, op.timed()),
            Source::Own(arm) => {
                let told = ours(&format!("{} (through {TRAIT}, our own implementation)", op.timed()));
                let draws = (op == Op::Keygen).then_some(BY_SYSTEM_CALL);
                Provenance { arm: Some(arm.into()), ..told.telling(draws) }
            }
        }
    }
}

impl<D: DiffieHellman + 'static> ManyX25519 for Ours<D> {
    fn keygen_many(&self, count: usize) -> Result<Vec<Pair<Self>>, Failed> {
        self.0.generate_many(count).map_err(|_| "candor's key generation failed")
    }

    fn ecdh_many(&self, pairs: &[(&Self::Secret, &[u8; 32])]) -> Result<Vec<Secret32>, Failed> {
        let shared = match *pairs {
            [a, b] => self.0.agree_pair([a, b]).into(),
            _ => self.0.agree_many(pairs),
        };
        shared.into_iter().map(|shared| shared.map(Secret32).map_err(|_| AGREEMENT)).collect()
    }
}

const AGREEMENT: &str = "candor's agreement failed";
