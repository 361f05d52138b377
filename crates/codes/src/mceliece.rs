//! Classic McEliece: key encapsulation from binary Goppa codes (submission to round 4 of NIST's competition, specification of 2022-10-23).
//!
//! Not public yet: key generation, encapsulation and decapsulation come together here, part by part.
#![allow(dead_code, unused_imports, reason = "the parts land before the interface that uses them")]

mod arm_mux;
mod benes;
mod control;
mod decode;
mod encode;
mod generate;
mod parameters;
mod permutation;
mod polynomial;
mod sort;
mod systematic;
mod transform;
mod weight;

pub(crate) use crate::kernels::mceliece::field;

#[cfg(test)]
mod tests {
    use super::arm_mux::Arm;
    use candor_cpu::Cpu;
    use std::vec::Vec;

    /// The arms of this CPU, the best first.
    pub(crate) fn arms() -> Vec<Arm> {
        let best = Arm::choose(Cpu::default());
        if matches!(best, Arm::Portable) { [best].into() } else { [best, Arm::Portable].into() }
    }

    /// SplitMix64 from a seed.
    pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_add(0x9e3779b97f4a7c15);
            let mut word = state;
            word = (word ^ word >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d049bb133111eb);
            word ^ word >> 31
        }
    }
}
