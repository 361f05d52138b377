//! Which design the CPU is, by CPUID's vendor, family and model.

use crate::table::CHOICES;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A CPU design, such as Zen 5: what decides which of several arms is the fastest. The table of arms ([`arms::TABLE`](crate::arms::TABLE))
/// names those that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Microarchitecture(u8);

/// The answer of [`Microarchitecture::here`] and one, once it is known.
static HERE: AtomicUsize = AtomicUsize::new(0);

impl Microarchitecture {
    /// Every CPU that the table does not know.
    pub const UNKNOWN: Self = Self(0);

    /// That of this machine.
    pub fn here() -> Self {
        match HERE.load(Ordering::Relaxed) {
            0 => {
                let found = detect(); // a concurrent first call finds the same
                HERE.store(found.index() + 1, Ordering::Relaxed);
                found
            }
            known => Self((known - 1) as u8),
        }
    }

    /// That of a CPU with this vendor (`AuthenticAMD`), family and model, as CPUID and /proc/cpuinfo have them.
    #[must_use]
    pub fn of(vendor: &str, family: u32, model: u32) -> Self {
        Self(CHOICES.find(vendor, family, model) as u8)
    }

    /// The one with this name in the table.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|cpu| cpu.name() == name)
    }

    /// All that the table knows, [`UNKNOWN`](Self::UNKNOWN) first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..CHOICES.cpus() as u8).map(Self)
    }

    /// `zen5`, `ice-lake`, …, `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        CHOICES.name(self.index())
    }

    /// Its place in the table.
    #[inline(always)]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The one at this place.
    #[inline(always)]
    pub(crate) const fn at(index: u8) -> Self {
        Self(index)
    }
}

impl fmt::Display for Microarchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// CPUID faults inside SGX enclaves.
#[cfg(all(target_arch = "x86_64", not(target_env = "sgx")))]
fn detect() -> Microarchitecture {
    let leaf = |leaf| {
        let found = core::arch::x86_64::__cpuid(leaf);
        [found.eax, found.ebx, found.ecx, found.edx]
    };
    identify(leaf(0), leaf(1))
}

#[cfg(not(all(target_arch = "x86_64", not(target_env = "sgx"))))]
fn detect() -> Microarchitecture {
    Microarchitecture::UNKNOWN
}

/// From CPUID's leaves 0 and 1 (eax, ebx, ecx, edx).
#[cfg_attr(not(all(target_arch = "x86_64", not(target_env = "sgx"))), allow(dead_code))] // only tests call it there
fn identify([_, b, c, d]: [u32; 4], [signature, ..]: [u32; 4]) -> Microarchitecture {
    let words = [b, d, c].map(u32::to_le_bytes);
    let Ok(vendor) = core::str::from_utf8(words.as_flattened()) else { return Microarchitecture::UNKNOWN };
    // Stepping, model, family, two bits of type, two reserved; then the extensions of model and family.
    let (family, model) = (signature >> 8 & 0xf, signature >> 4 & 0xf);
    let (more_family, more_model) = (signature >> 20 & 0xff, signature >> 16 & 0xf);
    let whole_model = if matches!(family, 6 | 15) { more_model << 4 | model } else { model };
    let whole_family = if family == 15 { family + more_family } else { family };
    Microarchitecture::of(vendor, whole_family, whole_model)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf0(vendor: &[u8; 12]) -> [u32; 4] {
        let word = |i: usize| u32::from_le_bytes(vendor[4 * i..4 * i + 4].try_into().unwrap());
        [16, word(0), word(2), word(1)]
    }

    fn name(vendor: &[u8; 12], signature: u32) -> &'static str {
        identify(leaf0(vendor), [signature, 0, 0, 0]).name()
    }

    #[test]
    fn cpuid_signatures_are_named() {
        // Signatures as AMD's and Intel's documents and the kernel's lists have them.
        for (signature, expected) in [
            (0x0080_0f12, "zen1"),     // 17h, model 01h: Naples
            (0x0083_0f10, "zen2"),     // 17h, 31h: Rome
            (0x00a0_0f11, "zen3"),     // 19h, 01h: Milan
            (0x00a1_0f11, "zen4"),     // 19h, 11h: Genoa
            (0x00a6_0f12, "zen4"),     // 19h, 61h: Raphael
            (0x00b0_0f21, "zen5"),     // 1Ah, 02h: Turin
            (0x00b4_0f40, "zen5"),     // 1Ah, 44h: Granite Ridge
            (0x00b2_0f40, "zen5-256"), // 1Ah, 24h: Strix Point
            (0x00b6_0f00, "zen5-256"), // 1Ah, 60h: Krackan
            (0x00b7_0f00, "zen5"),     // 1Ah, 70h: Strix Halo
            (0x00b5_0f00, "unknown"),  // 1Ah, 50h: what comes after
            (0x00c0_0f00, "unknown"),  // family 1Bh
        ] {
            assert_eq!(name(b"AuthenticAMD", signature), expected, "{signature:08x}");
        }
        for (signature, expected) in [
            (0x0003_06c3, "haswell"),
            (0x0004_06e3, "skylake"),
            (0x0005_0654, "skylake"), // model 55h: Skylake-X
            (0x0006_06a6, "ice-lake"),
            (0x0008_06f8, "sapphire-rapids"),
            (0x000a_06d0, "granite-rapids"),
            (0x0002_06a7, "unknown"), // Sandy Bridge
        ] {
            assert_eq!(name(b"GenuineIntel", signature), expected, "{signature:08x}");
        }
    }

    #[test]
    fn a_vendor_that_is_not_text_or_not_known_is_unknown() {
        assert_eq!(name(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0x00b0_0f21), "unknown");
        assert_eq!(name(b"HygonGenuine", 0x00a0_0f11), "unknown");
    }

    #[test]
    fn names_are_unique_and_found_again() {
        let all: Vec<_> = Microarchitecture::all().collect();
        assert_eq!(all[0], Microarchitecture::UNKNOWN);
        for cpu in all {
            assert_eq!(Microarchitecture::named(cpu.name()), Some(cpu));
        }
        assert_eq!(Microarchitecture::named("zen99"), None);
    }

    #[test]
    fn this_machine_is_the_same_each_time() {
        assert_eq!(Microarchitecture::here(), Microarchitecture::here());
    }
}
