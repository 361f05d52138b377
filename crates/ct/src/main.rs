//! Placeholder until primitives arrive.
fn main() {}
