//! How much of what relays say they carry is believed.

use alloc::vec::Vec;

/// As how many times the median a relay's bandwidth counts at most. Nobody measures it, so what one relay says must not outweigh what all others
/// say. The price: a relay that really carries more is used as if it carried this.
pub const BANDWIDTH_CAP: u32 = 4;

/// The most that a bandwidth counts as, among relays that say these: [`BANDWIDTH_CAP`] times their median, of an even number the smaller of the two in
/// the middle. Half of the relays must lie together to raise it.
pub fn bandwidth_cap(said: impl IntoIterator<Item = u32>) -> u32 {
    let mut said: Vec<u32> = said.into_iter().collect();
    if said.is_empty() {
        return 0;
    }
    let middle = (said.len() - 1) / 2;
    let (_, median, _) = said.select_nth_unstable(middle);
    median.saturating_mul(BANDWIDTH_CAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_than_half_of_the_relays_move_the_cap_within_what_the_others_say() {
        assert_eq!(bandwidth_cap([100, 300, 200]), 800);
        assert_eq!(bandwidth_cap([100, 300, 200, u32::MAX]), 800, "of an even number the smaller");
        assert_eq!(bandwidth_cap([100, 300, 200, u32::MAX, u32::MAX]), 1200);
        assert_eq!(bandwidth_cap([100, 300, 200, 0, 0]), 400);
        assert_eq!((bandwidth_cap([7]), bandwidth_cap([]), bandwidth_cap([u32::MAX; 3])), (28, 0, u32::MAX));
    }
}
