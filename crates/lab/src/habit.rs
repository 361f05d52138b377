//! What a timed call does besides its work, as each subject declares it.

use serde::de::value::Error as Unknown;
use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What a timed call does besides its work. Two rows of a task that differ in one of these do the same work under unlike conditions; the lint
/// `unlike-conditions` says so.
///
/// A subject declares its habits beside the sentence that tells them to a reader:
///
/// ```
/// use candor_lab::{Habit, Provenance};
///
/// let told = Provenance::of("dice", "1.0", "throws a die").telling([(Habit::DrawsBySystemCall, "randomness by a system call")]);
/// assert_eq!(told.timed, "throws a die; randomness by a system call");
/// assert!(told.habits().into_iter().eq([Habit::DrawsBySystemCall]));
/// assert!(Habit::DrawsBySystemCall.is_told_in(&told.timed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Habit {
    /// Asks the system for randomness in each operation.
    DrawsBySystemCall,
    /// Takes randomness from a store that one system call fills for several operations.
    DrawsFromStore,
    /// Hashes a message, where others are given its hash.
    Hashes,
    /// Reads a key from its bytes or checks one, where others were given it read and checked.
    ReadsKey,
    /// Works with tables or a parsed key that hold what others compute in each call: a matrix from its seed, all that depends on a key alone.
    KeepsTables,
    /// Allocates the memory or the contexts that it works in.
    Allocates,
    /// Does several operations at once, in one call.
    Batches,
    /// Does several operations by a call for each, where others may do them at once.
    OneAfterAnother,
    /// Leaves secrets behind in memory that it gives back.
    WipesNothing,
    /// Multiplies what comes from outside by a random number before it works on it with a secret key.
    Blinds,
    /// Looks at a key that it has made once more: whether its parts belong together, or whether it undoes what it does.
    ChecksMadeKey,
    /// Makes each prime from two smaller ones, where others draw numbers until one is a prime.
    AuxiliaryPrimes,
}

impl Habit {
    /// All habits, in the order in which they are told.
    pub const ALL: [Self; 12] = [
        Self::DrawsBySystemCall,
        Self::DrawsFromStore,
        Self::Hashes,
        Self::ReadsKey,
        Self::KeepsTables,
        Self::Allocates,
        Self::Batches,
        Self::OneAfterAnother,
        Self::WipesNothing,
        Self::Blinds,
        Self::ChecksMadeKey,
        Self::AuxiliaryPrimes,
    ];

    /// The end of the sentence "only this one …".
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::DrawsBySystemCall => "draws randomness by a system call",
            Self::DrawsFromStore => "draws randomness from a store that a system call fills for several",
            Self::Hashes => "hashes what others are given hashed",
            Self::ReadsKey => "reads or checks a key",
            Self::KeepsTables => "keeps tables or a parsed key",
            Self::Allocates => "allocates its memory",
            Self::Batches => "works on several at once",
            Self::OneAfterAnother => "works one after another",
            Self::WipesNothing => "wipes nothing",
            Self::Blinds => "blinds",
            Self::ChecksMadeKey => "checks the key that it has made",
            Self::AuxiliaryPrimes => "makes primes from auxiliary primes",
        }
    }

    /// The words for it in [`timed`](crate::Provenance::timed): any of them tells it. Run files that declare nothing go by these words, so they keep them.
    #[must_use]
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::DrawsBySystemCall => &["system call"],
            Self::DrawsFromStore => &["that the system fills for"],
            Self::Hashes => &["so it hashes"],
            Self::ReadsKey => &[
                "since it has no parsed form",
                "copies the peer's point and checks it",
                "of the peer made, checked and freed",
                "the call reads the key",
                "the call checks the key",
            ],
            Self::KeepsTables => &["kept with the parsed key"],
            Self::Allocates => &["the call allocates", "allocates in each call"],
            Self::Batches => &["as one batch"],
            Self::OneAfterAnother => &["one after another"],
            Self::WipesNothing => &["nothing is wiped", "nothing wiped"],
            Self::Blinds => &["blinded by"],
            Self::ChecksMadeKey => &["checks the finished key"],
            Self::AuxiliaryPrimes => &["from two auxiliary primes"],
        }
    }

    /// Whether the sentence about a timed call has the words for it.
    #[must_use]
    pub fn is_told_in(self, timed: &str) -> bool {
        self.words().iter().any(|words| timed.contains(words))
    }
}

impl fmt::Display for Habit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// Reads habits, each known and named once.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeSet<Habit>>, D::Error> {
    let mut habits = BTreeSet::new();
    for name in Vec::<String>::deserialize(from)? {
        let known: Result<_, Unknown> = Habit::deserialize(name.as_str().into_deserializer());
        let habit = known.map_err(|_| D::Error::custom(format!("habit {name:?} is not known to this version")))?;
        if !habits.insert(habit) {
            return Err(D::Error::custom(format!("habit {name:?} is declared twice")));
        }
    }
    Ok(Some(habits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provenance;

    fn told(timed: &str) -> Provenance {
        Provenance::of("test", "1", timed)
    }

    #[test]
    fn a_declaration_counts_and_the_sentence_does_not() {
        let sentence = "mixes; nothing is wiped";
        assert!(told(sentence).habits().is_empty());
        let declared = told(sentence).with([Habit::Allocates]).with([Habit::DrawsBySystemCall]);
        assert!(declared.habits().into_iter().eq([Habit::DrawsBySystemCall, Habit::Allocates]));
    }

    /// Run files from before habits were declared.
    #[test]
    fn where_nothing_was_declared_the_words_count() {
        let sealed = r#"{"timed":"mixes; randomness by a system call; nothing is wiped"}"#;
        let before: Provenance = serde_json::from_str(sealed).unwrap();
        assert_eq!(before.habits, None);
        assert!(before.habits().into_iter().eq([Habit::DrawsBySystemCall, Habit::WipesNothing]));
        let now: Provenance = serde_json::from_str(&sealed.replace("{", r#"{"habits":[],"#)).unwrap();
        assert!(now.habits().is_empty(), "declares that it has none");
    }

    #[test]
    fn habits_are_written_by_name_and_read_back() {
        let all = told("mixes").with(Habit::ALL);
        let written = serde_json::to_value(&all).unwrap();
        let names: Vec<&str> = written["habits"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
        assert_eq!((names.len(), names[0]), (Habit::ALL.len(), "draws-by-system-call"));
        assert_eq!(serde_json::from_value::<Provenance>(written).unwrap(), all);
    }

    /// What a sentence says of one habit must not be taken for another.
    #[test]
    fn no_words_tell_two_habits() {
        for habit in Habit::ALL {
            for words in habit.words() {
                let told: Vec<_> = Habit::ALL.into_iter().filter(|other| other.is_told_in(words)).collect();
                assert_eq!(told, [habit], "{words}");
            }
        }
    }
}
