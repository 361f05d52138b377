//! Comparison of what proves something: MACs, authenticators, names of keys.

use crate::Error;
use subtle::ConstantTimeEq;

/// Nothing if the two are the same, `otherwise` if not. Whether they are is the one thing that a handshake makes public of its
/// secrets, and the branch on it is in this function and nowhere else: the constant-time gate knows it by its name.
#[inline(never)]
pub(super) fn check(ours: &[u8; 32], theirs: &[u8; 32], otherwise: Error) -> Result<(), Error> {
    if same(ours, theirs) { Ok(()) } else { Err(otherwise) }
}

/// Whether two public names are the same, in time that depends on their length only.
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
