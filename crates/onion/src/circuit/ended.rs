//! Numbers of streams that a client has ended.

use std::fmt;

/// A set of stream numbers, which takes 8 kB once there is one, and no more for all of them.
#[derive(Default)]
pub(super) struct Ended(Option<Box<[u64; 1024]>>);

impl Ended {
    pub(super) fn insert(&mut self, number: u16) {
        let words = self.0.get_or_insert_with(|| Box::new([0; 1024]));
        words[usize::from(number / 64)] |= 1 << (number % 64);
    }

    pub(super) fn contains(&self, number: u16) -> bool {
        self.0.as_ref().is_some_and(|words| words[usize::from(number / 64)] >> (number % 64) & 1 == 1)
    }
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.iter().flat_map(|words| words.iter()).map(|word| word.count_ones()).sum::<u32>();
        write!(f, "Ended({count})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_in_once_it_was_put_in() {
        let mut ended = Ended::default();
        for number in [1, 63, 64, 65, u16::MAX] {
            assert!(!ended.contains(number));
            ended.insert(number);
            ended.insert(number);
            assert!(ended.contains(number));
        }
        assert!(!ended.contains(0) && !ended.contains(2) && !ended.contains(u16::MAX - 1));
        assert_eq!(format!("{ended:?}"), "Ended(5)");
    }
}
