//! The ports that an exit opens streams to, as a microdescriptor sums them up.

use std::fmt;

/// The most ranges in a summary: more than fit into a line of C tor's.
const MOST: usize = 1000;

/// Ports to which an exit opens streams at most addresses (dir-spec, item `p`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports(Vec<(u16, u16)>);

impl Ports {
    /// Reads `accept 80,443,8000-8100`, or `reject` with the ports that are not opened.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (verb, list) = text.split_once(' ')?;
        let mut ranges = Vec::new();
        for range in list.split(',') {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let (low, high) = (port(low)?, port(high)?);
            if low > high || ranges.len() == MOST {
                return None;
            }
            ranges.push((low, high));
        }
        ranges.sort_unstable();
        match verb {
            "accept" => Some(Self(ranges)),
            "reject" => Some(Self(others(&ranges))),
            _ => None,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether streams to that port are opened.
    pub fn contains(&self, port: u16) -> bool {
        self.0.iter().any(|(low, high)| (*low..=*high).contains(&port))
    }

    /// First and last port of each range, in ascending order.
    pub fn ranges(&self) -> &[(u16, u16)] {
        &self.0
    }
}

impl fmt::Display for Ports {
    /// As a microdescriptor has them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("reject 1-65535");
        }
        f.write_str("accept ")?;
        for (index, (low, high)) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match low == high {
                true => write!(f, "{comma}{low}")?,
                false => write!(f, "{comma}{low}-{high}")?,
            }
        }
        Ok(())
    }
}

fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The ports from 1 to 65535 that are in none of the ranges, which ascend.
fn others(ranges: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let mut found = Vec::new();
    let mut next = 1_u32;
    for (low, high) in ranges.iter().map(|(low, high)| (u32::from(*low), u32::from(*high))) {
        if low > next {
            found.push((next as u16, (low - 1) as u16));
        }
        next = next.max(high + 1);
    }
    if next <= 65535 {
        found.push((next as u16, 65535));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn summaries_accept_or_reject() {
        let ports = Ports::parse("accept 80,443,8000-8100").unwrap();
        assert_eq!(
            [79, 80, 443, 8000, 8100, 8101].map(|port| ports.contains(port)),
            [false, true, true, true, true, false]
        );
        let ports = Ports::parse("reject 25,100-200,150").unwrap();
        assert_eq!(ports.ranges(), [(1, 24), (26, 99), (201, 65535)]);
        assert_eq!(Ports::parse("reject 1-65535").unwrap(), Ports::default());
        assert_eq!(Ports::parse("accept 1-65535").unwrap().to_string(), "accept 1-65535");
        for wrong in [
            "",
            "accept",
            "accept ",
            "allow 80",
            "accept 0",
            "accept 2-1",
            "accept 65536",
            "accept 80,",
            "accept +80",
            "accept 1-2-3",
        ] {
            assert_eq!(Ports::parse(wrong), None, "{wrong}");
        }
        let list = |count: usize| format!("accept {}", vec!["7"; count].join(","));
        assert!(Ports::parse(&list(MOST)).is_some() && Ports::parse(&list(MOST + 1)).is_none());
    }

    proptest! {
        #[test]
        fn what_is_rejected_is_not_accepted(ranges in prop::collection::vec((1..=65535_u16, 1..=65535_u16), 1..20), port in 1..=65535_u16) {
            let ranges: Vec<_> = ranges.into_iter().map(|(one, other)| (one.min(other), one.max(other))).collect();
            let list: Vec<_> = ranges.iter().map(|(low, high)| format!("{low}-{high}")).collect();
            let is_in = ranges.iter().any(|(low, high)| (*low..=*high).contains(&port));
            let accepted = Ports::parse(&format!("accept {}", list.join(","))).unwrap();
            let rejected = Ports::parse(&format!("reject {}", list.join(","))).unwrap();
            prop_assert_eq!((accepted.contains(port), rejected.contains(port)), (is_in, !is_in));
            for ports in [accepted, rejected] {
                prop_assert_eq!(Ports::parse(&ports.to_string()).unwrap(), ports);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "(accept |reject )?[0-9,-]{0,40}") {
            let _ = Ports::parse(&text);
        }
    }
}
