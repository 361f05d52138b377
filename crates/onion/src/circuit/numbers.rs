//! The circuits of a link, by number.

use crate::Error;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The end of a link. It decides who chooses numbers with the top bit set (tor-spec, "Choosing circuit IDs").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This end opened the connection: the numbers it chooses have the top bit set.
    Initiator,
    /// This end accepted the connection.
    Responder,
}

const TOP: u32 = 1 << 31;
/// A table for so many is small.
const FEW: usize = 64;

/// The circuits of one link, created from either end, each with the caller's data.
///
/// A cell with an unknown number is dropped and is not an error: it may be late, for a circuit that has just been
/// destroyed.
#[derive(Clone, Debug)]
pub struct Circuits<T> {
    side: Side,
    next: u32,
    most: usize,
    circuits: HashMap<u32, T>,
}

impl<T> Circuits<T> {
    /// A link without circuits, for at most `most` at a time. Our own numbers count up from `start`; choose it at
    /// random, so that numbers don't reveal how many circuits came before.
    pub fn new(side: Side, start: u32, most: usize) -> Self {
        Self { side, next: start & !TOP, most, circuits: HashMap::new() }
    }

    /// Adds a circuit of ours and chooses its number.
    ///
    /// # Errors
    /// [`Error::TooManyCircuits`].
    pub fn open(&mut self, circuit: T) -> Result<u32, Error> {
        if self.circuits.len() >= self.most.min(TOP as usize / 2) {
            return Err(Error::TooManyCircuits);
        }
        let top = if self.side == Side::Initiator { TOP } else { 0 };
        loop {
            let number = self.next | top;
            self.next = self.next.wrapping_add(1) & !TOP;
            if number != 0 && !self.circuits.contains_key(&number) {
                self.circuits.insert(number, circuit);
                return Ok(number);
            }
        }
    }

    /// Adds a circuit that the other end created with this number.
    ///
    /// # Errors
    /// [`Error::WrongCircuit`] if the number is 0, in use, or one that only this end may choose;
    /// [`Error::TooManyCircuits`]. The circuit should be answered with DESTROY.
    pub fn accept(&mut self, number: u32, circuit: T) -> Result<&mut T, Error> {
        let ours = (number & TOP != 0) == (self.side == Side::Initiator);
        if ours || number == 0 {
            return Err(Error::WrongCircuit { number });
        }
        if self.circuits.len() >= self.most {
            return Err(Error::TooManyCircuits);
        }
        match self.circuits.entry(number) {
            Entry::Vacant(vacant) => Ok(vacant.insert(circuit)),
            Entry::Occupied(_) => Err(Error::WrongCircuit { number }),
        }
    }

    /// The data of the circuit with this number.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.circuits.get_mut(&number)
    }

    /// Removes a circuit. Its number may be used again.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        self.circuits.remove(&number)
    }

    /// Gives back most of what more circuits than there are now have needed. To be called now and then: a table does not shrink by itself.
    pub fn tidy(&mut self) {
        let used = self.circuits.len();
        if self.circuits.capacity() > FEW.max(4 * used) {
            self.circuits.shrink_to(2 * used);
        }
    }

    /// Number of circuits.
    pub fn len(&self) -> usize {
        self.circuits.len()
    }

    /// Whether there are no circuits.
    pub fn is_empty(&self) -> bool {
        self.circuits.is_empty()
    }

    /// The data of all circuits, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.circuits.values()
    }

    /// Removes and returns all circuits, to close them with their link.
    pub fn drain(&mut self) -> impl Iterator<Item = (u32, T)> {
        self.circuits.drain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_gives_out_its_own_half_of_the_numbers() {
        let mut initiator = Circuits::new(Side::Initiator, u32::MAX - 1, 10);
        let mut responder = Circuits::new(Side::Responder, u32::MAX - 1, 10);
        let numbers = |circuits: &mut Circuits<()>| [(); 4].map(|()| circuits.open(()).unwrap());
        assert_eq!(numbers(&mut initiator), [0xFFFF_FFFE, 0xFFFF_FFFF, 0x8000_0000, 0x8000_0001]);
        assert_eq!(numbers(&mut responder), [0x7FFF_FFFE, 0x7FFF_FFFF, 1, 2], "0 is not a circuit number");
    }

    #[test]
    fn a_burst_of_circuits_leaves_no_large_table() {
        let mut circuits = Circuits::new(Side::Initiator, 1, 10_000);
        let numbers: Vec<_> = (0..5000).map(|circuit| circuits.open(circuit).unwrap()).collect();
        circuits.tidy();
        assert!(circuits.circuits.capacity() >= 5000);
        numbers[20..].iter().for_each(|number| assert!(circuits.remove(*number).is_some()));
        circuits.tidy();
        assert!(circuits.circuits.capacity() <= FEW, "{}", circuits.circuits.capacity());
        assert!((0..20).all(|circuit| circuits.get_mut(numbers[circuit]) == Some(&mut { circuit })));
    }

    #[test]
    fn a_wrong_number_is_refused() {
        let mut circuits = Circuits::new(Side::Responder, 1, 2);
        assert!(circuits.accept(0x8000_0001, 'a').is_ok());
        for number in [0, 5, 0x8000_0001] {
            assert_eq!(circuits.accept(number, 'b').unwrap_err(), Error::WrongCircuit { number });
        }
        assert!(circuits.accept(0x8000_0002, 'c').is_ok());
        assert_eq!(circuits.accept(0x8000_0003, 'd').unwrap_err(), Error::TooManyCircuits);
        assert_eq!(circuits.open('e'), Err(Error::TooManyCircuits));
        assert_eq!(circuits.remove(0x8000_0001), Some('a'));
        assert_eq!(circuits.get_mut(0x8000_0001), None);
    }
}
