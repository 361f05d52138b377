//! Sizes, counts and rates: what is counted rather than timed.

use crate::units::{three_digits, time};
use serde::{Deserialize, Serialize};

/// A size, a count or a rate of a subject's work: the bytes of a message, the cells that it fills.
///
/// ```
/// use candor_lab::Quantity;
/// let ke1 = Quantity::bytes("KE1", &[0; 96]);
/// assert_eq!((ke1.value, ke1.unit.as_str()), (96.0, "bytes"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// What is counted, in a few words: `KE1`, `state between KE2 and KE3`.
    pub name: String,
    /// The number. Sizes and counts are whole.
    pub value: f64,
    /// `bytes`, `cells`, `%`.
    pub unit: String,
}

impl Quantity {
    /// A number with a unit.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.into() }
    }

    /// A count.
    pub fn count(name: &str, count: usize, unit: &str) -> Self {
        Self::new(name, count as f64, unit)
    }

    /// The size of a message.
    pub fn bytes(name: &str, message: &[u8]) -> Self {
        Self::count(name, message.len(), "bytes")
    }

    /// `1408 bytes`, `99.3 %`: whole numbers in full, others with three significant digits; times in the unit that fits.
    pub(crate) fn amount(&self) -> String {
        if self.unit == "ns" {
            return time(self.value);
        }
        let whole = self.value.fract() == 0.0 && self.value.abs() < 1e15;
        let value = if whole { format!("{:.0}", self.value) } else { three_digits(self.value) };
        format!("{value} {}", self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_in_full() {
        assert_eq!(Quantity::count("KE2", 1408, "bytes").amount(), "1408 bytes");
        assert_eq!(Quantity::count("traffic", 12_345_678, "bytes").amount(), "12345678 bytes");
        assert_eq!(Quantity::new("success rate", 97.56, "%").amount(), "97.6 %");
        assert_eq!(Quantity::new("nothing", 0.0, "%").amount(), "0 %");
        assert_eq!(Quantity::new("time", 2_500_000.0, "ns").amount(), "2.50 ms");
    }
}
