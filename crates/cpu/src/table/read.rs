//! Reads the table of arms, in a `const fn`, so that a wrong table does not compile.

use super::Routine;
use crate::tier::{TIERS, X86_64, architecture};

/// Room for microarchitectures; a power of two.
pub(crate) const MOST_CPUS: usize = 16;
/// Room for each one's ranges of models.
const MOST_RANGES: usize = 12;

/// What a routine may use on a microarchitecture.
#[derive(Clone, Copy)]
struct Choice {
    /// Up to this size, `few`; beyond it, `many`.
    upto: usize,
    /// Groups for small sizes.
    few: u32,
    /// Groups for all others.
    many: u32,
}

/// How CPUID names a microarchitecture.
#[derive(Clone, Copy)]
struct Models {
    name: &'static str,
    vendor: &'static str,
    family: u32,
    /// First and last model.
    ranges: [(u32, u32); MOST_RANGES],
    count: usize,
}

/// The table.
pub(crate) struct Table {
    cpus: [Models; MOST_CPUS],
    count: usize,
    choices: [[Option<Choice>; Routine::ALL.len()]; MOST_CPUS],
}

/// What is wrong in the table, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) line: usize,
    pub(crate) what: &'static str,
}

impl Table {
    /// The groups that the routine may use there.
    #[inline]
    pub(crate) const fn groups(&self, cpu: usize, routine: Routine, size: usize) -> u32 {
        match &self.choices[cpu % MOST_CPUS][routine as usize] {
            Some(choice) if size <= choice.upto => choice.few,
            Some(choice) => choice.many,
            None => u32::MAX,
        }
    }

    /// How many microarchitectures it has.
    pub(crate) const fn cpus(&self) -> usize {
        self.count
    }

    /// The name of one of them.
    pub(crate) const fn name(&self, cpu: usize) -> &'static str {
        self.cpus[cpu].name
    }

    /// The microarchitecture with this signature; 0, which is `unknown`, if there is none.
    pub(crate) fn find(&self, vendor: &str, family: u32, model: u32) -> usize {
        let is = |cpu: &Models| {
            let mut ranges = cpu.ranges[..cpu.count].iter();
            cpu.vendor == vendor && cpu.family == family && ranges.any(|(low, high)| (*low..=*high).contains(&model))
        };
        self.cpus[..self.count].iter().position(is).unwrap_or(0)
    }
}

/// Reads a table; its head explains the form.
pub(super) const fn read(text: &'static str) -> Result<Table, Mistake> {
    let nobody = Models { name: "", vendor: "", family: 0, ranges: [(0, 0); MOST_RANGES], count: 0 };
    let choices = [[None; Routine::ALL.len()]; MOST_CPUS];
    let mut table = Table { cpus: [nobody; MOST_CPUS], count: 0, choices };
    // Of the current microarchitecture: the routines that have a row.
    let mut seen = 0u32;
    let (mut rest, mut line) = (text, 0);
    while !rest.is_empty() {
        let (this, after) = cut(rest, b'\n');
        rest = after;
        line += 1;
        let (first, words) = cut(this, b' ');
        let done = if line == 1 {
            if same(this, "candor-arms 1") { Ok(()) } else { Err("expected the line `candor-arms 1`") }
        } else if ends(this, b' ') {
            Err("a space at the end of the line")
        } else if this.is_empty() || this.as_bytes()[0] == b'#' {
            Ok(())
        } else if same(first, "cpu") {
            if table.count > 0 && seen != (1 << Routine::ALL.len()) - 1 {
                Err("expected a row for every routine before the next microarchitecture")
            } else {
                seen = 0;
                head(&mut table, words)
            }
        } else if table.count == 0 {
            Err("expected the line `cpu unknown` before the rows")
        } else {
            match routine(first) {
                Some(at) if seen & 1 << at != 0 => Err("second row of this routine"),
                Some(at) => {
                    seen |= 1 << at;
                    let (arms, source) = cut(words, b' ');
                    row(&mut table, at, arms, source)
                }
                None => Err("unknown routine"),
            }
        };
        if let Err(what) = done {
            return Err(Mistake { line, what });
        }
    }
    if table.count == 0 || seen != (1 << Routine::ALL.len()) - 1 {
        return Err(Mistake { line, what: "expected a row for every routine at the end" });
    }
    Ok(table)
}

/// `unknown`, or `NAME VENDOR FAMILY MODEL | MODEL-MODEL …`.
const fn head(table: &mut Table, words: &'static str) -> Result<(), &'static str> {
    let (name, words) = cut(words, b' ');
    if table.count == 0 {
        if !same(name, "unknown") {
            return Err("the first microarchitecture must be `unknown`");
        }
        if !words.is_empty() {
            return Err("`unknown` has no models: it stands for all that no other section has");
        }
        table.cpus[0].name = name;
        table.count = 1;
        return Ok(());
    }
    if table.count == MOST_CPUS {
        return Err("too many microarchitectures; raise MOST_CPUS");
    }
    let (vendor, words) = cut(words, b' ');
    let (family, mut words) = cut(words, b' ');
    let Some(family) = number(family, 10) else { return Err("expected `cpu NAME VENDOR FAMILY MODELS`") };
    if name.is_empty() || words.is_empty() {
        return Err("expected `cpu NAME VENDOR FAMILY MODELS`");
    }
    if !same(vendor, "AuthenticAMD") && !same(vendor, "GenuineIntel") {
        return Err("unknown vendor; expected `AuthenticAMD` or `GenuineIntel`");
    }
    if is_named(table, name) {
        return Err("second microarchitecture of this name");
    }
    // It counts from here on, so that its ranges are compared with each other too.
    let at = table.count;
    table.count += 1;
    (table.cpus[at].name, table.cpus[at].vendor, table.cpus[at].family) = (name, vendor, family as u32);
    while !words.is_empty() {
        let (range, after) = cut(words, b' ');
        words = after;
        let (low, high) = cut(range, b'-');
        let (Some(low), Some(high)) = (number(low, 16), number(if high.is_empty() { low } else { high }, 16)) else {
            return Err("expected models as hexadecimal numbers, `61` or `61-7f`");
        };
        if ends(range, b'-') {
            return Err("expected the last model of the range after `-`");
        }
        if low > high {
            return Err("expected the lower model first");
        }
        let count = table.cpus[at].count;
        if count == MOST_RANGES {
            return Err("too many ranges of models; raise MOST_RANGES");
        }
        if has_model_of(table, vendor, family as u32, (low as u32, high as u32)) {
            return Err("models that an earlier range has");
        }
        table.cpus[at].ranges[count] = (low as u32, high as u32);
        table.cpus[at].count += 1;
    }
    Ok(())
}

/// Whether a microarchitecture has this name.
const fn is_named(table: &Table, name: &str) -> bool {
    let mut i = 0;
    while i < table.count {
        if same(table.cpus[i].name, name) {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether the table has a model of this range.
const fn has_model_of(table: &Table, vendor: &str, family: u32, (low, high): (u32, u32)) -> bool {
    let mut i = 0;
    while i < table.count {
        let cpu = &table.cpus[i];
        let mut j = 0;
        while cpu.family == family && same(cpu.vendor, vendor) && j < cpu.count {
            if low <= cpu.ranges[j].1 && cpu.ranges[j].0 <= high {
                return true;
            }
            j += 1;
        }
        i += 1;
    }
    false
}

/// `ARMS SOURCE` of a routine.
const fn row(table: &mut Table, routine: usize, arms: &'static str, source: &'static str) -> Result<(), &'static str> {
    if source.is_empty() {
        return Err("expected where the choice comes from, or `not run`");
    }
    let cpu = table.count - 1;
    if same(arms, "-") {
        if cpu == 0 {
            return Err("unknown CPUs need a choice");
        }
        table.choices[cpu][routine] = table.choices[0][routine];
        return Ok(());
    }
    let (few, many) = cut(arms, b',');
    if ends(arms, b',') {
        return Err("expected an arm after `,`");
    }
    let choice = if many.is_empty() {
        match limit(few) {
            Some(only) if is_foreign(cpu, only) => return Err("tier of another architecture"),
            Some(only) => Choice { upto: 0, few: only.groups(), many: only.groups() },
            None => return Err("expected a tier, `widest`, `TIER<=SIZE,TIER` or `-`"),
        }
    } else {
        if !Routine::ALL[routine].is_sized() {
            return Err("this routine does not know a size when it chooses");
        }
        let (tier, upto) = cut(few, b'<');
        let (equals, upto) = cut(upto, b'=');
        let (Some(few), true, Some(upto), Some(many)) = (limit(tier), equals.is_empty(), number(upto, 10), limit(many))
        else {
            return Err("expected a tier, `widest`, `TIER<=SIZE,TIER` or `-`");
        };
        if is_foreign(cpu, few) || is_foreign(cpu, many) || !few.goes_with(many) {
            return Err("tier of another architecture");
        }
        if upto == 0 {
            return Err("expected a size above 0, where the two arms cross");
        }
        if few.groups() == many.groups() {
            return Err("the same arm on both sides of the size; expected it alone");
        }
        Choice { upto, few: few.groups(), many: many.groups() }
    };
    table.choices[cpu][routine] = Some(choice);
    Ok(())
}

/// A tier as a limit: it says nothing about the groups of other architectures.
#[derive(Clone, Copy)]
struct Limit {
    /// The groups of the tier.
    tier: u32,
    /// All groups of its architecture; none for `portable` and `widest`, which are of every architecture.
    architecture: u32,
}

impl Limit {
    /// The groups that a routine may use.
    const fn groups(self) -> u32 {
        if self.architecture == 0 { self.tier } else { self.tier | !self.architecture }
    }

    /// Whether both can limit the same CPU.
    const fn goes_with(self, other: Self) -> bool {
        self.architecture == 0 || other.architecture == 0 || self.architecture == other.architecture
    }
}

/// Whether no CPU of this section can have the tier. All sections but `unknown` name CPUs of Intel and AMD.
const fn is_foreign(cpu: usize, tier: Limit) -> bool {
    cpu > 0 && !tier.goes_with(Limit { tier: 0, architecture: X86_64 })
}

/// The limit of this name.
const fn limit(name: &str) -> Option<Limit> {
    if same(name, "widest") {
        return Some(Limit { tier: u32::MAX, architecture: 0 });
    }
    let mut i = 0;
    while i < TIERS.len() {
        if same(name, TIERS[i].name) {
            return Some(Limit { tier: TIERS[i].groups, architecture: architecture(TIERS[i].groups) });
        }
        i += 1;
    }
    None
}

const fn routine(name: &str) -> Option<usize> {
    let mut i = 0;
    while i < Routine::ALL.len() {
        if same(name, Routine::ALL[i].name()) {
            return Some(i);
        }
        i += 1;
    }
    None
}

/// What stands before the first `at`, and what behind it.
const fn cut(text: &str, at: u8) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() && bytes[i] != at {
        i += 1;
    }
    let (before, after) = text.split_at(i);
    if after.is_empty() { (before, after) } else { (before, after.split_at(1).1) }
}

/// Whether the text ends with this byte.
const fn ends(text: &str, byte: u8) -> bool {
    matches!(text.as_bytes(), [.., last] if *last == byte)
}

const fn number(digits: &str, base: usize) -> Option<usize> {
    let bytes = digits.as_bytes();
    let (mut i, mut value) = (0, 0);
    while i < bytes.len() && i < 6 {
        let digit = match (bytes[i] as char).to_digit(base as u32) {
            Some(digit) => digit as usize,
            None => return None,
        };
        value = value * base + digit;
        i += 1;
    }
    if i == 0 || i < bytes.len() { None } else { Some(value) }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn section(head: &str) -> String {
        let rows = Routine::ALL.iter().map(|routine| std::format!("{} widest rule\n", routine.name()));
        std::format!("{head}\n{}", rows.collect::<String>())
    }

    fn good() -> String {
        std::format!("candor-arms 1\n# a comment\n\n{}", section("cpu unknown"))
            + &section("cpu z GenuineIntel 6 8f cd-cf")
    }

    fn mistake(text: String) -> Option<Mistake> {
        read(text.leak()).err()
    }

    #[test]
    fn a_good_table_is_read_and_finds_models_by_their_ranges() {
        let table = read(good().leak()).ok().unwrap();
        assert_eq!((table.cpus(), table.name(1)), (2, "z"));
        let found = [0x8e, 0x8f, 0x90, 0xcc, 0xcd, 0xcf, 0xd0].map(|model| table.find("GenuineIntel", 6, model));
        assert_eq!(found, [0, 1, 0, 0, 1, 1, 0]);
        assert_eq!(table.find("GenuineIntel", 7, 0x8f), 0);
        assert_eq!(table.find("AuthenticAMD", 6, 0x8f), 0);
    }

    #[test]
    fn a_wrong_line_is_named_and_the_undamaged_table_is_not() {
        assert_eq!(mistake(good()), None);
        for (find, replace, line) in [
            ("candor-arms 1", "candor-arms 2", 1),
            ("cpu unknown", "cpu other", 4),
            ("cpu unknown\n", "", 4),
            ("cpu z GenuineIntel 6", "cpu z GenuineIntel six", Routine::ALL.len() + 5),
            ("cd-cf", "cd-xyz", Routine::ALL.len() + 5),
            ("gf2-mul widest", "gf2-mull widest", 5),
            ("gf2-mul widest", "gf2-mul wide", 5),
            ("gf2-mul widest", "gf2-mul -", 5),
            ("gf2-mul widest", "gf2-mul avx2<=4,widest", 5),
            ("gf2-mul widest rule", "gf2-mul widest", 5),
            ("gf2-mul widest rule\n", "", Routine::ALL.len() + 4),
            ("gf2-field widest rule", "gf2-mul widest rule", 6),
            ("sm3-batch widest", "sm3-batch avx2<4,widest", 12),
            ("sm3-batch widest", "sm3-batch avx2<=,widest", 12),
        ] {
            assert!(good().contains(find));
            let found = mistake(good().replacen(find, replace, 1)).map(|mistake| mistake.line);
            assert_eq!(found, Some(line), "{find} -> {replace}");
        }
        let last = good().rsplit_once("argon2id").unwrap().0.to_string();
        assert_eq!(mistake(last).unwrap().what, "expected a row for every routine at the end");
        assert_eq!(mistake(good().replacen("sm3-batch widest", "sm3-batch avx2<=4,widest", 1)), None);
    }

    /// Each line as it should be, the same line damaged, and what is wrong with it then. The first replacement alone leaves the table good.
    const DAMAGED: [(&str, &str, &str, &str); 20] = [
        ("cpu unknown", "cpu unknown", "cpu unknown AuthenticAMD 26 0", "`unknown` has no models"),
        ("cpu z ", "cpu y ", "cpu  ", "expected `cpu NAME VENDOR FAMILY MODELS`"),
        ("cpu z ", "cpu y ", "cpu unknown ", "second microarchitecture of this name"),
        ("GenuineIntel", "AuthenticAMD", "AuthenticAmd", "unknown vendor"),
        ("GenuineIntel", "AuthenticAMD", "HygonGenuine", "unknown vendor"),
        (" 8f cd-cf", " 8f", "", "expected `cpu NAME VENDOR FAMILY MODELS`"),
        ("cd-cf", "cd", "cd-", "expected the last model"),
        ("cd-cf", "cd-cd", "cf-cd", "expected the lower model first"),
        ("8f cd-cf", "cd-cf d0", "cd-cf cf", "models that an earlier range has"),
        ("8f cd-cf", "cd-cf cc", "cd-cf cc-cd", "models that an earlier range has"),
        ("8f cd-cf", "cd-cf", "cd-cf ", "a space at the end"),
        ("argon2id widest", "argon2id avx2", "argon2id avx2,", "expected an arm after `,`"),
        ("sm3-batch widest", "sm3-batch avx2", "sm3-batch ,avx2", "expected a tier"),
        ("sm3-batch widest", "sm3-batch avx2<=1,widest", "sm3-batch avx2<=0,widest", "expected a size above 0"),
        ("sm3-batch widest", "sm3-batch avx2<=4,widest", "sm3-batch avx2<=4,avx2", "the same arm"),
        ("sm3-batch widest", "sm3-batch portable<=4,zbc", "sm3-batch avx2<=4,zbc", "tier of another architecture"),
        ("6 8f cd-cf\ngf2-mul widest", "6 8f cd-cf\ngf2-mul avx2", "6 8f cd-cf\ngf2-mul zbc", "tier of another"),
        ("6 8f cd-cf\ngf2-mul widest", "6 8f cd-cf\ngf2-mul portable", "6 8f cd-cf\ngf2-mul pmull", "tier of another"),
        ("gf2-mul widest", "gf2-mul zbc", "gf2-mul zbb", "expected a tier"),
        ("8f cd-cf", "1 2 3 4 5 6 7 8 9 a b c", "1 2 3 4 5 6 7 8 9 a b c d", "too many ranges"),
    ];

    #[test]
    fn what_is_damaged_is_refused_and_its_undamaged_twin_accepted() {
        for (find, twin, damage, what) in DAMAGED {
            assert!(good().contains(find), "{find}");
            assert_eq!(mistake(good().replacen(find, twin, 1)), None, "{find} -> {twin}");
            let found = mistake(good().replacen(find, damage, 1)).map(|mistake| mistake.what);
            assert!(found.is_some_and(|found| found.starts_with(what)), "{find} -> {damage}: {found:?}");
        }
    }

    #[test]
    fn sections_share_neither_names_nor_models() {
        let with = |head: &str| mistake(good() + &section(head)).map(|mistake| (mistake.line, mistake.what));
        let third = 2 * Routine::ALL.len() + 6;
        for head in ["cpu y GenuineIntel 6 90-cc d0", "cpu y GenuineIntel 7 8f", "cpu y AuthenticAMD 6 8f"] {
            assert_eq!(with(head), None, "{head}");
        }
        assert_eq!(with("cpu z GenuineIntel 6 90"), Some((third, "second microarchitecture of this name")));
        for models in ["8f", "80-90", "ce", "cf-d0", "0-cd", "0-ff"] {
            let found = with(&std::format!("cpu y GenuineIntel 6 {models}"));
            assert_eq!(found, Some((third, "models that an earlier range has")), "{models}");
        }
    }

    #[test]
    fn a_tier_limits_only_its_own_architecture() {
        let groups = |arms: &str| {
            let text = good().replacen("gf2-mul widest", &std::format!("gf2-mul {arms}"), 1);
            read(text.leak()).ok().unwrap().groups(0, Routine::Gf2Mul, 1)
        };
        let (x86, arm) = (crate::HaveAvx2::BIT, crate::HavePmull::BIT);
        assert_eq!(groups("clmul") & (x86 | arm), arm);
        assert_eq!(groups("pmull") & (x86 | arm | crate::HaveArmSha2::BIT), x86 | arm);
        assert_eq!((groups("portable"), groups("widest")), (0, u32::MAX));
    }
}
