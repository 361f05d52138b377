//! The guards that a client keeps, also from one run to the next.
//!
//! Every circuit begins at a guard. A client that drew its first relay anew each time would soon have come by each relay, and so by those of
//! anyone who watches. So it draws few, and keeps them. The rule:
//!
//! - The list has at most [`GuardRules::most`] guards that have been reached, in the order in which they were drawn. The first that can be used is used.
//! - A relay that was drawn and never reached is no guard yet. It is tried while there are fewer guards, after them, and it takes no guard's place.
//!   With the guards there are at most [`GuardRules::most_tried`], and they leave the list as soon as no relay list has them, or after [`GuardRules::unlisted`].
//! - A relay is drawn only if no path is possible from any in the list: none of them is listed, up, and far enough from an exit.
//! - A guard that could not be reached, or refused a circuit, is passed over for [`GuardRules::retry`], twice as long each time it fails again before a circuit
//!   is built, up to [`GuardRules::most_retry`]; then it is tried again, in its old place. That is not kept in the file.
//! - When all have failed, it is the client that is cut off, most likely. So the one that was not tried for longest is tried once in
//!   [`GuardRules::retry`] all the same.
//! - One whose link has gone dead is tried over a new link first. Only if that fails, or goes dead too before it has carried a stream, could it not be reached.
//! - One from which four circuits in turn went no further is passed over like that too, as long as there is another guard, or a relay to be drawn.
//! - One through which four circuits in turn were built and failed before a stream had brought bytes comes behind the other guards that were reached, for a minute and twice as
//!   long each time, up to [`GuardRules::most_retry`], again with each such circuit until a stream brings bytes. Failures that may be the exit's doing count once for each exit,
//!   and once more after that exit has carried a stream from another guard. Nobody is drawn for that: an exit that sends what nobody asked for can bring it about. It is not kept in the file either.
//! - A guard leaves the list [`GuardRules::lifetime`] after it was drawn, or when no relay list has had it for [`GuardRules::unlisted`].
//!   Nothing else removes one. Both are by a time that is sure ([`When`]): a clock that is ahead for a moment ends none.
//!
//! When all places are taken and no guard can be used, there is no path, and the error says so. So someone who can make guards unreachable chooses no
//! guard for a client that has reached three, as many as it may have. For one that has reached fewer he can have others drawn, at random and a dozen in all, and
//! let the client reach only those among them that he likes. And relays that are listed but aren't there take no places from those that are, unless a
//! dozen of them are drawn first.

use super::{Candidate, Wish, choose, draw_guard};
use crate::{Error, files};
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many guards there are, and how long they stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardRules {
    /// The most guards.
    pub most: usize,
    /// The most guards together with relays that were drawn and never reached.
    pub most_tried: usize,
    /// How long a guard is kept.
    pub lifetime: Duration,
    /// How long it may be missing from relay lists.
    pub unlisted: Duration,
    /// How long one that failed is passed over, the first time.
    pub retry: Duration,
    /// The longest that it is passed over.
    pub most_retry: Duration,
}

const DAY: Duration = Duration::from_secs(86_400);

impl Default for GuardRules {
    /// As Tor has them: three guards, 120 days, 20 days; twelve with those that were never reached; and from ten seconds to an hour.
    fn default() -> Self {
        Self {
            most: 3,
            most_tried: 12,
            lifetime: 120 * DAY,
            unlisted: 20 * DAY,
            retry: Duration::from_secs(10),
            most_retry: Duration::from_secs(3600),
        }
    }
}

/// What time it is, as far as guards are concerned.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// Seconds since 1970.
    pub day: u64,
    /// Whether that is sure: authorities have signed it, or the clock has gone on evenly for an hour. Without that no guard's time is over.
    pub is_sure: bool,
    /// For waits.
    pub instant: Instant,
}

/// A client's guards.
#[derive(Debug)]
pub struct Guards {
    path: Option<PathBuf>,
    rules: GuardRules,
    kept: Vec<Kept>,
    down: HashMap<[u8; 32], Down>,
    /// Those whose link has gone dead, when last, and which have brought no bytes of a stream since.
    lost: HashMap<[u8; 32], Instant>,
    /// Those whose circuits have failed once they were built, since a stream brought bytes.
    barren: HashMap<[u8; 32], Barren>,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    guards: Vec<Entry>,
}

/// A guard in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    identity: String,
    drawn: u64,
    last_listed: u64,
    /// Files of before there was a difference have guards only.
    #[serde(default = "yes")]
    reached: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug)]
struct Kept {
    identity: [u8; 32],
    /// Seconds since 1970.
    drawn: u64,
    last_listed: u64,
    /// A circuit has begun there.
    reached: bool,
}

#[derive(Clone, Copy, Debug)]
struct Down {
    until: Instant,
    wait: Duration,
    /// When it failed last.
    since: Instant,
    /// It was reached, and nothing behind it.
    is_dead_end: bool,
    /// Circuits that went no further, in turn.
    in_vain: u32,
}

impl Down {
    /// It is passed over from now on, if it isn't already: circuits that fail together count once.
    fn fail(&mut self, now: Instant, is_dead_end: bool, rules: &GuardRules) {
        self.since = now;
        if self.until <= now {
            self.wait = (self.wait * 2).min(rules.most_retry);
            self.until = now + self.wait;
            self.is_dead_end = is_dead_end;
        }
    }
}

/// What only a stream that is carried makes up for: that circuits are built says nothing of it.
#[derive(Clone, Debug)]
struct Barren {
    /// Circuits in turn.
    in_turn: u32,
    /// Exits of those that these may have ended themselves.
    exits: Vec<[u8; 32]>,
    /// When the last of them failed.
    since: Instant,
    /// It comes behind others until then, and for how long the next time.
    until: Instant,
    wait: Duration,
}

/// So many circuits in turn that go no further from a guard, or carry nothing, have it passed over.
const DEAD_END: u32 = 4;
/// For how long the latter first comes behind others: longer than a stream is tried on one circuit.
const BARREN: Duration = Duration::from_secs(60);

/// The most bytes that the file may have.
const MOST: usize = 64 << 10;
/// How stale the time of the last listing in the file may be.
const STALE: u64 = 86_400;

impl Guards {
    /// No guards yet, and none that are kept in a file.
    pub fn forgetful(rules: GuardRules) -> Self {
        Self { path: None, rules, kept: Vec::new(), down: HashMap::new(), lost: HashMap::new(), barren: HashMap::new() }
    }

    /// Those in the file at `path`, which is made when the first is drawn.
    ///
    /// # Errors
    /// [`Error::File`] if it can't be read, or is not a list of guards. To begin anew quietly would hand the choice of guards to whoever can
    /// damage the file.
    pub fn load(path: &Path, rules: GuardRules) -> Result<Self, Error> {
        let kept = match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::file(path, &error)),
            Ok(metadata) if metadata.len() > MOST as u64 => return Err(unfit(path, "it is too long")),
            Ok(_) => {
                let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, &error))?;
                Self::parse(&text, rules).map_err(|why| unfit(path, &why))?.kept
            }
        };
        Ok(Self { path: Some(path.to_owned()), ..Self { kept, ..Self::forgetful(rules) } })
    }

    /// Those of a file's text; they are kept in no file.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str, rules: GuardRules) -> Result<Self, String> {
        Ok(Self { kept: parse(text)?, ..Self::forgetful(rules) })
    }

    /// A path for the wish among these relays, as their places in `relays`. Draws a guard if it takes one; says whether the list has changed
    /// and should be [kept](Self::save).
    ///
    /// # Errors
    /// [`Error::Path`], which says what is missing.
    pub fn path<R: Candidate>(
        &mut self,
        relays: &[R],
        wish: &Wish<'_>,
        when: When,
        random: &mut impl Rng,
    ) -> Result<(Vec<usize>, bool), Error> {
        let When { day: now, instant, .. } = when;
        let mut changed = self.turn(relays, when);
        let is_up =
            |guard: &[u8; 32], down: &HashMap<[u8; 32], Down>| down.get(guard).is_none_or(|down| down.until <= instant);
        let (mut guards, tried): (Vec<&Kept>, Vec<&Kept>) = self.kept.iter().partition(|kept| kept.reached);
        let is_barren = |guard: &[u8; 32]| self.barren.get(guard).is_some_and(|barren| barren.until > instant);
        // Otherwise they keep their order.
        guards.sort_by_key(|kept| is_barren(&kept.identity) || wish.doubted.contains(&kept.identity));
        let (is_short, has_room) = (guards.len() < self.rules.most, self.kept.len() < self.rules.most_tried);
        let usable = guards.into_iter().chain(tried.into_iter().filter(|_| is_short)).map(|kept| kept.identity);
        let (up, down): (Vec<[u8; 32]>, Vec<_>) = usable.partition(|guard| is_up(guard, &self.down));
        if let Some(path) = choose(relays, &up, wish, random) {
            return Ok((path, changed));
        }
        // Another guard is neither tried nor drawn because exits have refused.
        if wish.before_refusals().is_some_and(|wish| choose(relays, &up, &wish, random).is_some()) {
            return Err(Error::Path(self.why_not(relays, wish, up.len())));
        }
        let is_listed = |guard: &[u8; 32]| relays.iter().any(|relay| relay.identity() == guard);
        let is_one = |guard: &[u8; 32]| wish.may_enter(guard) && is_listed(guard);
        let last_resort = self.last_resort(&down, !up.iter().any(is_one), instant);
        let known: Vec<[u8; 32]> = self.kept.iter().map(|guard| guard.identity).collect();
        let drawn = if is_short && has_room { draw_guard(relays, &known, wish, random) } else { None };
        if let Some(identity) = drawn {
            self.kept.push(Kept { identity, drawn: now, last_listed: now, reached: false });
            changed = true;
            if let Some(path) = choose(relays, &[identity], wish, random) {
                return Ok((path, changed));
            }
        }
        if let Some(path) = choose(relays, &last_resort, wish, random) {
            return Ok((path, changed));
        }
        Err(Error::Path(self.why_not(relays, wish, up.len())))
    }

    /// Which of those that are passed over to try all the same: those that were reached; and if none is up, the one that was not tried for longest.
    fn last_resort(&self, down: &[[u8; 32]], are_all: bool, now: Instant) -> Vec<[u8; 32]> {
        let failed = |guard: &[u8; 32]| self.down.get(guard).map(|down| down.since);
        let dead_ends = down.iter().filter(|guard| self.down.get(*guard).is_some_and(|down| down.is_dead_end));
        let is_time = down.iter().filter_map(failed).max().is_some_and(|last| now >= last + self.rules.retry);
        let oldest = down.iter().min_by_key(|guard| failed(guard)).filter(|_| are_all && is_time);
        dead_ends.chain(oldest).copied().collect()
    }

    /// Drops those whose time is over, and notes which are listed.
    fn turn<R: Candidate>(&mut self, relays: &[R], when: When) -> bool {
        let now = when.day;
        let before = self.kept.len();
        let rules = self.rules;
        let mut renewed = false;
        let is_listed = |guard: &Kept| relays.iter().any(|relay| *relay.identity() == guard.identity);
        self.kept.retain(|guard| guard.reached || is_listed(guard));
        if when.is_sure {
            for guard in self.kept.iter_mut().filter(|guard| is_listed(guard)) {
                // It was drawn by a clock that was ahead.
                guard.drawn = guard.drawn.min(now);
                // The file need not be written each time.
                if now.abs_diff(guard.last_listed) > STALE {
                    (guard.last_listed, renewed) = (now, true);
                }
            }
            // A clock that was set back makes no guard old.
            self.kept.retain(|guard| {
                let lifetime = if guard.reached { rules.lifetime } else { rules.unlisted };
                now.saturating_sub(guard.drawn) < lifetime.as_secs()
                    && now.saturating_sub(guard.last_listed) < rules.unlisted.as_secs()
            });
        }
        self.barren.retain(|guard, _| self.kept.iter().any(|kept| kept.identity == *guard));
        renewed || self.kept.len() != before
    }

    fn why_not<R: Candidate>(&self, relays: &[R], wish: &Wish<'_>, up: usize) -> String {
        let fit = relays.iter().filter(|relay| relay.offers(wish.handshake)).count();
        let leads = |relay: &&R| relay.offers(wish.handshake) && relay.permits(wish.host, wish.port);
        let exits = relays.iter().filter(leads).count();
        let (hops, handshake, port) = (wish.hops, wish.handshake, wish.port);
        match (fit, exits) {
            (fit, _) if fit < hops => {
                format!("expected {hops} relays that offer {handshake}; found {fit} among {}", relays.len())
            }
            (_, 0) => format!("no relay that offers {handshake} is an exit to that host and port {port}"),
            _ if wish.entries.is_some_and(<[_]>::is_empty) => {
                "none of the relays that circuits are to begin at is listed".to_owned()
            }
            (_, exits) if wish.not_exits.len() >= exits => format!("all {exits} exits to port {port} have refused"),
            _ if !wish.not_exits.is_empty() => {
                format!(
                    "those exits to port {port} that go with the guard have refused, and another is not taken for that"
                )
            }
            _ if up < self.kept.len() => format!(
                "{} of {} guards could not be reached lately, and no path is possible from the others",
                self.kept.len() - up,
                self.kept.len()
            ),
            _ => "no relays are far enough from each other; relays of one family, /16 or IPv6 /32 don't share a path \
                  (--test-network lifts the rule about addresses)"
                .to_owned(),
        }
    }

    /// Notes that a guard could not be reached.
    pub fn failed(&mut self, guard: &[u8; 32], now: Instant) {
        if !self.kept.iter().any(|kept| kept.identity == *guard) {
            return;
        }
        let rules = self.rules;
        self.down(guard, now).fail(now, false, &rules);
    }

    /// Notes that the link to a guard has gone dead under a circuit that was begun at `began`. Says whether the guard counts as one that could not be
    /// reached: a link that was made after another had gone dead is dead as well, and none has carried a stream meanwhile.
    pub fn lost_link(&mut self, guard: &[u8; 32], began: Instant, now: Instant) -> bool {
        if !self.kept.iter().any(|kept| kept.identity == *guard) {
            return false;
        }
        let before = self.lost.get(guard).copied();
        // Circuits of one link fail together.
        if before.is_some_and(|before| began < before) {
            return false;
        }
        self.lost.insert(*guard, now);
        if before.is_some() {
            self.failed(guard, now);
        }
        before.is_some()
    }

    /// Notes that a guard has carried the first bytes of a stream, or the answer to a look-up, from that exit, by a circuit that was begun at `began`. So what it has failed
    /// to carry is forgotten, and that its link was lost, unless the circuit is older than that: it says nothing of the links that came later. And what was
    /// spoilt between another guard and that exit is no longer taken for the exit's doing.
    pub fn carried(&mut self, guard: &[u8; 32], exit: &[u8; 32], began: Instant) {
        if self.lost.get(guard).is_some_and(|lost| began >= *lost) {
            self.lost.remove(guard);
        }
        self.barren.remove(guard);
        self.barren.values_mut().for_each(|barren| barren.exits.retain(|other| other != exit));
    }

    /// Notes that a circuit was built, and has failed before it carried a stream that was begun on it at that moment, by something that its guard can bring about. `exit`: its exit, if that
    /// can as well; such failures of one exit count once. Says whether the guard comes behind others from now on.
    pub fn carried_nothing(&mut self, guard: &[u8; 32], exit: Option<&[u8; 32]>, began: Instant, now: Instant) -> bool {
        if !self.kept.iter().any(|kept| kept.identity == *guard) {
            return false;
        }
        let first = BARREN.min(self.rules.most_retry);
        let new = Barren { in_turn: 0, exits: Vec::new(), since: now, until: now, wait: first };
        let barren = self.barren.entry(*guard).or_insert(new);
        // Streams that fail together count once.
        if (barren.in_turn > 0 && began < barren.since) || exit.is_some_and(|exit| barren.exits.contains(exit)) {
            return false;
        }
        // One exit more or less is nothing to a guard that is behind already.
        barren.exits.extend(exit.filter(|_| barren.in_turn < DEAD_END));
        (barren.in_turn, barren.since) = (barren.in_turn.saturating_add(1), now);
        let is_over = barren.in_turn >= DEAD_END && barren.until <= now;
        if is_over {
            // Once it is due again each exit counts anew: with four exits in all nothing else would bring it behind a second time.
            barren.exits.clear();
            barren.until = now + barren.wait;
            barren.wait = (barren.wait * 2).min(self.rules.most_retry);
        }
        is_over
    }

    /// Whether a guard has come behind others since a circuit was begun at that moment.
    pub(crate) fn is_behind_since(&self, guard: &[u8; 32], began: Instant, now: Instant) -> bool {
        self.barren.get(guard).is_some_and(|barren| barren.until > now && barren.since >= began)
    }

    /// Notes that a circuit which was begun at that moment went no further than the guard.
    pub fn went_no_further(&mut self, guard: &[u8; 32], began: Instant, now: Instant) {
        if !self.kept.iter().any(|kept| kept.identity == *guard) {
            return;
        }
        let rules = self.rules;
        let entry = self.down(guard, now);
        // Circuits that fail together count once.
        if entry.in_vain > 0 && began < entry.since {
            return;
        }
        (entry.in_vain, entry.since) = (entry.in_vain + 1, now);
        if entry.in_vain >= DEAD_END {
            entry.in_vain = 0;
            entry.fail(now, true, &rules);
        }
    }

    fn down(&mut self, guard: &[u8; 32], now: Instant) -> &mut Down {
        let wait = self.rules.retry / 2;
        let down = Down { until: now, wait, since: now, is_dead_end: false, in_vain: 0 };
        self.down.entry(*guard).or_insert(down)
    }

    /// Notes that a guard was reached; says whether that is the first time, so that the list should be [kept](Self::save).
    pub fn reached(&mut self, guard: &[u8; 32]) -> bool {
        self.down.remove(guard);
        let kept = self.kept.iter_mut().find(|kept| kept.identity == *guard);
        kept.is_some_and(|kept| !std::mem::replace(&mut kept.reached, true))
    }

    /// The guards, in their order, and relays that were drawn to be some and not reached yet.
    pub fn identities(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.kept.iter().map(|guard| &guard.identity)
    }

    /// Where they are kept, and the text.
    pub(crate) fn document(&self) -> Option<(PathBuf, String)> {
        Some((self.path.clone()?, self.text()))
    }

    /// The text of their file.
    ///
    /// # Panics
    /// Never: text and numbers have a JSON form.
    pub fn text(&self) -> String {
        let entry = |guard: &Kept| Entry {
            identity: base16ct::lower::encode_string(&guard.identity),
            drawn: guard.drawn,
            last_listed: guard.last_listed,
            reached: guard.reached,
        };
        let document = Document { guards: self.kept.iter().map(entry).collect() };
        serde_json::to_string_pretty(&document).expect("text and numbers have a JSON form") + "\n"
    }

    /// Writes the file, in one step, for its owner alone.
    ///
    /// # Errors
    /// [`Error::File`]; the guards go on without.
    pub fn save(&self) -> Result<(), Error> {
        match self.document() {
            Some((path, text)) => files::replace(&path, &text, 0o600),
            None => Ok(()),
        }
    }
}

fn unfit(path: &Path, why: &str) -> Error {
    let why = format!("not a list of guards ({why}); restore it, or remove it to have new guards drawn");
    Error::File { path: path.to_owned(), why }
}

fn parse(text: &str) -> Result<Vec<Kept>, String> {
    let document: Document = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let kept = |entry: Entry| {
        let bytes = base16ct::lower::decode_vec(&entry.identity).ok();
        let identity = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let identity = identity.ok_or_else(|| "an identity is not 64 hexadecimal digits".to_owned())?;
        Ok(Kept { identity, drawn: entry.drawn, last_listed: entry.last_listed, reached: entry.reached })
    };
    document.guards.into_iter().map(kept).collect()
}

#[cfg(test)]
mod tests;
