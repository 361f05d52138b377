//! Which subprotocols a relay speaks, and which versions of each (tor-spec, "Subprotocol versioning").

/// The most subprotocols in one line; C tor has 15.
const MOST: usize = 64;
/// The highest version that the specification allows.
const HIGHEST: u32 = 63;
/// The subprotocols that are asked for. Others are read and forgotten.
const KNOWN: [&str; 4] = ["FlowCtrl", "Link", "LinkAuth", "Relay"];

/// Versions of subprotocols, such as `Link=3-5 Relay=2-6`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protocols([u64; KNOWN.len()]);

impl Protocols {
    /// A subprotocol that stands twice has the versions of both.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for (index, entry) in text.split([' ', '\t']).filter(|entry| !entry.is_empty()).enumerate() {
            let (name, versions) = entry.split_once('=')?;
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            let mut bits = 0;
            for range in versions.split(',').filter(|_| !versions.is_empty()) {
                let (low, high) = range.split_once('-').unwrap_or((range, range));
                let (low, high) = (version(low)?, version(high)?);
                if low > high {
                    return None;
                }
                bits |= (u64::MAX >> (HIGHEST - (high - low))) << low;
            }
            if !is_name || index == MOST {
                return None;
            }
            if let Some(known) = KNOWN.iter().position(|known| *known == name) {
                found.0[known] |= bits;
            }
        }
        Some(found)
    }

    /// Whether that version is among them. Only those of FlowCtrl, Link, LinkAuth and Relay are kept.
    pub fn has(&self, name: &str, version: u32) -> bool {
        let known = KNOWN.iter().position(|known| *known == name);
        version <= HIGHEST && known.is_some_and(|known| self.0[known] >> version & 1 == 1)
    }
}

fn version(text: &str) -> Option<u32> {
    text.parse().ok().filter(|version| *version <= HIGHEST && text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_are_numbers_and_ranges() {
        let protocols = Protocols::parse("Link=3-5 Relay=2,4-6,63 FlowCtrl= Padding=1").unwrap();
        let of = |name| (0..70).filter(|version| protocols.has(name, *version)).collect::<Vec<_>>();
        assert_eq!(of("Link"), [3, 4, 5]);
        assert_eq!(of("Relay"), [2, 4, 5, 6, 63]);
        assert!(of("FlowCtrl").is_empty() && of("LinkAuth").is_empty());
        assert!(of("Padding").is_empty(), "nobody asks for it");
        assert!(Protocols::parse("Link=0-63").unwrap().has("Link", 0));
        assert_eq!(Protocols::parse("Link=1 Link=3"), Protocols::parse("Link=1,3"), "a name may stand twice");
        assert_eq!(Protocols::parse("").unwrap(), Protocols::default());
        for wrong in ["Link", "=1", "Link=64", "X=64", "Link=5-3", "Link=1,", "Link=+1", "Li_nk=1"] {
            assert_eq!(Protocols::parse(wrong), None, "{wrong}");
        }
        let many = |count: usize| (0..count).map(|number| format!("P{number}=1 ")).collect::<String>();
        assert!(Protocols::parse(&many(MOST)).is_some() && Protocols::parse(&many(MOST + 1)).is_none());
    }

    proptest! {
        #[test]
        fn a_range_has_its_versions_and_no_others(low in 0..=63_u32, length in 0..=63_u32, version in 0..=80_u32) {
            let high = (low + length).min(63);
            let protocols = Protocols::parse(&format!("Relay={low}-{high}")).unwrap();
            prop_assert_eq!(protocols.has("Relay", version), (low..=high).contains(&version));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[A-C]?=?[0-9,= -]{0,30}") {
            let _ = Protocols::parse(&text);
        }
    }
}
