//! The numbers by which CREATE2 and EXTEND2 name handshakes (HTYPE).

/// `ntor` (tor-spec).
pub const NTOR: u16 = 0x0002;
/// `ntor-v3` (prop 332).
pub const NTOR_V3: u16 = 0x0003;

/// Handshakes by [`name`](super::Handshake::name). Our own are private numbers, listed in `docs/cells.md`; Tor has assigned none
/// above 0x0003.
const NUMBERS: [(&str, u16); 8] = [
    ("ntor", NTOR),
    ("ntor-v3", NTOR_V3),
    ("hybrid-512", 0xFF65),
    ("hybrid-768", 0xFF68),
    ("hybrid-1024", 0xFF6A),
    ("hybrid-512-auth", 0xFF75),
    ("hybrid-768-auth", 0xFF78),
    ("hybrid-1024-auth", 0xFF7A),
];

/// The number of the handshake with that name.
pub fn of(name: &str) -> Option<u16> {
    NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The name of the handshake with that number.
pub fn name(number: u16) -> Option<&'static str> {
    NUMBERS.iter().find(|(_, known)| *known == number).map(|(name, _)| *name)
}

#[cfg(all(test, feature = "aws-lc"))]
mod tests {
    use super::{name as name_of, of};
    use crate::handshake::*;

    #[test]
    fn every_handshake_has_its_number_and_no_two_share_one() {
        let names = [
            NtorDefault::default().name(),
            NtorV3Default::default().name(),
            Hybrid512::default().name(),
            Hybrid768::default().name(),
            Hybrid1024::default().name(),
            Hybrid512Auth::default().name(),
            Hybrid768Auth::default().name(),
            Hybrid1024Auth::default().name(),
        ];
        for name in &names {
            let number = of(name).unwrap_or_else(|| panic!("{name} has no number"));
            assert_eq!(name_of(number), Some(name.as_str()));
        }
        assert_eq!(of("ntor-v4"), None);
        assert_eq!(name_of(0), None);
    }
}
