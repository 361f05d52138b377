//! The machine, and how quiet it is.
//!
//! The facts come from /proc and /sys; on systems without them the fields stay empty. Host name and user are left out on
//! purpose.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// What a reader needs to know about the machine to interpret a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// The CPU's model name.
    pub cpu: String,
    /// Vendor, family, model, stepping and microcode, which identify the silicon if the name does not.
    pub cpu_id: String,
    /// `x86_64`, `aarch64`.
    pub arch: String,
    /// Logical CPUs that this process may use.
    pub cpus: usize,
    /// The instruction-set extensions of the CPU that matter to cryptography.
    pub features: Vec<String>,
    /// Caches by name: `L1d`, `L2`, `L3`.
    pub caches: BTreeMap<String, String>,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Distribution.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Whether this is a virtual machine.
    pub virtual_machine: bool,
    /// The frequency governor, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether boost is on, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost: Option<bool>,
    /// Whether threads share cores, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt: Option<bool>,
    /// The kernel's clock source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
}

/// The features that are recorded, of all in /proc/cpuinfo.
const FEATURES: &[&str] = &[
    "aes",
    "pclmulqdq",
    "ssse3",
    "sse4_1",
    "avx2",
    "bmi2",
    "adx",
    "sha_ni",
    "vaes",
    "vpclmulqdq",
    "gfni",
    "avx512f",
    "avx512vl",
    "avx512_ifma",
    "avx512ifma",
    "avx512vbmi",
    "asimd",
    "pmull",
    "sha2",
    "sha3",
    "sha512",
    "sve",
    "sve2",
];

/// The kinds of CPU that have a name by family and model, which [`Machine::short_name`] gives them.
pub const MICROARCHITECTURES: [&str; 13] = [
    "zen1",
    "zen2",
    "zen3",
    "zen4",
    "zen5",
    "zen5-256",
    "haswell",
    "skylake",
    "ice-lake",
    "alder-lake",
    "sapphire-rapids",
    "emerald-rapids",
    "granite-rapids",
];

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let field = |name: &str| cpu_field(&cpuinfo, name).unwrap_or_default().to_owned();
        let flags = format!("{} {}", field("flags"), field("Features"));
        let id = ["vendor_id", "cpu family", "model", "stepping", "microcode", "CPU implementer", "CPU part"];
        let id = id.iter().filter_map(|name| Some(format!("{name} {}", cpu_field(&cpuinfo, name)?)));
        let meminfo = read("/proc/meminfo");
        let memory = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let release = read("/etc/os-release");
        let os = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        Self {
            cpu: field("model name"),
            cpu_id: id.collect::<Vec<_>>().join(", "),
            arch: std::env::consts::ARCH.to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            features: FEATURES
                .iter()
                .filter(|name| flags.split_whitespace().any(|flag| flag == **name))
                .map(|name| (*name).to_owned())
                .collect(),
            caches: caches(),
            memory_mib: memory.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024,
            os: os.map_or(std::env::consts::OS, |name| name.trim_matches('"')).to_owned(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            virtual_machine: flags.split_whitespace().any(|flag| flag == "hypervisor"),
            governor: setting("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            boost: setting("/sys/devices/system/cpu/cpufreq/boost").map(|value| value == "1"),
            smt: setting("/sys/devices/system/cpu/smt/active").map(|value| value == "1"),
            clocksource: setting("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        }
    }

    /// A machine of which only the CPU's name is known, as somebody tells it. Empty if not even that.
    #[must_use]
    pub fn told(cpu: &str) -> Self {
        Self { cpu: cpu.to_owned(), arch: "unknown".to_owned(), ..Self::default() }
    }

    /// Whether nothing but a name is known of it.
    fn is_told(&self) -> bool {
        self.cpus == 0
    }

    /// A word for file names: the microarchitecture if known, otherwise a short form of the model's name.
    pub fn short_name(&self) -> String {
        self.microarchitecture().map_or_else(|| self.former_short_name(), str::to_owned)
    }

    /// By family and model, one of [`MICROARCHITECTURES`]. Clouds give many designs of Intel the same model's name, "Xeon Processor".
    fn microarchitecture(&self) -> Option<&'static str> {
        // The same families and models as in `cpu`'s table of arms, which this crate can't use; a test in `subjects` compares the two. Emerald Rapids has
        // a name of its own here: its caches are larger than those of Sapphire Rapids, whose core it has.
        match (self.vendor()?, self.number("cpu family")?, self.number("model")?) {
            (Vendor::Amd, 23, 0x00..=0x2f | 0x50..=0x5f) => Some("zen1"),
            (Vendor::Amd, 23, 0x30..=0x4f | 0x60..=0x7f | 0x90..=0x91 | 0xa0..=0xaf) => Some("zen2"),
            (Vendor::Amd, 25, 0x00..=0x0f | 0x20..=0x5f) => Some("zen3"),
            (Vendor::Amd, 25, 0x10..=0x1f | 0x60..=0xaf) => Some("zen4"),
            (Vendor::Amd, 26, 0x00..=0x1f | 0x40..=0x4f | 0x70..=0x7f) => Some("zen5"),
            (Vendor::Amd, 26, 0x20..=0x2f | 0x60..=0x6f) => Some("zen5-256"), // its vector units are 256 bits wide
            (Vendor::Intel, 6, 0x3c | 0x3d | 0x3f | 0x45 | 0x46 | 0x47 | 0x4f | 0x56) => Some("haswell"),
            (Vendor::Intel, 6, 0x4e | 0x55 | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6) => Some("skylake"),
            (Vendor::Intel, 6, 0x6a | 0x6c | 0x7d | 0x7e | 0x8c | 0x8d | 0xa7) => Some("ice-lake"),
            (Vendor::Intel, 6, 0x97 | 0x9a | 0xb7 | 0xba | 0xbf) => Some("alder-lake"),
            (Vendor::Intel, 6, 0x8f) => Some("sapphire-rapids"),
            (Vendor::Intel, 6, 0xcf) => Some("emerald-rapids"),
            (Vendor::Intel, 6, 0xad | 0xae) => Some("granite-rapids"),
            _ => None,
        }
    }

    fn vendor(&self) -> Option<Vendor> {
        match self.identified("vendor_id")? {
            "AuthenticAMD" => Some(Vendor::Amd),
            "GenuineIntel" => Some(Vendor::Intel),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.identified(name)?.parse().ok()
    }

    /// A part of `cpu_id`.
    fn identified(&self, name: &str) -> Option<&str> {
        self.cpu_id.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' '))
    }

    /// The word that the names of early runs have for a CPU that is not one of AMD's: a short form of the model's name.
    pub(crate) fn former_short_name(&self) -> String {
        let noise = ["intel(r)", "xeon(r)", "core(tm)", "cpu", "@", "processor", "(r)", "(tm)"];
        let words = self.cpu.to_lowercase();
        let words = words.split_whitespace().filter(|word| !noise.contains(word) && !word.ends_with("ghz"));
        let slug = words.take(2).collect::<Vec<_>>().join("-");
        let slug: String = slug.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        if slug.is_empty() { self.arch.clone() } else { slug }
    }

    /// One line for the head of a report.
    pub fn line(&self) -> String {
        if self.is_told() {
            return if self.cpu.is_empty() { "unknown machine".into() } else { format!("{} (as told)", self.cpu) };
        }
        let cpu = if self.cpu.is_empty() { self.arch.as_str() } else { self.cpu.as_str() };
        let virtual_machine = if self.virtual_machine { ", virtual machine" } else { "" };
        format!("{cpu} ({}), {} CPUs{virtual_machine}, {}", self.short_name(), self.cpus, self.os)
    }

    /// Whether times measured on both machines can be compared.
    pub fn same_as(&self, other: &Self) -> bool {
        let is_known = !self.is_told() && !other.is_told();
        is_known && (&self.cpu, &self.cpu_id, &self.features) == (&other.cpu, &other.cpu_id, &other.features)
    }

    /// In what two machines of one kind differ all the same, each with what it is on this one and on the other.
    pub fn unlike(&self, other: &Self) -> Vec<(&'static str, String, String)> {
        let of = |machine: &Self| {
            let switch = |on: Option<bool>| on.map_or("unknown", |on| if on { "on" } else { "off" }).to_owned();
            [
                ("boost", switch(machine.boost)),
                ("governor", machine.governor.clone().unwrap_or("unknown".into())),
                ("threads that share cores", switch(machine.smt)),
                ("hypervisor", switch(Some(machine.virtual_machine))),
                ("number of CPUs", machine.cpus.to_string()),
            ]
        };
        let pairs = of(self).into_iter().zip(of(other));
        pairs.filter(|(one, two)| one != two).map(|((what, one), (_, two))| (what, one, two)).collect()
    }
}

/// Who makes the CPUs whose families and models are known here.
enum Vendor {
    Amd,
    Intel,
}

/// No machine has more logical CPUs.
const MOST_CPUS: usize = 1 << 16;

/// No machine has more processes that want to run.
const MOST_LOAD: f64 = 1e6;

/// What other processes did during some time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// The kernel's load average over one minute, at the end.
    pub load: f64,
    /// How many CPUs other processes used, on average.
    pub others_cpus: f64,
    /// The share of time that the hypervisor took, from 0 to 1.
    pub steal: f64,
}

impl Noise {
    /// Says which of the numbers can't be, on so many CPUs.
    pub(crate) fn impossible(&self, cpus: usize) -> Option<String> {
        let Self { load, others_cpus, steal } = *self;
        let within = |what: &str, found: f64, most: f64| {
            (!(0.0..=most).contains(&found)).then(|| format!("{what} is {found:e}; expected 0 to {most}"))
        };
        let of_others = "the number of CPUs that others used";
        // Others may have used CPUs that candor was not allowed to.
        within("the load", load, MOST_LOAD)
            .or_else(|| within(of_others, others_cpus, MOST_CPUS.max(cpus) as f64))
            .or_else(|| within("the share that the hypervisor took", steal, 1.0))
    }

    /// Whether it is likely to hide small differences.
    pub fn is_loud(&self) -> bool {
        self.others_cpus > 0.25 || self.steal > 0.02
    }

    /// Whether more processes wanted to run, at its end, than this machine has CPUs. `others_cpus` is a difference of two counters that can be too small,
    /// as where the kernel counts what waited-for children did before; the load is a number of its own. A run whose workers have one thread makes a load of one.
    pub fn is_loaded(&self, cpus: usize) -> bool {
        self.load > cpus.max(1) as f64
    }
}

/// A reading of the kernel's counters. The difference of two is a [`Noise`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    busy: u64,
    steal: u64,
    total: u64,
    own: u64,
}

impl Counters {
    /// The counters now.
    pub fn now() -> Self {
        let stat = read("/proc/stat");
        let ticks: Vec<u64> =
            stat.lines().next().unwrap_or("").split_whitespace().skip(1).map_while(|n| n.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal
        let at = |i: usize| ticks.get(i).copied().unwrap_or(0);
        let own = read("/proc/self/stat");
        // After the command's closing bracket: state, … utime is the 12th, stime 13th, then the waited-for children's.
        let own: u64 = own
            .rsplit(')')
            .next()
            .map_or(0, |rest| rest.split_whitespace().skip(11).take(4).filter_map(|n| n.parse::<u64>().ok()).sum());
        Self { busy: at(0) + at(1) + at(2) + at(5) + at(6), steal: at(7), total: (0..8).map(at).sum(), own }
    }

    /// What processes other than this one and its finished children did since `earlier`.
    pub fn since(self, earlier: Self) -> Noise {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let total = self.total.saturating_sub(earlier.total) as f64;
        let others = self.busy.saturating_sub(earlier.busy).saturating_sub(self.own.saturating_sub(earlier.own)) as f64;
        let load = read("/proc/loadavg").split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
        let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
        Noise {
            load,
            others_cpus: round(share(others) * cpus),
            steal: round(share(self.steal.saturating_sub(earlier.steal) as f64)),
        }
    }

    /// Hundredths of a second that the hypervisor took since `earlier`.
    pub fn steal_since(self, earlier: Self) -> u64 {
        self.steal.saturating_sub(earlier.steal)
    }
}

/// How often the kernel has taken the CPU away from this thread.
pub(crate) fn involuntary_switches() -> i64 {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches())
    }
    #[cfg(not(target_os = "linux"))]
    0
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn setting(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The first processor's value of a field of /proc/cpuinfo.
fn cpu_field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn caches() -> BTreeMap<String, String> {
    let mut caches = BTreeMap::new();
    for index in 0..8 {
        let directory = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let Some(level) = setting(&format!("{directory}/level")) else { break };
        let kind = match setting(&format!("{directory}/type")).as_deref() {
            Some("Data") => "d",
            Some("Instruction") => "i",
            _ => "",
        };
        caches.insert(format!("L{level}{kind}"), setting(&format!("{directory}/size")).unwrap_or_default());
    }
    caches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cpu: &str, id: &str) -> Machine {
        Machine { cpu: cpu.into(), cpu_id: id.into(), arch: "x86_64".into(), ..Machine::default() }
    }

    #[test]
    fn a_machine_that_was_only_told_is_the_same_as_none() {
        let told = Machine::told("A CPU");
        assert_eq!((told.line().as_str(), Machine::told("").line().as_str()), ("A CPU (as told)", "unknown machine"));
        assert!(!told.same_as(&told) && !Machine::told("").same_as(&Machine::told("")));
        let known = Machine { cpus: 2, ..told.clone() };
        assert!(known.same_as(&known) && !known.same_as(&told) && !told.same_as(&known));
    }

    #[test]
    fn machines_of_one_kind_may_differ_in_how_they_are_set() {
        let one = Machine { boost: Some(true), governor: Some("performance".into()), cpus: 4, ..machine("A CPU", "") };
        assert!(one.unlike(&one).is_empty());
        assert!(one.unlike(&Machine { memory_mib: 1, ..one.clone() }).is_empty());
        let set = [
            Machine { boost: Some(false), ..one.clone() },
            Machine { governor: None, ..one.clone() },
            Machine { smt: Some(true), ..one.clone() },
            Machine { virtual_machine: true, ..one.clone() },
            Machine { cpus: 2, ..one.clone() },
        ];
        let said: Vec<_> = set.iter().flat_map(|other| one.unlike(other)).collect();
        let text = |text: &str| text.to_owned();
        assert_eq!(
            said,
            [
                ("boost", text("on"), text("off")),
                ("governor", text("performance"), text("unknown")),
                ("threads that share cores", text("unknown"), text("on")),
                ("hypervisor", text("off"), text("on")),
                ("number of CPUs", text("4"), text("2")),
            ]
        );
        assert!(set.iter().all(|other| one.same_as(other)));
    }

    #[test]
    fn short_names_fit_into_a_file_name() {
        let amd = |family, model| format!("vendor_id AuthenticAMD, cpu family {family}, model {model}, stepping 1");
        assert_eq!(machine("AMD EPYC", &amd(26, 2)).short_name(), "zen5");
        assert_eq!(machine("AMD Ryzen AI 9 HX 370", &amd(26, 0x24)).short_name(), "zen5-256");
        assert_eq!(machine("AMD EPYC", &amd(26, 0x50)).short_name(), "amd-epyc");
        assert_eq!(machine("AMD EPYC 7B13", &amd(25, 1)).short_name(), "zen3");
        assert_eq!(machine("AMD EPYC 9B14", &amd(25, 0x11)).short_name(), "zen4");
        let xeon = "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz";
        assert_eq!(machine(xeon, "vendor_id GenuineIntel").short_name(), "platinum-8375c");
        assert_eq!(machine("", "").short_name(), "x86_64");
    }

    #[test]
    fn every_kind_with_a_name_is_listed() {
        let mut found = std::collections::BTreeSet::new();
        for (vendor, families) in [("AuthenticAMD", 0..=30), ("GenuineIntel", 6..=6)] {
            for (family, model) in families.flat_map(|family| (0..=0xff).map(move |model| (family, model))) {
                let id = format!("vendor_id {vendor}, cpu family {family}, model {model}, stepping 1");
                found.extend(machine("", &id).microarchitecture());
            }
        }
        assert_eq!(found, MICROARCHITECTURES.into_iter().collect());
    }

    /// Clouds call them all "Xeon Processor"; three kinds of CPU must not become one.
    #[test]
    fn designs_of_intel_have_names_of_their_own() {
        let intel = |model: u32| {
            let id = format!("vendor_id GenuineIntel, cpu family 6, model {model}, stepping 2, microcode 0x1");
            machine("Intel(R) Xeon(R) Processor", &id)
        };
        for (model, name) in
            [(0x8f, "sapphire-rapids"), (207, "emerald-rapids"), (0xad, "granite-rapids"), (0x6a, "ice-lake")]
        {
            assert_eq!(intel(model).short_name(), name);
            assert_eq!(intel(model).former_short_name(), "x86_64");
        }
        assert_eq!(intel(0x01).short_name(), "x86_64", "an unknown one");
        assert_eq!(machine("", "vendor_id GenuineIntel, cpu family 19, model 207").short_name(), "x86_64");
    }

    #[test]
    fn noise_is_what_others_did() {
        let before = Counters { busy: 1000, steal: 0, total: 10_000, own: 100 };
        let after = Counters { busy: 1500, steal: 40, total: 11_000, own: 400 };
        let noise = after.since(before);
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        assert!((noise.others_cpus - 0.2 * cpus).abs() < 1e-3, "{noise:?}");
        assert_eq!(noise.steal, 0.04);
        assert!(noise.is_loud());
    }

    #[test]
    fn a_load_above_the_number_of_cpus_is_no_quiet_machine_whatever_others_seem_to_use() {
        let noise = |load| Noise { load, ..Noise::default() };
        assert!(!noise(4.24).is_loud() && noise(4.24).is_loaded(2) && noise(2.29).is_loaded(2));
        assert!(!noise(2.29).is_loaded(4) && !noise(1.04).is_loaded(2) && !noise(1.0).is_loaded(0));
    }

    #[test]
    fn counters_that_run_backwards_are_no_panic() {
        let late = Counters { busy: 10, steal: 1, total: 100, own: 5 };
        assert_eq!(Counters::default().since(late).others_cpus, 0.0);
    }
}
