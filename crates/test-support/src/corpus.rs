//! The committed corpora of the fuzz targets, `fuzz/corpus/<target>/`.
//!
//! A fuzz body is a function from bytes to nothing that panics when something is wrong. libFuzzer runs it on nightly; here it runs on stable, over
//! the files of its corpus and over mutations of them that are the same in every run. When a body panics, the message names the file and
//! the mutation and shows the input.

use crate::random::Random;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// The corpus of one target.
pub struct Corpus {
    target: &'static str,
    /// Name and content, by name; never none.
    files: Vec<(String, Vec<u8>)>,
}

impl Corpus {
    /// Reads the corpus of `target`.
    ///
    /// # Panics
    /// If it is missing or empty: a body that runs over nothing shows nothing.
    pub fn of(target: &'static str) -> Self {
        let folder = folder(target);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| {
                let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
                let data = fs::read(entry.path()).unwrap_or_else(|error| panic!("{}: {error}", entry.path().display()));
                (entry.file_name().to_string_lossy().into_owned(), data)
            })
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{} is empty", folder.display());
        Self { target, files }
    }

    /// The same with one more input, made when the test runs.
    #[must_use]
    pub fn with(mut self, name: &str, data: Vec<u8>) -> Self {
        self.files.push((name.to_owned(), data));
        self
    }

    /// The contents of the files.
    pub fn inputs(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(|(_, data)| &data[..])
    }

    /// Runs `body` over each file and over nothing at all, then over `mutations` of each file.
    ///
    /// # Panics
    /// If `body` does.
    pub fn run(&self, mutations: usize, body: impl Fn(&[u8])) {
        self.try_one(&body, "no bytes", b"");
        for (name, data) in &self.files {
            self.try_one(&body, name, data);
            let mut random = Random::new(1);
            for number in 1..=mutations {
                let mut changed = data.clone();
                (0..=random.below(4)).for_each(|_| mutate(&mut changed, &mut random));
                self.try_one(&body, &format!("{name}, mutation {number}"), &changed);
            }
        }
    }

    fn try_one(&self, body: &impl Fn(&[u8]), name: &str, data: &[u8]) {
        if catch_unwind(AssertUnwindSafe(|| body(data))).is_err() {
            panic!("{} panics over {name}: b\"{}\"", self.target, data.escape_ascii());
        }
    }
}

/// Puts a file into the corpus of `target`: for the tests, ignored by default, which write the corpora after a format has changed.
///
/// # Panics
/// If the file can't be written.
pub fn write(target: &str, file: &str, data: &[u8]) {
    let folder = folder(target);
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    fs::write(folder.join(file), data).unwrap_or_else(|error| panic!("{}/{file}: {error}", folder.display()));
}

fn folder(target: &str) -> PathBuf {
    crate::from_root("fuzz/corpus").join(target)
}

/// One small change. Messages break where bits flip and bytes come or go; text also breaks where digits change, lines swap and fields vanish.
fn mutate(data: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(data.len());
    let end = (at + 1 + random.below(40)).min(data.len());
    match random.below(9) {
        0 => data.truncate(at),
        1 => data.insert(at, random.word() as u8),
        2 => data.extend((0..random.below(64)).map(|at| at as u8)),
        _ if data.is_empty() => {}
        3 => data[at] ^= 1 << random.below(8),
        4 => drop(data.remove(at)),
        5 => drop(data.drain(at..end)),
        6 => data.extend_from_within(at..end),
        7 => {
            let digits: Vec<usize> = (0..data.len()).filter(|&i| data[i].is_ascii_digit()).collect();
            if let Some(&digit) = digits.get(random.below(digits.len())) {
                data[digit] = b'0' + random.below(10) as u8;
            }
        }
        _ => {
            let mut lines: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            lines.swap(a, b);
            *data = lines.concat();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::HashSet;

    fn corpus() -> Corpus {
        Corpus { target: "target", files: Vec::new() }.with("one", b"line 1\nline 2\n".to_vec()).with("two", vec![0; 9])
    }

    #[test]
    fn a_body_sees_every_file_nothing_at_all_and_the_mutations() {
        let seen = RefCell::new(Vec::new());
        corpus().run(50, |data| seen.borrow_mut().push(data.to_vec()));
        let seen = seen.into_inner();
        assert_eq!(seen.len(), 1 + 2 * 51);
        assert!(
            seen.contains(&Vec::new()) && seen.contains(&vec![0; 9]) && seen.contains(&b"line 1\nline 2\n".to_vec())
        );
        assert!(seen.iter().collect::<HashSet<_>>().len() > 80, "mutations differ");
    }

    #[test]
    #[should_panic(expected = "target panics over two, mutation")]
    fn the_input_that_fails_is_named() {
        corpus().run(50, |data| assert!(data != [0; 8], "a byte is gone"));
    }

    #[test]
    #[should_panic(expected = "fuzz/corpus/no_such_target")]
    fn a_missing_corpus_is_a_failure() {
        Corpus::of("no_such_target");
    }
}
