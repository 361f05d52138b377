//! The Beneš network of a secret key, applied to bits (specification, section 3.3).

use super::arm_mux::Arm;
use crate::kernels::mceliece::benes;
use crate::words::Words;
#[cfg(test)]
use {alloc::vec, alloc::vec::Vec, zeroize::Zeroizing};

/// A network on 2^m positions, its control bits laid out for the kernels. It is wiped on drop.
pub(crate) struct Network {
    m: usize,
    control: Words,
}

impl Network {
    /// The network of the (2m − 1) · 2^(m − 4) bytes of control bits in a secret key.
    ///
    /// # Panics
    /// If there are not as many bytes.
    pub(crate) fn new(m: usize, bytes: &[u8]) -> Self {
        let stage_bytes = 1 << (m - 4);
        assert!(
            bytes.len() == (2 * m - 1) * stage_bytes,
            "a network on 2^{m} positions has {} bytes",
            (2 * m - 1) * stage_bytes
        );
        let words = benes::distances(m).map(|distance| benes::stage_words(m, distance)).sum();
        let mut control = Words::zero(words);
        let mut at = 0;
        for (distance, bytes) in benes::distances(m).zip(bytes.chunks_exact(stage_bytes)) {
            let length = benes::stage_words(m, distance);
            benes::unpack(bytes, distance, &mut control[at..at + length]);
            at += length;
        }
        Self { m, control }
    }

    /// Bits in the order of the points become bits in the order of the support.
    pub(crate) fn forwards(&self, arm: Arm, bits: &mut [u64]) {
        arm.permute(self.m, &self.control, false, bits);
    }

    /// Bits in the order of the support become bits in the order of the points.
    pub(crate) fn backwards(&self, arm: Arm, bits: &mut [u64]) {
        arm.permute(self.m, &self.control, true, bits);
    }

    /// All elements of the field in the order of the support, α₀ to α₍q₋₁₎.
    #[cfg(test)]
    pub(crate) fn support(&self, arm: Arm) -> Zeroizing<Vec<u16>> {
        let q = 1 << self.m;
        let mut elements = Zeroizing::new(vec![0u16; q]);
        let mut bits = Words::zero(q / 64);
        for of in 0..self.m {
            // Bit `of` of a point's number is the element's coefficient of z^(m−1−of).
            for (i, word) in bits.iter_mut().enumerate() {
                *word = (0..64).fold(0, |word, j| word | ((64 * i + j) as u64 >> of & 1) << j);
            }
            self.forwards(arm, &mut bits);
            for (word, elements) in bits.iter().zip(elements.as_chunks_mut::<64>().0) {
                for (j, element) in elements.iter_mut().enumerate() {
                    *element |= ((word >> j & 1) as u16) << (self.m - 1 - of);
                }
            }
        }
        elements
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mceliece::tests::{arms, random};

    /// The network as the specification has it, on numbers.
    fn direct(m: usize, bytes: &[u8], items: &mut [u16]) {
        let mut pair = 0;
        for distance in benes::distances(m) {
            for low in (0..items.len()).filter(|i| i >> distance & 1 == 0) {
                if bytes[pair / 8] >> (pair % 8) & 1 == 1 {
                    items.swap(low, low | 1 << distance);
                }
                pair += 1;
            }
        }
    }

    #[test]
    fn a_network_permutes_as_its_pairs_exchanged_one_by_one() {
        for m in [12, 13] {
            let mut random = random(m as u64);
            let bytes: Vec<u8> = (0..(2 * m - 1) << (m - 4)).map(|_| random() as u8).collect();
            let network = Network::new(m, &bytes);
            let mut expected: Vec<u16> = (0..1 << m).map(|i: u16| i.reverse_bits() >> (16 - m)).collect();
            direct(m, &bytes, &mut expected);
            for arm in arms() {
                assert_eq!(*network.support(arm), expected, "{}", arm.name());
                let bits: Vec<u64> = (0..1 << (m - 6)).map(|_| random()).collect();
                let mut moved = bits.clone();
                network.forwards(arm, &mut moved);
                assert_ne!(moved, bits);
                network.backwards(arm, &mut moved);
                assert_eq!(moved, bits, "{}", arm.name());
            }
        }
    }
}
