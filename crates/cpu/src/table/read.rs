//! Reads the table of arms, in a `const fn`, so that a wrong table does not compile.

use super::Routine;
use crate::tier::TIERS;

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

/// `NAME [VENDOR FAMILY MODEL | MODEL-MODEL …]`.
const fn head(table: &mut Table, words: &'static str) -> Result<(), &'static str> {
    let (name, words) = cut(words, b' ');
    if table.count == 0 && !same(name, "unknown") {
        return Err("the first microarchitecture must be `unknown`");
    }
    if table.count == MOST_CPUS {
        return Err("too many microarchitectures; raise MOST_CPUS");
    }
    let (vendor, words) = cut(words, b' ');
    let (family, mut words) = cut(words, b' ');
    let cpu = &mut table.cpus[table.count];
    cpu.name = name;
    cpu.vendor = vendor;
    if table.count > 0 {
        let Some(family) = number(family, 10) else { return Err("expected `cpu NAME VENDOR FAMILY MODELS`") };
        cpu.family = family as u32;
    }
    while !words.is_empty() {
        let (range, after) = cut(words, b' ');
        words = after;
        let (low, high) = cut(range, b'-');
        let (Some(low), Some(high)) = (number(low, 16), number(if high.is_empty() { low } else { high }, 16)) else {
            return Err("expected models as hexadecimal numbers, `61` or `61-7f`");
        };
        if cpu.count == MOST_RANGES {
            return Err("too many ranges of models; raise MOST_RANGES");
        }
        cpu.ranges[cpu.count] = (low as u32, high as u32);
        cpu.count += 1;
    }
    table.count += 1;
    Ok(())
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
    let choice = if many.is_empty() {
        match groups(few) {
            Some(groups) => Choice { upto: 0, few: groups, many: groups },
            None => return Err("expected a tier, `widest`, `TIER<=SIZE,TIER` or `-`"),
        }
    } else {
        if !Routine::ALL[routine].is_sized() {
            return Err("this routine does not know a size when it chooses");
        }
        let (tier, upto) = cut(few, b'<');
        let (equals, upto) = cut(upto, b'=');
        match (groups(tier), equals.is_empty(), number(upto, 10), groups(many)) {
            (Some(few), true, Some(upto), Some(many)) => Choice { upto, few, many },
            _ => return Err("expected a tier, `widest`, `TIER<=SIZE,TIER` or `-`"),
        }
    };
    table.choices[cpu][routine] = Some(choice);
    Ok(())
}

/// The groups of a tier.
const fn groups(name: &str) -> Option<u32> {
    if same(name, "widest") {
        return Some(u32::MAX);
    }
    let mut i = 0;
    while i < TIERS.len() {
        if same(name, TIERS[i].name) {
            return Some(TIERS[i].groups);
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
            ("cpu z GenuineIntel 6", "cpu z GenuineIntel six", 17),
            ("cd-cf", "cd-xyz", 17),
            ("gf2-mul widest", "gf2-mull widest", 5),
            ("gf2-mul widest", "gf2-mul wide", 5),
            ("gf2-mul widest", "gf2-mul -", 5),
            ("gf2-mul widest", "gf2-mul avx2<=4,widest", 5),
            ("gf2-mul widest rule", "gf2-mul widest", 5),
            ("gf2-mul widest rule\n", "", 16),
            ("gf2-field widest rule", "gf2-mul widest rule", 6),
            ("sm3-batch widest", "sm3-batch avx2<4,widest", 11),
            ("sm3-batch widest", "sm3-batch avx2<=,widest", 11),
        ] {
            assert!(good().contains(find));
            let found = mistake(good().replacen(find, replace, 1)).map(|mistake| mistake.line);
            assert_eq!(found, Some(line), "{find} -> {replace}");
        }
        let last = good().rsplit_once("argon2id").unwrap().0.to_string();
        assert_eq!(mistake(last).unwrap().what, "expected a row for every routine at the end");
        assert_eq!(mistake(good().replacen("sm3-batch widest", "sm3-batch avx2<=4,widest", 1)), None);
    }
}
