//! Tiers: names for sets of groups, from nothing to everything.

use crate::token::*;

/// A named set of feature groups. `CANDOR_CPU` takes these names, and subjects carry them: `candor@avx2`.
#[derive(Debug)]
pub struct Tier {
    /// The name, as typed by users.
    pub name: &'static str,
    /// The instructions that it stands for, in one line.
    pub what: &'static str,
    pub(crate) groups: u32,
}

const CLMUL: u32 = HaveClmul::BIT;
const AVX2: u32 = CLMUL | HaveAvx2::BIT;
const ADX: u32 = AVX2 | HaveAdx::BIT;
const VPCLMUL: u32 = ADX | HaveSha::BIT | HaveVpclmul::BIT;
const GFNI: u32 = VPCLMUL | HaveGfni::BIT;

/// All groups of x86-64.
pub(crate) const X86_64: u32 = GFNI | HaveAvx512Crypto::BIT | HaveAvx512Ifma::BIT;
/// All groups of AArch64.
const AARCH64: u32 = HavePmull::BIT | HaveArmSha2::BIT;
/// All groups of RISC-V.
const RISCV64: u32 = HaveZbc::BIT;

/// All groups of the architecture that these belong to; none for none.
pub(crate) const fn architecture(groups: u32) -> u32 {
    if groups & X86_64 != 0 {
        X86_64
    } else if groups & AARCH64 != 0 {
        AARCH64
    } else {
        groups & RISCV64
    }
}

/// All tiers, of all architectures, each architecture from least to most.
pub const TIERS: &[Tier] = &[
    Tier { name: "portable", what: "no special instructions", groups: 0 },
    Tier { name: "clmul", what: "x86-64: PCLMULQDQ, AES-NI, SSE4.1", groups: CLMUL },
    Tier { name: "sha", what: "x86-64: clmul and the SHA instructions", groups: CLMUL | HaveSha::BIT },
    Tier { name: "avx2", what: "x86-64: clmul, AVX2, BMI", groups: AVX2 },
    Tier { name: "adx", what: "x86-64: avx2, ADX", groups: ADX },
    Tier { name: "vpclmul", what: "x86-64: adx, sha, VPCLMULQDQ and VAES on 256 bits", groups: VPCLMUL },
    Tier { name: "gfni", what: "x86-64: vpclmul, GFNI on 256 bits", groups: GFNI },
    Tier { name: "avx512", what: "x86-64: gfni, AVX-512 with IFMA, VPCLMULQDQ and VAES on 512 bits", groups: X86_64 },
    Tier { name: "pmull", what: "AArch64: PMULL and AES", groups: HavePmull::BIT },
    Tier { name: "arm-sha2", what: "AArch64: pmull and the SHA-256 instructions", groups: AARCH64 },
    Tier { name: "zbc", what: "RISC-V: carry-less multiplication (Zbc)", groups: RISCV64 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tier_names_are_unique() {
        for (i, a) in TIERS.iter().enumerate() {
            assert!(TIERS[..i].iter().all(|b| b.name != a.name && b.groups != a.groups), "{}", a.name);
        }
    }

    #[test]
    fn every_tier_lies_within_its_architecture() {
        for tier in TIERS {
            let expected = match tier.what.split(':').next().unwrap() {
                "x86-64" => X86_64,
                "AArch64" => AARCH64,
                "RISC-V" => RISCV64,
                _ => 0,
            };
            assert_eq!(architecture(tier.groups), expected, "{}", tier.name);
            assert_eq!(tier.groups & !expected, 0, "{}", tier.name);
        }
    }
}
