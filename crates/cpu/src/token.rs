//! Groups of CPU features, and a proof token for each.
//!
//! A group is a set of features that a routine needs together. One bit of [`Cpu`] stands for a group.

use crate::Cpu;

macro_rules! groups {
    ($($(#[$doc:meta])* $token:ident, $bit:expr, $arch:literal, $detect:ident, [$($feature:tt),+];)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $token(());

            impl $token {
                pub(crate) const BIT: u32 = 1 << $bit;

                /// The features that this token proves, by the names that `target_feature` has for them.
                pub const FEATURES: &'static [&'static str] = &[$($feature),+];

                /// The token, if `cpu` may use this group. [`Cpu`] values hold only what a run-time check has found.
                #[inline(always)]
                pub fn check(cpu: Cpu) -> Option<Self> {
                    if cpu.groups() & Self::BIT != 0 { Some(Self(())) } else { None }
                }

                /// Each feature, and whether this machine has it.
                #[cfg(all(target_arch = $arch, feature = "std"))]
                fn features() -> [(&'static str, bool); Self::FEATURES.len()] {
                    [$(($feature, std::arch::$detect!($feature))),+]
                }

                #[cfg(all(target_arch = $arch, not(feature = "std")))]
                fn features() -> [(&'static str, bool); Self::FEATURES.len()] {
                    [$(($feature, cfg!(target_feature = $feature))),+]
                }

                #[cfg(not(target_arch = $arch))]
                fn features() -> [(&'static str, bool); Self::FEATURES.len()] {
                    [$(($feature, false)),+]
                }
            }
        )+

        /// All groups that this machine has.
        pub(crate) fn detect() -> u32 {
            let mut groups = 0;
            $(if $token::features().iter().all(|(_, here)| *here) { groups |= $token::BIT; })+
            groups
        }

        /// The first feature of these groups that this machine lacks.
        pub(crate) fn lacking(groups: u32) -> Option<&'static str> {
            $(if groups & $token::BIT != 0 && let Some((feature, _)) = $token::features().iter().find(|(_, here)| !here) {
                return Some(feature);
            })+
            None
        }
    };
}

groups! {
    /// x86-64: carry-less multiplication and AES on 128-bit registers, with the byte shuffles both need (Westmere, 2010).
    HaveClmul, 0, "x86_64", is_x86_feature_detected, ["ssse3", "sse4.1", "pclmulqdq", "aes"];
    /// x86-64: the SHA-1 and SHA-256 instructions, with SSE4.1 (Goldmont, Zen 1, Ice Lake).
    HaveSha, 1, "x86_64", is_x86_feature_detected, ["sha", "ssse3", "sse4.1"];
    /// x86-64: 256-bit integer vectors and the bit manipulation that came with them (Haswell, Zen 1).
    HaveAvx2, 2, "x86_64", is_x86_feature_detected, ["avx2", "bmi1", "bmi2"];
    /// x86-64: carry-less multiplication and AES on 256-bit registers (Ice Lake, Zen 3).
    HaveVpclmul, 3, "x86_64", is_x86_feature_detected, ["avx2", "vpclmulqdq", "vaes", "pclmulqdq", "aes"];
    /// x86-64: 512-bit integer vectors together with carry-less multiplication and AES on them (Ice Lake, Zen 4). CPUs with
    /// AVX-512 alone (Skylake-X) lack this group.
    HaveAvx512Crypto, 4, "x86_64", is_x86_feature_detected,
        ["avx512f", "avx512bw", "avx512dq", "avx512vl", "vpclmulqdq", "vaes", "pclmulqdq", "aes"];
    /// x86-64: affine maps and inverses in AES's field (GFNI), on 256-bit registers (Ice Lake, Zen 4).
    HaveGfni, 5, "x86_64", is_x86_feature_detected, ["avx2", "gfni"];
    /// x86-64: products of 52 bits on 512-bit registers (Ice Lake, Zen 4; every CPU that has the group before).
    HaveAvx512Ifma, 6, "x86_64", is_x86_feature_detected, ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512ifma"];
    /// x86-64: products and two chains of carries that leave each other's flags alone, on general registers (Broadwell, Zen 1).
    HaveAdx, 7, "x86_64", is_x86_feature_detected, ["bmi2", "adx"];
    /// AArch64: 64-bit polynomial multiplication and AES.
    HavePmull, 8, "aarch64", is_aarch64_feature_detected, ["neon", "aes"];
    /// AArch64: the SHA-256 instructions.
    HaveArmSha2, 9, "aarch64", is_aarch64_feature_detected, ["neon", "sha2"];
    /// RISC-V: carry-less multiplication of general registers. Detected through the kernel's `riscv_hwprobe`, which qemu-user
    /// lacks before 8.1; a program built with `-C target-feature=+zbc` counts as detected.
    HaveZbc, 12, "riscv64", is_riscv_feature_detected, ["zbc"];
}
