//! How Reed–Solomon decoding multiplies in GF(2⁸).

use super::arm_mux::Arm;
use crate::kernels::symbols::{Loop, OnePass, Taps};
use crate::kernels::{Set, reed_solomon_decode_singly};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::symbols::Clmul;
use candor_cpu::{Cpu, HaveClmul, secret};

/// How symbols are multiplied when a Reed–Solomon word is corrected. All but [`Lanes`](Self::Lanes) are there to be measured: they multiply one by
/// one, and the constant-time gate does not have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolProduct {
    /// All symbols at once, bit by bit: what a new [`Hqc`](super::Hqc) does.
    Lanes,
    /// Shifting and adding, and two rounds of a loop over the modulus' terms: the reduction of round 4's reference code.
    Loop,
    /// The same with the terms written out: the reference code's reduction since 2025.
    Taps,
    /// The same with one round, which feeds back first what the modulus' terms throw above x⁷.
    OnePass,
    /// One carry-less multiplication, reduced in one round.
    Clmul,
}

/// The same with the proof of its instructions.
#[derive(Clone, Copy)]
pub(super) enum Symbols {
    Lanes,
    Loop,
    Taps,
    OnePass,
    Clmul(HaveClmul),
}

impl Symbols {
    /// Nothing if `cpu` lacks the instruction.
    pub(super) fn choose(cpu: Cpu, product: SymbolProduct) -> Option<Self> {
        Some(match product {
            SymbolProduct::Lanes => Self::Lanes,
            SymbolProduct::Loop => Self::Loop,
            SymbolProduct::Taps => Self::Taps,
            SymbolProduct::OnePass => Self::OnePass,
            SymbolProduct::Clmul => Self::Clmul(HaveClmul::check(cpu)?),
        })
    }

    /// Corrects a Reed–Solomon word, in lanes on the arm.
    pub(super) fn correct(self, arm: Arm, set: Set, word: &mut [u8]) {
        match self {
            Self::Lanes => return arm.reed_solomon_decode(set, word),
            Self::Loop => reed_solomon_decode_singly(Loop, set, word),
            Self::Taps => reed_solomon_decode_singly(Taps, set, word),
            Self::OnePass => reed_solomon_decode_singly(OnePass, set, word),
            #[cfg(target_arch = "x86_64")]
            Self::Clmul(token) => reed_solomon_decode_singly(Clmul(token), set, word),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Clmul(_) => reed_solomon_decode_singly(OnePass, set, word),
        }
        secret::ran("hqc-code", "singly");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_the_one_that_was_asked_for() {
        let chosen = |cpu, product| Symbols::choose(cpu, product);
        let portable = Cpu::portable();
        assert!(matches!(chosen(portable, SymbolProduct::Lanes), Some(Symbols::Lanes)));
        assert!(matches!(chosen(portable, SymbolProduct::Loop), Some(Symbols::Loop)));
        assert!(matches!(chosen(portable, SymbolProduct::Taps), Some(Symbols::Taps)));
        assert!(matches!(chosen(portable, SymbolProduct::OnePass), Some(Symbols::OnePass)));
        assert!(chosen(portable, SymbolProduct::Clmul).is_none(), "a CPU without the instruction");
        if HaveClmul::check(Cpu::host()).is_some() {
            assert!(matches!(chosen(Cpu::host(), SymbolProduct::Clmul), Some(Symbols::Clmul(_))));
        }
    }
}
