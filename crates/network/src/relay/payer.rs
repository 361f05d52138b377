//! Who pays when room runs short: the payer that holds most of what there is too little of.
//!
//! All links of strangers from one network have one payer, since one attacker rarely has only one address. A listed relay's link
//! carries many clients who can't be told apart, so each of its circuits is a payer of its own: ten honest streams behind one listed
//! relay weigh one each, like ten strangers. Identities and circuits are cheap behind a listed relay, though, so its link as a whole
//! may not keep more than a quarter of all places once others want them.

use super::links::RelayLink;
use crate::census::Party;
use crate::prefix::Prefix;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// Who asks for something: a network of strangers, or else a link, by its address in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asker {
    Network(Prefix),
    Link(usize),
}

impl Party for Asker {
    fn provider(self) -> Self {
        match self {
            Self::Network(network) => Self::Network(network.provider()),
            Self::Link(_) => self,
        }
    }
}

impl Asker {
    /// Who asks when a circuit asks that came over this link.
    pub(super) fn of(link: &Arc<RelayLink>) -> Self {
        match link.place.network() {
            Some(network) => Self::Network(network),
            None => Self::Link(Arc::as_ptr(link).addr()),
        }
    }
}

/// Who pays for what a circuit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Payer {
    /// All links of strangers from one network, or one link of a test network.
    Asker(Asker),
    /// One circuit of a listed relay's link; both by their addresses in memory.
    Circuit { link: usize, circuit: usize },
}

impl Payer {
    /// Who pays for the circuit with that address in memory, which came over this link.
    pub(super) fn of(link: &Arc<RelayLink>, circuit: usize) -> Self {
        match link.place.is_listed() {
            true => Self::Circuit { link: Arc::as_ptr(link).addr(), circuit },
            false => Self::Asker(Asker::of(link)),
        }
    }

    /// Who pays for what the link keeps itself: nobody if it is a listed relay's, which carries everybody's circuits.
    pub(super) fn of_link(link: &Arc<RelayLink>) -> Option<Self> {
        (!link.place.is_listed()).then(|| Self::Asker(Asker::of(link)))
    }

    /// The listed relay's link that the circuit came over.
    pub(super) fn listed_link(self) -> Option<usize> {
        match self {
            Self::Circuit { link, .. } => Some(link),
            Self::Asker(_) => None,
        }
    }
}

/// Who gives up one of `most` places, all of which are taken, to a newcomer: the payer with the most, if the newcomer would have fewer
/// even then; otherwise, of a listed relay's link that has more than a quarter of all places, and more than the newcomer's link would
/// have, the circuit with the most. `None` if the newcomer has to go without. `held` has each payer once.
pub(super) fn gives_way(held: impl Iterator<Item = (Payer, usize)>, newcomer: Payer, most: usize) -> Option<Payer> {
    /// A payer and how much it holds.
    type Largest = (Payer, usize);
    let (mut own, mut largest): (usize, Option<Largest>) = (0, None);
    // What all circuits of a listed relay's link hold, and the one that holds most.
    let mut links: HashMap<usize, (usize, Largest)> = HashMap::new();
    for (payer, count) in held {
        if payer == newcomer {
            own = count;
        }
        if largest.is_none_or(|(_, most)| count > most) {
            largest = Some((payer, count));
        }
        if let Some(link) = payer.listed_link() {
            let (total, largest) = links.entry(link).or_insert((0, (payer, count)));
            *total += count;
            if count > largest.1 {
                *largest = (payer, count);
            }
        }
    }
    if let Some((payer, count)) = largest
        && own + 1 < count
    {
        return Some(payer);
    }
    let own_link = newcomer.listed_link().and_then(|link| links.get(&link)).map_or(0, |(total, _)| *total);
    let (total, (payer, _)) = links.into_values().max_by_key(|(total, _)| *total)?;
    (total > most / 4 && total > own_link + 1).then_some(payer)
}

/// Who pays when `most` of something, such as cells, runs short and it doesn't matter who wants it: the payer that holds most. But while
/// the circuits of one listed relay's link hold more than a quarter together, a payer with less than a 64th is left alone, unless it is
/// one of them. So nobody drives out others by holding a little on each of many circuits.
pub(super) struct Bill {
    most: usize,
    /// What payers hold.
    payers: Vec<(Payer, usize)>,
    indices: HashMap<Payer, usize>,
    /// What payers hold, and their indices. An entry counts only while it says what `payers` says.
    largest: BinaryHeap<(usize, usize)>,
    /// For each listed relay's link, what its circuits hold together, and each of them.
    links: HashMap<usize, (usize, BinaryHeap<(usize, usize)>)>,
}

impl Bill {
    pub(super) fn new(held: HashMap<Payer, usize>, most: usize) -> Self {
        let payers: Vec<_> = held.into_iter().collect();
        let indices = payers.iter().enumerate().map(|(index, (payer, _))| (*payer, index)).collect();
        let largest = payers.iter().enumerate().map(|(index, (_, count))| (*count, index)).collect();
        let mut links: HashMap<_, (usize, BinaryHeap<_>)> = HashMap::new();
        for (index, (payer, count)) in payers.iter().enumerate() {
            if let Some(link) = payer.listed_link() {
                let (total, largest) = links.entry(link).or_default();
                *total += count;
                largest.push((*count, index));
            }
        }
        Self { most, payers, indices, largest, links }
    }

    /// Who pays next; `None` if nobody holds anything.
    pub(super) fn next(&mut self) -> Option<Payer> {
        let (count, payer) = top(&mut self.largest, &self.payers)?;
        let largest = self.links.values_mut().max_by_key(|(total, _)| *total);
        match largest.filter(|(total, _)| count < self.most / 64 && *total > self.most / 4) {
            Some((_, circuits)) => top(circuits, &self.payers).map(|(_, circuit)| circuit),
            None => Some(payer),
        }
    }

    /// That payer has given up so many.
    pub(super) fn paid(&mut self, payer: Payer, count: usize) {
        let Some(index) = self.indices.get(&payer).copied() else { return };
        let held = &mut self.payers[index].1;
        *held = held.saturating_sub(count);
        self.largest.push((*held, index));
        if let Some((total, largest)) = payer.listed_link().and_then(|link| self.links.get_mut(&link)) {
            *total = total.saturating_sub(count);
            largest.push((*held, index));
        }
    }
}

/// The largest entry that still counts; those that don't are dropped.
fn top(heap: &mut BinaryHeap<(usize, usize)>, payers: &[(Payer, usize)]) -> Option<(usize, Payer)> {
    while let Some((count, index)) = heap.peek().copied() {
        let (payer, held) = payers[index];
        if count > 0 && held == count {
            return Some((count, payer));
        }
        heap.pop();
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::relay) fn stranger(network: u8) -> Payer {
        Payer::Asker(Asker::Network(Prefix::around([192, 0, network, 1].into())))
    }

    pub(in crate::relay) fn listed(link: usize, circuit: usize) -> Payer {
        Payer::Circuit { link, circuit }
    }

    fn way(held: &[(Payer, usize)], newcomer: Payer, most: usize) -> Option<Payer> {
        gives_way(held.iter().copied(), newcomer, most)
    }

    #[test]
    fn the_payer_with_the_most_gives_way_until_the_newcomer_has_as_many() {
        let held = [(stranger(1), 3), (stranger(2), 1)];
        assert_eq!(way(&held, stranger(3), 4), Some(stranger(1)));
        assert_eq!(way(&held, stranger(2), 4), Some(stranger(1)));
        assert_eq!(way(&held, stranger(1), 4), None, "its own don't make room for more of it");
        assert_eq!(way(&[(stranger(1), 2), (stranger(2), 2)], stranger(2), 4), None);
        assert_eq!(way(&[(stranger(1), 1), (stranger(2), 1)], stranger(3), 2), None, "nobody has more than one");
    }

    #[test]
    fn circuits_of_a_listed_relay_weigh_one_by_one() {
        // Ten honest streams behind one listed relay, and a network with thirty.
        let mut held: Vec<_> = (0..10).map(|circuit| (listed(7, circuit), 1)).collect();
        held.push((stranger(1), 30));
        assert_eq!(way(&held, stranger(2), 40), Some(stranger(1)));
        assert_eq!(way(&held, listed(7, 10), 40), Some(stranger(1)));
        assert_eq!(way(&held, stranger(1), 40), None);
        // The same with thirty networks: nobody outlasts anybody.
        held.pop();
        held.extend((1..=30).map(|network| (stranger(network), 1)));
        assert_eq!(way(&held, stranger(31), 40), None);
        held[0].1 = 3;
        assert_eq!(way(&held, stranger(31), 40), Some(listed(7, 0)), "the circuit with the most pays");
    }

    #[test]
    fn a_listed_relay_keeps_no_more_than_a_quarter_by_having_many_circuits() {
        let mut held: Vec<_> = (0..11).map(|circuit| (listed(7, circuit), 1)).collect();
        held.extend((1..=29).map(|network| (stranger(network), 1)));
        assert!(matches!(way(&held, stranger(30), 40), Some(Payer::Circuit { link: 7, .. })));
        assert!(matches!(way(&held, listed(8, 0), 40), Some(Payer::Circuit { link: 7, .. })));
        assert_eq!(way(&held, listed(7, 11), 40), None, "not for itself");
        assert_eq!(way(&held[1..], stranger(30), 40), None, "ten of forty are a quarter");
    }

    #[test]
    fn a_little_on_each_of_many_circuits_drives_out_nobody_else() {
        let pays = |held: &[(Payer, usize)]| Bill::new(held.iter().copied().collect(), 6400).next();
        // Honest: ninety behind another listed relay, and a network with eighty.
        let honest = [(listed(8, 0), 90), (stranger(1), 80)];
        let many: Vec<_> = (0..170).map(|circuit| (listed(7, circuit), 10)).chain(honest).collect();
        assert!(matches!(pays(&many), Some(Payer::Circuit { link: 7, .. })), "1,700 of 6,400");
        let fewer: Vec<_> = (0..160).map(|circuit| (listed(7, circuit), 10)).chain(honest).collect();
        assert_eq!(pays(&fewer), Some(listed(8, 0)), "1,600 are no more than a quarter");
        let more: Vec<_> = many.iter().copied().chain([(stranger(2), 100)]).collect();
        assert_eq!(pays(&more), Some(stranger(2)), "a 64th is not a little");
        assert_eq!(pays(&[(stranger(1), 0)]), None);
    }

    #[test]
    fn a_bill_is_paid_by_the_largest_until_others_are() {
        let mut bill = Bill::new(HashMap::from([(stranger(1), 30), (stranger(2), 20), (listed(7, 1), 25)]), 100);
        for (payer, count) in
            [(stranger(1), 8), (listed(7, 1), 25), (stranger(1), 17), (stranger(2), 20), (stranger(1), 5)]
        {
            assert_eq!(bill.next(), Some(payer));
            bill.paid(payer, count);
        }
        assert_eq!(bill.next(), None);
    }
}
