//! What the authorities have found of a relay.

use std::fmt;

/// The flags that C tor's authorities give. Others are read and forgotten.
const KNOWN: [&str; 14] = [
    "Authority",
    "BadExit",
    "Exit",
    "Fast",
    "Guard",
    "HSDir",
    "MiddleOnly",
    "NoEdConsensus",
    "Running",
    "Stable",
    "StaleDesc",
    "Sybil",
    "V2Dir",
    "Valid",
];

/// A relay's flags, such as `Running`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Whether it is among them.
    pub fn has(self, name: &str) -> bool {
        self.0 & bit(name) != 0
    }

    /// Adds a flag; one that C tor does not know is passed over.
    pub fn insert(&mut self, name: &str) {
        self.0 |= bit(name);
    }

    /// Takes one away.
    pub fn remove(&mut self, name: &str) {
        self.0 &= !bit(name);
    }
}

/// None for a flag that nobody knows.
fn bit(name: &str) -> u16 {
    KNOWN.iter().position(|known| *known == name).map_or(0, |index| 1 << index)
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(KNOWN.iter().filter(|name| self.has(name))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_flag_is_itself_and_others_are_none() {
        for name in KNOWN {
            let mut flags = Flags::default();
            flags.insert(name);
            assert!(KNOWN.iter().all(|other| flags.has(other) == (*other == name)), "{name}");
            assert_eq!(format!("{flags:?}"), format!("{{{name:?}}}"));
            flags.remove(name);
            assert_eq!(flags, Flags::default());
        }
        let mut flags = Flags::default();
        flags.insert("Unheard");
        assert!(!flags.has("Unheard") && flags == Flags::default());
    }
}
