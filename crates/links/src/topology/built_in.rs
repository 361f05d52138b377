//! The topologies that candor brings.

/// A topology as a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name, that of the file.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal)+) => {
        /// All of them: satellites, baselines on the ground, and the twelve of document 002.
        pub const BUILT_IN: &[BuiltIn] = &[
            $(BuiltIn { name: $name, text: include_str!(concat!("../../topologies/", $name, ".toml")) },)+
        ];
    };
}

built_in! {
    "leo-bent-pipe"
    "leo-isl"
    "leo-pass"
    "leo-shell"
    "geo-bent-pipe"
    "terrestrial-continent"
    "terrestrial-world"
    "sagin-01"
    "sagin-02"
    "sagin-03"
    "sagin-04"
    "sagin-05"
    "sagin-06"
    "sagin-07"
    "sagin-08"
    "sagin-09"
    "sagin-10"
    "sagin-11"
    "sagin-12"
}
