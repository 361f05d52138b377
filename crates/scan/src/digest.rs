//! A digest of a kernel's code, which says whether it is still the code that somebody measured.

use crate::binary::{Binary, Function};
use crate::flow::decode;
use crate::twins;
use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// What calls what in a binary, as far as digests need it.
pub struct Digests<'a> {
    binary: &'a Binary,
    /// By address, the functions of the same crate that call or jump to it.
    callers: BTreeMap<u64, Vec<Function<'a>>>,
}

impl<'a> Digests<'a> {
    /// Reads the calls of each crate that has one of these functions.
    pub fn new(binary: &'a Binary, functions: &[Function<'a>]) -> Self {
        let crates: BTreeSet<&str> = functions.iter().map(|function| crate_of(function.name)).collect();
        let mut callers: BTreeMap<u64, Vec<Function<'a>>> = BTreeMap::new();
        for caller in binary.functions().filter(|function| crates.contains(crate_of(function.name))) {
            for callee in called(binary, caller) {
                if callee.address != caller.address && crate_of(callee.name) == crate_of(caller.name) {
                    callers.entry(callee.address).or_default().push(caller);
                }
            }
        }
        Self { binary, callers }
    }

    /// The digest of the function's instructions, of those of each function of its crate that it calls, directly or through others, and of those
    /// of each that calls it: a kernel is timed together with what surrounds it. Where all of them stand doesn't matter: jumps count by
    /// distance, calls by name, constants by content.
    pub fn of(&self, function: Function<'a>) -> String {
        let mut texts = BTreeMap::new();
        let mut todo = vec![function];
        while let Some(next) = todo.pop() {
            if let Entry::Vacant(new) = texts.entry(next.address) {
                new.insert(twins::text(self.binary, next));
                todo.extend(
                    called(self.binary, next).filter(|callee| crate_of(callee.name) == crate_of(function.name)),
                );
            }
        }
        for caller in self.callers.get(&function.address).into_iter().flatten() {
            texts.entry(caller.address).or_insert_with(|| twins::text(self.binary, *caller));
        }
        let own = texts.remove(&function.address).unwrap_or_default();
        // By content, since addresses change with every build.
        let mut others: Vec<String> = texts.into_values().collect();
        others.sort_unstable();
        let mut digest = Sha256::new_with_prefix(own);
        others.iter().for_each(|text| digest.update(text));
        encode_string(&digest.finalize())
    }
}

/// The functions whose code jumps and calls lead to.
fn called<'a>(binary: &'a Binary, function: Function<'a>) -> impl Iterator<Item = Function<'a>> {
    decode(function)
        .into_values()
        .filter(|instruction| instruction.near_branch_target() != 0)
        .filter_map(|instruction| binary.function(instruction.near_branch_target()))
}

/// The first part of a path. An implementation of a trait stands in angle brackets.
fn crate_of(name: &str) -> &str {
    let name = name.trim_start_matches('<');
    name.split_once("::").map_or(name, |(first, _)| first)
}
