//! Comparison of what proves something: MACs, authenticators, names of keys.

use subtle::ConstantTimeEq;

/// Whether the two are the same, in time that depends on their length only.
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
        assert!(!same(&ours, &[7; 31]));
        for at in 0..32 {
            let mut theirs = ours;
            theirs[at] ^= 1;
            assert!(!same(&ours, &theirs), "byte {at}");
        }
    }
}
