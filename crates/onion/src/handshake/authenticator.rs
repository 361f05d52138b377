//! Comparison of MACs, authenticators and key names.

use crate::Error;
use candor_cpu::secret;
use subtle::ConstantTimeEq;

/// Returns an error unless the two are equal. Whether they are is the only thing that a handshake reveals about its
/// secrets: the answer is declassified, the comparison is not.
pub(super) fn check(ours: &[u8; 32], theirs: &[u8; 32], otherwise: Error) -> Result<(), Error> {
    match secret::declassified(ours.ct_eq(theirs).unwrap_u8(), "handshake-authenticator") {
        1 => Ok(()),
        _ => Err(otherwise),
    }
}

/// Whether two public names are equal. The time depends on their lengths only.
#[inline]
pub(super) fn same(ours: &[u8], theirs: &[u8]) -> bool {
    ours.ct_eq(theirs).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_the_length_count() {
        let ours = [7; 32];
        assert!(same(&ours, &[7; 32]));
        assert_eq!(check(&ours, &[7; 32], Error::Onionskin), Ok(()));
        assert!(!same(&ours, &[7; 31]));
        for at in 0..32 {
            let mut theirs = ours;
            theirs[at] ^= 1;
            assert!(!same(&ours, &theirs), "byte {at}");
            assert_eq!(check(&ours, &theirs, Error::Onionskin), Err(Error::Onionskin), "byte {at}");
        }
    }
}
