//! Products and squares of polynomials.

use super::{Extent, Problem, Tally};
use crate::ours;
use candor_gf2::Multiplier;
use candor_peers::contract::gf2::{Loop, Product};
use candor_peers::seed::Stream;

/// Lengths up to here are inlined by gf2x.
pub(super) const INLINED: usize = 9;
/// Unequal lengths up to here are tried in every combination.
const UNEQUAL: usize = 48;
/// Random pairs of each length up to `Extent::every`.
const PAIRS: usize = 4;
/// What stands where a product should be written.
const RUBBISH: u64 = 0xdead_beef_dead_beef;

/// A pair of factors.
type Pair = (Vec<u64>, Vec<u64>);

/// Every pair of factors, by every peer and every arm.
pub(super) fn compare(
    extent: Extent,
    arms: &[(String, Multiplier)],
    peers: &mut [(String, Box<dyn Product>)],
    tally: &mut Tally,
) -> Result<(), Problem> {
    let mut stream = Stream::new(extent.seed, "differential products");
    for n in 1..=extent.every {
        for pair in edges(n, &mut stream) {
            compare_pair(&pair, arms, peers, tally)?;
        }
        for _ in 0..PAIRS {
            compare_pair(&(random(n, &mut stream), random(n, &mut stream)), arms, peers, tally)?;
        }
    }
    for (a, b) in (1..=UNEQUAL).flat_map(|a| (1..=UNEQUAL).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        compare_pair(&(random(a, &mut stream), random(b, &mut stream)), arms, peers, tally)?;
    }
    for _ in 0..extent.random {
        let [n, a, b] = [(); 3].map(|()| length(extent.longest, &mut stream));
        compare_pair(&(random(n, &mut stream), random(n, &mut stream)), arms, peers, tally)?;
        compare_pair(&(random(a, &mut stream), random(b, &mut stream)), arms, peers, tally)?;
    }
    Ok(())
}

fn compare_pair(
    (a, b): &Pair,
    arms: &[(String, Multiplier)],
    peers: &mut [(String, Box<dyn Product>)],
    tally: &mut Tally,
) -> Result<(), Problem> {
    let by = |multiply: &mut dyn FnMut(&mut [u64])| {
        let mut out = vec![RUBBISH; a.len() + b.len()];
        multiply(&mut out);
        out
    };
    let theirs: Vec<(&str, Vec<u64>)> =
        peers.iter_mut().map(|(name, peer)| (name.as_str(), by(&mut |out| peer.mul(out, a, b)))).collect();
    let of = || format!("{} and {} words, {a:x?} and {b:x?}", a.len(), b.len());
    for (name, multiplier) in arms {
        let product = by(&mut |out| multiplier.mul(out, a, b));
        let mut scratch = vec![RUBBISH; multiplier.scratch_words(a.len(), b.len())];
        let scratched = by(&mut |out| multiplier.mul_with_scratch(out, a, b, &mut scratch));
        // Where the factors are the same, a square is due as well.
        let square = (a == b).then(|| by(&mut |out| multiplier.square(out, a)));
        for (peer, theirs) in &theirs {
            tally.compare("products", (name, &product), (peer, theirs), of)?;
            tally.compare("products with the caller's scratch", (name, &scratched), (peer, theirs), of)?;
            if let Some(square) = &square {
                tally.compare("squares", (name, square), (peer, theirs), of)?;
            }
        }
    }
    Ok(())
}

/// gf2x's routine of one length against our call for many products of that length.
pub(super) fn compare_inlined(
    extent: Extent,
    words: usize,
    arms: &[(String, Multiplier)],
    (peer, theirs): &mut (String, Box<dyn Loop>),
    tally: &mut Tally,
) -> Result<(), Problem> {
    let mut stream = Stream::new(extent.seed, "differential inlined");
    let mut pairs = edges(words, &mut stream);
    pairs.extend((0..extent.random).map(|_| (random(words, &mut stream), random(words, &mut stream))));
    let (a, b): (Vec<Vec<u64>>, Vec<Vec<u64>>) = pairs.into_iter().unzip();
    let (count, a, b) = (a.len() as u64, a.concat(), b.concat());
    let by = |product: &mut dyn Loop| {
        let mut out = vec![RUBBISH; a.len() + b.len()];
        product.mul(&mut out, &a, &b, words, count);
        out
    };
    let theirs = by(theirs.as_mut());
    for (name, multiplier) in arms {
        let all = by(ours::gf2::many(words, *multiplier).as_mut());
        for (i, (ours, theirs)) in all.chunks(2 * words).zip(theirs.chunks(2 * words)).enumerate() {
            let of = || {
                let at = i * words..(i + 1) * words;
                format!("{words} words, {:x?} and {:x?}", &a[at.clone()], &b[at])
            };
            tally.compare("products, inlined", (name, ours), (peer, theirs), of)?;
        }
    }
    Ok(())
}

/// Factors at whose ends carries, masks and word boundaries show.
fn edges(n: usize, stream: &mut Stream) -> Vec<Pair> {
    let bit = |i: usize| {
        let mut words = vec![0; n];
        words[i / 64] = 1 << (i % 64);
        words
    };
    let mut bits = vec![0, 1, 31, 32, 62, 63, 64 * n - 64, 64 * n - 2, 64 * n - 1, 32 * n];
    bits.extend((n > 1).then_some(64));
    let mut shapes: Vec<Vec<u64>> = bits.into_iter().map(bit).collect();
    shapes
        .extend([0, u64::MAX, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, 0xffff_ffff_0000_0000].map(|w| vec![w; n]));
    let ones = vec![u64::MAX; n];
    let mut pairs = Vec::new();
    for shape in shapes {
        pairs.push((shape.clone(), shape.clone()));
        pairs.push((shape.clone(), ones.clone()));
        pairs.push((random(n, stream), shape));
    }
    let same = random(n, stream);
    pairs.push((same.clone(), same));
    pairs
}

pub(super) fn random(words: usize, stream: &mut Stream) -> Vec<u64> {
    (0..words).map(|_| stream.word()).collect()
}

/// A length from 1 on.
pub(super) fn length(longest: usize, stream: &mut Stream) -> usize {
    1 + (stream.word() % longest as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::super::arms;
    use super::*;
    use candor_lab::Provenance;

    const SMALL: Extent = Extent { seed: 3, every: 6, longest: 40, random: 3, stock: false };

    /// Bit by bit; wrong in its last bit at one length, if told so.
    struct Schoolbook {
        wrong_at: usize,
    }

    impl Product for Schoolbook {
        fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]) {
            out.fill(0);
            for i in (0..64 * a.len()).filter(|i| a[i / 64] >> (i % 64) & 1 == 1) {
                for j in (0..64 * b.len()).filter(|j| b[j / 64] >> (j % 64) & 1 == 1) {
                    out[(i + j) / 64] ^= 1 << ((i + j) % 64);
                }
            }
            if a.len() + b.len() == self.wrong_at {
                out[self.wrong_at - 1] ^= 1 << 63;
            }
        }

        fn provenance(&self, _: usize, timed: &str) -> Provenance {
            Provenance::of("schoolbook", "1", timed)
        }
    }

    fn against(wrong_at: usize) -> (Result<(), Problem>, Tally) {
        let mut tally = Tally::default();
        let mut peers: Vec<(String, Box<dyn Product>)> = vec![("schoolbook".into(), Box::new(Schoolbook { wrong_at }))];
        (compare(SMALL, &arms(), &mut peers, &mut tally), tally)
    }

    #[test]
    fn every_arm_is_compared_and_counted() {
        let (outcome, tally) = against(0);
        assert_eq!(outcome, Ok(()));
        let agreed = tally.agreed();
        for (arm, _) in arms() {
            let products: u64 = agreed
                .iter()
                .filter(|line| line.ours == arm && line.what == "products")
                .map(|line| line.compared)
                .sum();
            assert!(products > 6 * 40, "{arm}: {products}");
        }
        assert!(agreed.iter().any(|line| line.what == "squares"));
    }

    #[test]
    fn a_product_that_is_wrong_in_one_bit_at_one_length_is_found() {
        // The top bit of a product of 2n words is never set: a planted one shows, at an odd sum only among unequal lengths.
        for wrong_at in [2, 12, 45] {
            let (outcome, _) = against(wrong_at);
            let Err(Problem::Differ(how)) = outcome else { panic!("{wrong_at}: {outcome:?}") };
            assert!(how.contains("schoolbook differ from word") && how.contains("words"), "{how}");
        }
    }
}
