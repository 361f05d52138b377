//! Whether the salts of an import were drawn evenly. What was not can't be made up for names without an account.

use crate::scheme::OldScheme;
use crate::template::SaltShape;
use std::collections::HashMap;
use std::fmt;

/// Fewer salts than these say nothing.
const ENOUGH: u32 = 32;

/// Counts the bytes at each place of salts of each shape. Its size is bounded: there are a few hundred shapes.
#[derive(Clone, Debug, Default)]
pub struct SaltCensus {
    shapes: HashMap<SaltShape, Shape>,
}

#[derive(Clone, Debug, Default)]
struct Shape {
    salts: u32,
    places: Vec<Place>,
}

/// How often each byte stands there.
#[derive(Clone, Debug)]
struct Place([u32; 256]);

/// Salts of one shape that were clearly not drawn evenly. Its text says so to the operator of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnevenSalts {
    /// Their kind and length, as a [`Template`](crate::Template) writes them.
    pub shape: String,
    /// The place where that is clearest, counted from 1.
    pub place: usize,
    /// The byte that is there most often.
    pub byte: u8,
    /// In so many salts.
    pub count: u32,
    /// Of so many.
    pub salts: u32,
}

impl SaltCensus {
    /// Counts the salt of a hash.
    pub fn add(&mut self, scheme: &OldScheme) {
        let salt = scheme.salt();
        let shape = self.shapes.entry(SaltShape::of(salt)).or_default();
        shape.salts = shape.salts.saturating_add(1);
        shape.places.resize(salt.len(), Place([0; 256]));
        for (place, byte) in shape.places.iter_mut().zip(salt) {
            place.0[usize::from(*byte)] = place.0[usize::from(*byte)].saturating_add(1);
        }
    }

    /// The shapes whose salts have the same byte at the same place at least twice as often as random ones would, and far more often than chance explains: because of a fixed
    /// beginning, padding, or names and numbers of users in them.
    #[must_use]
    pub fn uneven(&self) -> Vec<UnevenSalts> {
        let mut found: Vec<UnevenSalts> =
            self.shapes.iter().filter_map(|(shape, counts)| counts.worst(*shape)).collect();
        found.sort_by(|one, other| one.shape.cmp(&other.shape));
        found
    }
}

impl Shape {
    fn worst(&self, shape: SaltShape) -> Option<UnevenSalts> {
        let of_place = |(place, counts): (usize, &Place)| {
            let (byte, count) = (0..=255).zip(counts.0).max_by_key(|(_, count)| *count)?;
            let expected = f64::from(self.salts) / shape.choices(place) as f64;
            // Ten standard deviations, and one salt more: where few are expected, chance is not distributed normally.
            let most = expected + (10.0 * expected.sqrt() + 1.0).max(expected);
            (f64::from(count) > most).then(|| UnevenSalts {
                shape: shape.to_string(),
                place: place + 1,
                byte,
                count,
                salts: self.salts,
            })
        };
        let uneven = self.places.iter().enumerate().filter_map(of_place).max_by_key(|found| found.count);
        uneven.filter(|_| self.salts >= ENOUGH)
    }
}

impl fmt::Display for UnevenSalts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, place, byte, count, salts } = self;
        write!(f, "salts ({shape}) are not random: {count} of {salts} have byte 0x{byte:02x} at place {place}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Algorithm;

    /// A generator of bytes that is good enough to be even.
    fn random() -> impl FnMut() -> u8 {
        let mut state = 15_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        }
    }

    fn census(salts: impl IntoIterator<Item = Vec<u8>>) -> Vec<UnevenSalts> {
        let algorithm = Algorithm::from_words("pbkdf2-sha256", "i=1000,l=32").unwrap();
        let mut census = SaltCensus::default();
        salts.into_iter().for_each(|salt| census.add(&OldScheme::new(algorithm, salt).unwrap()));
        census.uneven()
    }

    fn drawn(count: usize, characters: &'static [u8], length: usize) -> impl Iterator<Item = Vec<u8>> {
        let mut random = random();
        (0..count)
            .map(move |_| (0..length).map(|_| characters[usize::from(random()) * characters.len() / 256]).collect())
    }

    const HEXADECIMAL: &[u8] = b"0123456789abcdef";

    #[test]
    fn random_salts_are_even_however_few_or_many() {
        for count in [0, 1, 31, 32, 100, 20_000] {
            assert_eq!(census(drawn(count, HEXADECIMAL, 16)), [], "{count}");
            let mut random = random();
            assert_eq!(census((0..count).map(|_| (0..16).map(|_| random()).collect())), [], "{count} of bytes");
        }
        let mut random = random();
        let uuids = (0..1000).map(|_| {
            let template: crate::Template = "$pbkdf2-sha256$i=1000,l=32$uuid,36".parse().unwrap();
            template.scheme(&mut random).unwrap().salt().to_vec()
        });
        assert_eq!(census(uuids), [], "dashes and version are part of the shape");
    }

    #[test]
    fn a_fixed_beginning_padding_names_and_numbers_are_found() {
        let found = census(drawn(100, HEXADECIMAL, 12).map(|salt| [b"abc0", &salt[..]].concat()));
        let [UnevenSalts { shape, place: 1..=4, count: 100, salts: 100, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(shape, "hexadecimal,16");
        let said = found[0].to_string();
        assert!(said.starts_with("salts (hexadecimal,16) are not random: 100 of 100 have byte 0x"), "{said}");
        let padded = (0..100).map(|number| format!("{:\0<16}", format!("user{number}")).into_bytes());
        assert_eq!(census(padded).len(), 1);
        assert_eq!(census((0..100).map(|number| format!("{number:016}").into_bytes())).len(), 1);
        // Every tenth salt is enough, among enough salts.
        let mixed = |count| {
            drawn(count, HEXADECIMAL, 16).enumerate().map(|(number, mut salt)| {
                if number % 5 == 0 {
                    salt[3] = b'7';
                }
                salt
            })
        };
        assert_eq!(census(mixed(20_000))[0].place, 4);
        // Too few to say.
        assert_eq!(census(drawn(31, HEXADECIMAL, 12).map(|salt| [b"abc0", &salt[..]].concat())), []);
    }
}
