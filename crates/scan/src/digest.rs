//! A digest of a kernel's code, which says whether it is still the code that somebody measured.

use crate::binary::{Binary, Function};
use crate::flow::decode;
use crate::twins;
use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The digest of the function's instructions, and of those of each function of its crate that it calls, directly or through others. Where all of
/// them stand doesn't matter: jumps count by distance, calls by name, constants by content.
pub fn of(binary: &Binary, function: Function<'_>) -> String {
    let mut texts = BTreeMap::new();
    let mut todo = vec![function];
    while let Some(next) = todo.pop() {
        if let Entry::Vacant(new) = texts.entry(next.address) {
            new.insert(twins::text(binary, next));
            todo.extend(called(binary, next).filter(|callee| crate_of(callee.name) == crate_of(function.name)));
        }
    }
    let own = texts.remove(&function.address).unwrap_or_default();
    // By content, since addresses change with every build.
    let mut called: Vec<String> = texts.into_values().collect();
    called.sort_unstable();
    let mut digest = Sha256::new_with_prefix(own);
    called.iter().for_each(|text| digest.update(text));
    encode_string(&digest.finalize())
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
