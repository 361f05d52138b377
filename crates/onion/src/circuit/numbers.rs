//! A link's circuits by their numbers.

use crate::Error;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Which end of a link this is. It decides whose numbers have the top bit (tor-spec, "Choosing circuit IDs").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This end connected: its own circuits have numbers with the top bit set.
    Initiator,
    /// This end was connected to.
    Responder,
}

const TOP: u32 = 1 << 31;

/// The circuits of one link, from both ends, each with what the caller keeps of it.
///
/// A cell with a number that is not here is nobody's: it may be late, for a circuit that has just been destroyed, so it is
/// dropped and not an error.
#[derive(Clone, Debug)]
pub struct Circuits<T> {
    side: Side,
    next: u32,
    most: usize,
    circuits: HashMap<u32, T>,
}

impl<T> Circuits<T> {
    /// No circuits yet; at most `most` at a time. Numbers of our own count up from `start`, best a random one, so that they
    /// don't tell how many came before.
    pub fn new(side: Side, start: u32, most: usize) -> Self {
        Self { side, next: start & !TOP, most, circuits: HashMap::new() }
    }

    /// Gives a circuit of ours a number.
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

    /// Takes in a circuit that the other end made with this number.
    ///
    /// # Errors
    /// [`Error::WrongCircuit`] if the number is 0, in use, or one that this end gives out; [`Error::TooManyCircuits`]. The
    /// circuit should be answered by DESTROY.
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

    /// The circuit with this number.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.circuits.get_mut(&number)
    }

    /// Forgets a circuit. Its number may be given out again.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        self.circuits.remove(&number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.circuits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.circuits.is_empty()
    }

    /// What is kept of each, in no order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.circuits.values()
    }

    /// All of them, to end them with their link.
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
        assert_eq!(numbers(&mut responder), [0x7FFF_FFFE, 0x7FFF_FFFF, 1, 2], "0 is no circuit");
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
