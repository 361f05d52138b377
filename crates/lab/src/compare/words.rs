//! Whether two builds tell of the same work, in whatever words.
//!
//! A subject declares its habits and the version of its contract; where both builds do, the words are for readers. Runs from before 2026-11-29 declare no contract, and those
//! from before 2026-11-26 no habits. Of them the sentences are compared, as they would read today: [`FORMER`] has those that were put into other words while the code stayed what it was.

use crate::{Habit, Provenance};
use std::collections::BTreeSet;

/// A sentence that was reworded.
struct Former {
    /// It contains this.
    of: &'static str,
    /// Words of then.
    from: &'static str,
    /// Words of now.
    to: &'static str,
    /// What stands at the end now, if it did not yet.
    also: &'static str,
}

const fn former(of: &'static str, from: &'static str, to: &'static str, also: &'static str) -> Former {
    Former { of, from, to, also }
}

const DRAWS: &str = "randomness by a system call";

/// What runs without declared habits say, and what the same code said later, mostly since commit 7402335b, which changed declarations and no calls.
const FORMER: &[Former] = &[
    former("", ", by a system call", "", DRAWS),
    former("", ", here a system call", "", DRAWS),
    former("", "; randomness by system calls", "", DRAWS),
    // FIPS 203 has no randomness in decapsulation.
    former("decapsulates bytes", "; randomness by a system call", "", ""),
    former("", "; through a stand-in for librandombytes", ", through a stand-in for librandombytes", ""),
    former(
        "",
        "; EVP_PKEY of the peer made, checked and freed in the timed call",
        "",
        "the call allocates an EVP_PKEY for the peer's key; the call checks the key of the peer",
    ),
    former(
        "",
        "; contexts for the two keys made in the timed call, that of key generation before",
        "; context for key generation readied before",
        "the call allocates contexts for the two keys",
    ),
    former(
        "",
        "; context for generation readied before; contexts for signing and decryption made in the timed call",
        "; context readied before",
        "the call allocates contexts for signing and decryption",
    ),
    former("", "; keys are not wiped", "", "nothing is wiped"),
    former(
        "sets a key",
        ", by a call that takes the key's bytes (setting a key copies them)",
        ": copies its bytes",
        "",
    ),
    former(
        "",
        ", by a call that takes the key's bytes (setting a key copies them)",
        "",
        "the call reads the key from its bytes",
    ),
    former(
        "sets a key",
        "(EVP_AEAD_CTX, which setting a key allocates)",
        "(EVP_AEAD_CTX)",
        "the call allocates its context",
    ),
    former("", "(EVP_AEAD_CTX, which setting a key allocates)", "(EVP_AEAD_CTX)", ""),
    former("", "(Sha256::with_cpu,", "(with_cpu,", ""),
    former("", ", one call for each", ", one after another, a call for each", ""),
    former("", "all in one call (Batch", "as one batch in one call (Batch", ""),
    former("", " in one call, each with its own key", " as one batch in one call, each with its own key", ""),
    former("", " in one call, all randomness", " as one batch in one call, all randomness", ""),
    former("", "; Field::mul_many", "; Field::mul_many", "up to a whole ring of products as one batch"),
    former("CREATE2", " in one pass:", " as one batch:", ""),
    former("to 8 KE1", ", in one pass:", ":", "as one batch"),
    former("to 8 KE1", ", one by one:", ":", "one after another"),
    // Handshakes and logins drew randomness before their sentences said so.
    former("", "our own implementations)", "our own implementations)", DRAWS),
    former("KE1 out as bytes", "with our own ML-KEM)", "with our own ML-KEM)", DRAWS),
    former("KE1 out as bytes (TripleDhKem<", ")", ")", DRAWS),
    former("KE2 out as bytes", "with our own ML-KEM)", "with our own ML-KEM)", DRAWS),
    former(
        "a whole handshake",
        "ML-KEM from libcrux-ml-kem",
        "ML-KEM from libcrux-ml-kem",
        "randomness for ML-KEM by a system call",
    ),
    former("a whole handshake", "; X25519 from x25519-dalek", "; X25519 from x25519-dalek", DRAWS),
    former("both sides, each message parsed", "with our own ML-KEM)", "with our own ML-KEM)", DRAWS),
    former("keys that the library has for it", "made ready", "made ready", DRAWS),
    former("a whole handshake", "in place of ML-KEM", "in place of ML-KEM", DRAWS),
    former("a whole handshake", " static mceliece", " static mceliece", DRAWS),
    // How a task is described.
    former("Argon2id with", "into 64 bytes", "into 64 bytes in memory that is kept from call to call", ""),
    former("hashes one message", "SHA-256 of ", "SHA-256 (FIPS 180-4) of ", ""),
    former(
        "messages of",
        "all at once where the subject's name has a + (our batches), else",
        "all in one call where the subject's name ends in +batch, else",
        "",
    ),
];

/// Tasks that have another name today, with it.
const FORMER_TASKS: [(&str, &str); 2] =
    [("ksf/argon2id/64m", "ksf/argon2id/64m/kept"), ("ksf/argon2id/256m", "ksf/argon2id/256m/kept")];

/// The name that a task of a run has today.
pub fn todays_name(task: &str) -> &str {
    FORMER_TASKS.iter().find(|(former, _)| *former == task).map_or(task, |(_, now)| now)
}

/// In what the timed calls of two subjects of one name differ, if not only in words: by version of contract and habits, or in older runs by sentences that are known
/// to say the same.
pub fn differing_work(one: &Provenance, other: &Provenance) -> Option<String> {
    difference(one, other, ("the one", "the other"))
}

/// What sentences knew nothing of before habits were declared.
const UNTOLD: [Habit; 3] = [Habit::KeepsTables, Habit::Batches, Habit::OneAfterAnother];

/// In what two timed calls differ, as clauses about the one and the other.
pub(super) fn difference(one: &Provenance, other: &Provenance, (run, later): (&str, &str)) -> Option<String> {
    match (one.contract, other.contract) {
        (Some(one), Some(other)) if one != other => {
            return Some(format!(
                "the timed call is by version {one} of its contract in {run} and by version {other} in {later}"
            ));
        }
        (Some(_), Some(_)) => {}
        _ if words(one) != words(other) => {
            return Some(format!("what is timed reads “{}” in {run} and “{}” in {later}", one.timed, other.timed));
        }
        _ => {}
    }
    let is_silent = one.habits.is_none() || other.habits.is_none();
    let (ours, theirs) = (habits(one), habits(other));
    let told = |habit: &&Habit| !is_silent || !UNTOLD.contains(habit);
    let only = |habits: &BTreeSet<Habit>, others: &BTreeSet<Habit>, run: &str| {
        let only: Vec<_> = habits.difference(others).filter(told).map(|habit| habit.describe()).collect();
        (!only.is_empty()).then(|| format!("only in {run} it {}", only.join(", ")))
    };
    let clauses: Vec<String> = [only(&ours, &theirs, run), only(&theirs, &ours, later)].into_iter().flatten().collect();
    (!clauses.is_empty()).then(|| format!("the timed calls differ: {}", clauses.join("; ")))
}

/// Whether two sentences are the same but for words. They may be other words under one contract.
pub(super) fn are_alike(one: &Provenance, other: &Provenance) -> bool {
    words(one) == words(other)
}

/// Whether two descriptions of a task are the same but for words.
pub(super) fn is_one_task(one: &str, other: &str) -> bool {
    today(one) == today(other)
}

/// The sentence without what tells habits, which are compared by themselves, and without the folders of libraries.
fn words(of: &Provenance) -> String {
    let told = as_today(of);
    let mut clauses = told.split("; ");
    let first = clauses.next().unwrap_or_default().to_owned();
    let kept = clauses.filter(|clause| !tells_habit(clause)).fold(first, |sentence, clause| sentence + "; " + clause);
    let name = |word: &str| -> String {
        let (open, path) = word.strip_prefix('(').map_or(("", word), |path| ("(", path));
        let is_path = path.starts_with('/') || path.starts_with("target/");
        let path = if is_path { path.rsplit('/').next().unwrap_or(path) } else { path };
        format!("{open}{path}")
    };
    kept.split(' ').map(name).collect::<Vec<_>>().join(" ")
}

/// The habits, by the sentence as it would read today where none are declared.
fn habits(of: &Provenance) -> BTreeSet<Habit> {
    Provenance { timed: as_today(of), ..of.clone() }.habits()
}

fn as_today(of: &Provenance) -> String {
    if of.habits.is_some() { of.timed.clone() } else { today(&of.timed) }
}

fn today(sentence: &str) -> String {
    FORMER.iter().fold(sentence.to_owned(), |sentence, Former { of, from, to, also }| {
        if !sentence.contains(of)
            || !sentence.contains(from)
            || (from != to && sentence.contains(to) && to.contains(from))
        {
            return sentence;
        }
        let mut now = sentence.replacen(from, to, 1);
        if !also.is_empty() && !now.contains(also) {
            now.extend(["; ", also]);
        }
        now
    })
}

/// Whether a clause says nothing but a habit.
fn tells_habit(clause: &str) -> bool {
    const BEGIN: [&str; 5] = ["randomness ", "the call ", "nothing is wiped", "as one batch", "one after another"];
    let is_telling =
        BEGIN.iter().any(|begin| clause.starts_with(begin)) || clause.ends_with("kept with the parsed key");
    is_telling && Habit::ALL.iter().any(|habit| habit.is_told_in(clause))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(timed: &str) -> Provenance {
        Provenance { habits: None, contract: None, ..Provenance::of("it", "1", timed) }
    }

    fn differ(one: &Provenance, other: &Provenance) -> Option<String> {
        difference(one, other, ("a", "b"))
    }

    const DRAWN: [(Habit, &str); 1] = [(Habit::DrawsBySystemCall, DRAWS)];

    #[test]
    fn what_was_put_into_other_words_is_the_same() {
        let now = |timed: &str| Provenance { contract: None, ..Provenance::of("it", "1", timed).telling(DRAWN) };
        let then =
            silent("makes a key, with randomness from the library's own source, by a system call (through T); as ever");
        assert_eq!(
            differ(&then, &now("makes a key, with randomness from the library's own source (through T); as ever")),
            None
        );
        let other =
            differ(&then, &now("makes a key, with randomness from the library's own source (through U); as ever"));
        assert!(other.unwrap().starts_with("what is timed reads"));
        let at = |path: &str| silent(&format!("hashes (EVP, {path}/libcrypto.so.3)"));
        assert_eq!(differ(&at("/usr/lib/x86_64-linux-gnu"), &at("target/peers")), None, "a library lies where it lies");
    }

    #[test]
    fn habits_are_compared_and_not_what_nobody_could_tell_then() {
        let told = |habits: &[(Habit, &str)]| Provenance {
            contract: None,
            ..Provenance::of("it", "1", "makes a key").telling(habits.iter().copied())
        };
        let draws = "the timed calls differ: only in b it draws randomness by a system call";
        assert_eq!(differ(&told(&[]), &told(&DRAWN)).as_deref(), Some(draws));
        assert_eq!(differ(&silent("makes a key"), &told(&DRAWN)).as_deref(), Some(draws));
        let keeps = [(Habit::KeepsTables, "the matrix is kept with the parsed key")];
        assert_eq!(differ(&silent("makes a key"), &told(&keeps)), None);
        assert!(differ(&told(&[]), &told(&keeps)).is_some());
        // Two nonces that both come from a system call, and from other things besides.
        assert!(
            differ(
                &silent("signs; the nonce by a system call"),
                &silent("signs; the nonce from the key and 32 bytes of a system call")
            )
            .is_some()
        );
    }

    #[test]
    fn under_one_contract_words_are_for_readers_and_habits_are_not() {
        let now = |timed: &str| Provenance::of("it", "1", timed);
        assert_eq!(differ(&now("makes a key"), &now("generates a key")), None);
        assert!(!are_alike(&now("makes a key"), &now("generates a key")));
        assert!(differ(&now("makes a key"), &now("makes a key").with([Habit::Blinds])).is_some());
        let changed = differ(&now("makes a key"), &now("makes a key").by_contract(2));
        assert_eq!(
            changed.as_deref(),
            Some("the timed call is by version 1 of its contract in a and by version 2 in b")
        );
        // A run without a contract goes by its words.
        let before = Provenance { contract: None, ..now("makes a key") };
        assert!(differ(&before, &now("makes a key")).is_none() && differ(&before, &now("generates a key")).is_some());
    }
}
