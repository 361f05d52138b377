//! What instructions a subject used, by samples of where its call was, and not by what a library says that it sees.
//!
//! A watched call is interrupted about 250 times. Each place at which it was counts for the kinds of instructions that stand there and in the few that follow.

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod decode;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod watch;

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
pub(crate) use watch::watch;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Whether subjects are watched on this system.
pub(crate) const WATCHES: bool = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));

/// Elsewhere none is.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
pub(crate) fn watch(_: &mut dyn crate::Subject, _: f64) -> Used {
    Used::Skipped("subjects are watched on x86-64 Linux only".into())
}

/// The most samples of a subject.
pub(crate) const MOST_SAMPLES: usize = 1024;

/// With fewer samples of its own code, nothing is said of a subject.
const FEWEST: u64 = 50;

/// A kind of instructions. The first four exclude all others: a sample counts for one of them, or for as many of the rest as stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// In the C library, the loader or the kernel's own page, or waiting for the kernel: copies, allocations, system calls.
    Libc,
    /// At bytes that could not be read or are no instruction.
    Unreadable,
    /// General registers alone.
    Scalar,
    /// Vectors of 128 bits as any x86-64 CPU has them, encoded as before AVX.
    Sse,
    /// Vectors of 128 bits, encoded as AVX.
    Avx,
    /// Vectors of 256 bits: AVX and AVX2.
    Avx2,
    /// Whatever is encoded as AVX-512, in vectors of any length, and its masks.
    Avx512,
    /// SHA-1 and SHA-256.
    Sha,
    /// SHA-512.
    Sha512,
    /// SM3.
    Sm3,
    /// SM4.
    Sm4,
    /// A round of AES in 128 bits.
    Aes,
    /// Rounds of AES in several lanes.
    Vaes,
    /// A carry-less product.
    Pclmul,
    /// Carry-less products in several lanes.
    Vpclmul,
    /// Affine maps and products in the field of AES.
    Gfni,
    /// Products of 52 bits.
    Ifma,
    /// Permutations and shifts of bytes and words: AVX-512 VBMI and VBMI2.
    Vbmi,
    /// ADCX, ADOX or MULX: long integers.
    Adx,
}

impl Kind {
    /// The kinds that exclude all others.
    const PLAIN: [Self; 4] = [Self::Libc, Self::Unreadable, Self::Scalar, Self::Sse];

    /// The name that files and tables show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Libc => "libc",
            Self::Unreadable => "unreadable",
            Self::Scalar => "scalar",
            Self::Sse => "sse",
            Self::Avx => "avx",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Sha => "sha",
            Self::Sha512 => "sha512",
            Self::Sm3 => "sm3",
            Self::Sm4 => "sm4",
            Self::Aes => "aes",
            Self::Vaes => "vaes",
            Self::Pclmul => "pclmul",
            Self::Vpclmul => "vpclmul",
            Self::Gfni => "gfni",
            Self::Ifma => "ifma",
            Self::Vbmi => "vbmi",
            Self::Adx => "adx",
        }
    }

    fn is_plain(self) -> bool {
        Self::PLAIN.contains(&self)
    }

    /// Whether code that uses it a lot shows that others could: AVX in 128 bits is no reason to be faster than SSE.
    fn is_witness(self) -> bool {
        !self.is_plain() && self != Self::Avx
    }

    /// The features, as the kernel names them, of which a CPU that has such instructions has one. None for those that no list of ours has, or that CPUs without
    /// AVX-512 may have under another name.
    const fn features(self) -> &'static [&'static str] {
        match self {
            Self::Avx2 => &["avx2"],
            Self::Avx512 => &["avx512f"],
            Self::Sha => &["sha_ni"],
            Self::Aes => &["aes"],
            Self::Vaes => &["vaes"],
            Self::Pclmul => &["pclmulqdq"],
            Self::Vpclmul => &["vpclmulqdq"],
            Self::Gfni => &["gfni"],
            Self::Vbmi => &["avx512vbmi"],
            Self::Adx => &["adx", "bmi2"],
            _ => &[],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of the instructions of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Used {
    /// Its call was sampled.
    Sampled(Samples),
    /// It was not watched: says why.
    Skipped(String),
}

/// How often a call was seen where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// How many times it was interrupted.
    pub samples: u64,
    /// How many of these count for each kind.
    pub kinds: BTreeMap<Kind, u64>,
}

impl Used {
    /// The samples, if there are any.
    #[must_use]
    pub fn samples(&self) -> Option<&Samples> {
        match self {
            Self::Sampled(samples) => Some(samples),
            Self::Skipped(_) => None,
        }
    }

    /// Whether these counts can come from a call that was watched on a CPU with these features.
    pub(crate) fn check(&self, features: &[String]) -> Result<(), String> {
        self.samples().map_or(Ok(()), |samples| samples.check(features))
    }
}

impl fmt::Display for Used {
    /// `sha 97 %, sse 2 %`, the most frequent first; what makes less than 2 % is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples = match self {
            Self::Sampled(samples) => samples,
            Self::Skipped(why) => return write!(f, "not watched: {why}"),
        };
        let mut kinds: Vec<(Kind, u64)> = samples.kinds.iter().map(|(&kind, &count)| (kind, count)).collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds.retain(|(_, count)| count.saturating_mul(50) >= samples.samples);
        let shares = kinds.iter().map(|(kind, count)| format!("{kind} {} %", percent(*count, samples.samples)));
        f.write_str(&shares.collect::<Vec<_>>().join(", "))
    }
}

impl Samples {
    /// Counts a place at which instructions of these kinds stand.
    #[cfg(any(test, all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
    fn add(&mut self, kinds: impl IntoIterator<Item = Kind>) {
        self.samples += 1;
        for kind in kinds {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    fn count(&self, kind: Kind) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or(0)
    }

    /// The samples of code that can be read and is not the C library's.
    fn own(&self) -> u64 {
        self.samples.saturating_sub(self.count(Kind::Libc)).saturating_sub(self.count(Kind::Unreadable))
    }

    /// Those of them that have more than general registers and SSE.
    fn special(&self) -> u64 {
        self.own().saturating_sub(self.count(Kind::Scalar)).saturating_sub(self.count(Kind::Sse))
    }

    /// What shows that a faster one used instructions that this one, which is portable code, did not. `None` if there are too few samples of either.
    #[must_use]
    pub fn misses(&self, faster: &Self) -> Option<String> {
        let (own, special) = (self.own(), self.special());
        if own < FEWEST || faster.own() < FEWEST || special.saturating_mul(50) >= own {
            return None;
        }
        let witnesses = faster.kinds.iter().filter(|(kind, _)| kind.is_witness());
        let (kind, count) = witnesses.max_by_key(|(_, count)| **count)?;
        (count.saturating_mul(2) >= faster.own()).then(|| {
            format!(
                "{special} of {own} samples are beyond scalar code and SSE; {kind} is in {} %",
                percent(*count, faster.own())
            )
        })
    }

    fn check(&self, features: &[String]) -> Result<(), String> {
        let Self { samples, kinds } = self;
        if !(1..=MOST_SAMPLES as u64).contains(samples) {
            return Err(format!("{samples} samples of what was used; expected 1 to {MOST_SAMPLES}"));
        }
        if let Some((kind, count)) = kinds.iter().find(|(_, count)| !(1..=*samples).contains(count)) {
            return Err(format!("{kind} is said to be in {count} of {samples} samples"));
        }
        let sum = |plain: bool| {
            kinds.iter().filter(|(kind, _)| kind.is_plain() == plain).map(|(_, count)| count).sum::<u64>()
        };
        let (plain, special) = (sum(true), sum(false));
        let most = kinds.iter().filter(|(kind, _)| !kind.is_plain()).map(|(_, count)| *count).max().unwrap_or(0);
        // What is in no plain kind is in one or more of the others.
        let rest = samples.checked_sub(plain);
        if rest.is_none_or(|rest| most > rest || special < rest) {
            return Err(format!("the kinds of instructions don't add up to {samples} samples"));
        }
        let lacks = |kind: &Kind| {
            let any = kind.features();
            !any.is_empty() && !features.iter().any(|has| any.contains(&has.as_str()))
        };
        match kinds.keys().find(|kind| lacks(kind)) {
            Some(kind) => Err(format!("{kind} is said to be used, and the machine's features don't have it")),
            None => Ok(()),
        }
    }
}

fn percent(count: u64, of: u64) -> String {
    format!("{:.0}", count as f64 * 100.0 / of.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(samples: u64, kinds: &[(Kind, u64)]) -> Samples {
        Samples { samples, kinds: kinds.iter().copied().collect() }
    }

    fn all_features() -> Vec<String> {
        let all = ["avx2", "avx512f", "sha_ni", "aes", "vaes", "pclmulqdq", "vpclmulqdq", "gfni", "avx512vbmi", "adx"];
        all.map(str::to_owned).into()
    }

    #[test]
    fn portable_code_beside_faster_special_code_misses_it() {
        let portable = samples(200, &[(Kind::Scalar, 150), (Kind::Sse, 47), (Kind::Avx2, 3)]);
        let sha = samples(200, &[(Kind::Sha, 180), (Kind::Sse, 20)]);
        let text = portable.misses(&sha).unwrap();
        assert_eq!(text, "3 of 200 samples are beyond scalar code and SSE; sha is in 90 %");
        // One sample more is a fiftieth: code that uses something of the kind, if little.
        assert_eq!(samples(200, &[(Kind::Scalar, 149), (Kind::Sse, 47), (Kind::Avx2, 4)]).misses(&sha), None);
        assert_eq!(sha.misses(&sha), None);
        assert_eq!(sha.misses(&portable), None);
    }

    #[test]
    fn a_faster_one_that_seldom_uses_it_shows_nothing() {
        let portable = samples(100, &[(Kind::Scalar, 100)]);
        let faster = |avx2| samples(100, &[(Kind::Scalar, 100 - avx2), (Kind::Avx2, avx2)]);
        assert!(portable.misses(&faster(50)).is_some());
        assert_eq!(portable.misses(&faster(49)), None);
        assert_eq!(portable.misses(&samples(100, &[(Kind::Avx, 100)])), None, "128 bits");
    }

    /// A call that mostly waits or copies says little of what computes.
    #[test]
    fn samples_in_the_c_library_count_for_nothing() {
        let sha = samples(100, &[(Kind::Libc, 40), (Kind::Sha, 40), (Kind::Scalar, 20)]);
        let portable = |scalar| samples(1000, &[(Kind::Libc, 1000 - scalar), (Kind::Scalar, scalar)]);
        assert!(portable(50).misses(&sha).is_some(), "of its own code the faster one has two thirds there");
        assert_eq!(portable(49).misses(&sha), None, "too few");
        let few = samples(60, &[(Kind::Libc, 11), (Kind::Sha, 49)]);
        assert_eq!(portable(500).misses(&few), None, "too few of the faster one");
    }

    #[test]
    fn the_line_has_what_is_frequent() {
        let sampled = samples(200, &[(Kind::Vaes, 150), (Kind::Avx512, 180), (Kind::Libc, 4), (Kind::Scalar, 3)]);
        assert_eq!(Used::Sampled(sampled).to_string(), "avx512 90 %, vaes 75 %, libc 2 %");
        assert_eq!(Used::Skipped("simulated".into()).to_string(), "not watched: simulated");
    }

    #[test]
    fn counts_that_no_call_has_are_refused() {
        let features = all_features();
        for good in [
            samples(100, &[(Kind::Sha, 80), (Kind::Scalar, 20)]),
            samples(100, &[(Kind::Vaes, 80), (Kind::Avx512, 90), (Kind::Sse, 10)]),
            samples(1, &[(Kind::Ifma, 1)]),
            samples(1024, &[(Kind::Libc, 1024)]),
        ] {
            assert_eq!(good.check(&features), Ok(()), "{good:?}");
        }
        for (bad, why) in [
            (samples(0, &[]), "0 samples"),
            (samples(1025, &[(Kind::Scalar, 1025)]), "1025 samples"),
            (samples(100, &[]), "don't add up"),
            (samples(100, &[(Kind::Scalar, 101)]), "in 101 of 100"),
            (samples(100, &[(Kind::Scalar, 100), (Kind::Sha, 0)]), "in 0 of 100"),
            (samples(100, &[(Kind::Scalar, 60), (Kind::Sse, 60)]), "don't add up"),
            (samples(100, &[(Kind::Scalar, 60), (Kind::Sha, 41)]), "don't add up"),
            (samples(100, &[(Kind::Scalar, 60), (Kind::Sha, 39)]), "don't add up"),
            (samples(100, &[(Kind::Scalar, 60), (Kind::Vaes, 20), (Kind::Avx2, 19)]), "don't add up"),
        ] {
            let found = bad.check(&features).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
    }

    #[test]
    fn what_the_cpu_lacks_was_not_used() {
        let gfni = samples(10, &[(Kind::Gfni, 10), (Kind::Avx512, 10)]);
        assert_eq!(gfni.check(&all_features()), Ok(()));
        let without: Vec<String> = all_features().into_iter().filter(|feature| feature != "gfni").collect();
        assert!(gfni.check(&without).unwrap_err().starts_with("gfni is said to be used"));
        let mulx = samples(10, &[(Kind::Adx, 10)]);
        assert_eq!(mulx.check(&["bmi2".to_owned()]), Ok(()));
    }

    #[test]
    fn a_record_is_read_as_written_and_nothing_else() {
        let used = Used::Sampled(samples(3, &[(Kind::Avx512, 2), (Kind::Scalar, 1)]));
        let written = serde_json::to_string(&used).unwrap();
        assert_eq!(written, r#"{"sampled":{"samples":3,"kinds":{"scalar":1,"avx512":2}}}"#);
        assert_eq!(serde_json::from_str::<Used>(&written).unwrap(), used);
        for other in
            [written.replace("avx512", "mmx"), written.replace("samples", "count"), written.replace("2}", "-2}")]
        {
            assert!(serde_json::from_str::<Used>(&other).is_err(), "{other}");
        }
    }

    proptest! {
        /// Whatever a file says, the rule answers, and the reader judges.
        #[test]
        fn no_counts_make_it_panic(of in any::<u64>(), counts in prop::collection::vec((0..19_usize, any::<u64>()), 0..6)) {
            let all = Kind::PLAIN.into_iter().chain([
                Kind::Avx, Kind::Avx2, Kind::Avx512, Kind::Sha, Kind::Sha512, Kind::Sm3, Kind::Sm4, Kind::Aes, Kind::Vaes, Kind::Pclmul,
                Kind::Vpclmul, Kind::Gfni, Kind::Ifma, Kind::Vbmi, Kind::Adx,
            ]);
            let all: Vec<Kind> = all.collect();
            let some = Samples { samples: of, kinds: counts.iter().map(|&(kind, count)| (all[kind], count)).collect() };
            let _ = (some.check(&all_features()), some.misses(&some), Used::Sampled(some).to_string());
        }
    }
}
