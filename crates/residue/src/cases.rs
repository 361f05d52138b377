//! The cases. To look at another operation, add a step to a case of its family.

mod aead;
mod aes;
mod controls;
mod ec;
mod ed25519;
mod gf2;
mod handshake;
mod hash;
mod hqc;
mod kem;
mod ksf;
mod layer;
mod mceliece;
mod opaque;
mod polyval;
mod rsa;
mod sm2;
mod sm4;
mod suite;
mod upgrade;

use crate::case::{Case, Expect, Leaves};
use crate::probe::Probe;
use candor_cpu::Cpu;

/// All of them, the controls first: without them the rest shows nothing.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = controls::cases();
    cases.extend(aes::cases());
    cases.extend(polyval::cases());
    cases.extend(sm4::cases());
    cases.extend(aead::cases());
    cases.extend(hash::cases());
    cases.extend(ksf::cases());
    cases.extend(kem::cases());
    cases.extend(ec::cases());
    cases.push(ed25519::case());
    cases.extend(rsa::cases());
    cases.extend(sm2::cases());
    cases.extend(suite::cases());
    cases.extend(layer::cases());
    cases.extend(handshake::cases());
    cases.extend(upgrade::cases());
    cases.extend(opaque::cases());
    cases.extend(gf2::cases());
    cases.extend(hqc::cases());
    cases.extend(mceliece::cases());
    cases
}

/// A case that runs on one tier and leaves nothing but what is listed.
fn on(tier: &'static str, what: &str, run: fn(&mut Probe, Cpu), leaves: &'static [Leaves]) -> Case {
    Case { name: format!("{what}@{tier}"), tier, expect: Expect::Nothing, leaves, unstable: 0, run }
}

/// The same on each of these tiers.
fn on_each(tiers: &[&'static str], what: &str, run: fn(&mut Probe, Cpu), leaves: &'static [Leaves]) -> Vec<Case> {
    tiers.iter().map(|tier| on(tier, what, run, leaves)).collect()
}

/// One that chooses its code itself.
fn anywhere(what: &str, run: fn(&mut Probe, Cpu), leaves: &'static [Leaves]) -> Case {
    Case { name: what.to_owned(), tier: "portable", expect: Expect::Nothing, leaves, unstable: 0, run }
}
