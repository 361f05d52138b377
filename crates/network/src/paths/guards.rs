//! The guards that a client keeps, also from one run to the next.
//!
//! Every circuit begins at a guard. A client that drew its first relay anew each time would soon have come by each relay, and so by those of
//! anyone who watches. So it draws few, and keeps them. The rule:
//!
//! - The list has at most [`GuardRules::most`] guards that have been reached, in the order in which they were drawn. The first that can be used is used.
//! - A relay that was drawn and never reached is no guard yet. It is tried while there are fewer guards, after them, and it takes no guard's place.
//!   With the guards there are at most [`GuardRules::most_tried`], and they leave the list as soon as no relay list has them, or after [`GuardRules::unlisted`].
//! - A relay is drawn only if no path is possible from any in the list: none of them is listed, up, and far enough from an exit.
//! - A guard that could not be reached is passed over for [`GuardRules::retry`], twice as long each time it fails again, up to
//!   [`GuardRules::most_retry`]; then it is tried again, in its old place. That is not kept in the file.
//! - A guard leaves the list [`GuardRules::lifetime`] after it was drawn, or when no relay list has had it for [`GuardRules::unlisted`].
//!   Nothing else removes one. Both are by a time that is sure ([`When`]): a clock that is ahead for a moment ends none.
//!
//! When all places are taken and no guard can be used, there is no path, and the error says so. Someone who can make guards unreachable
//! therefore chooses no guard for a client that has its own. For one that has none yet he can choose among a dozen that are drawn, and no more. And relays that
//! are listed but aren't there take no places from those that are, unless a dozen of them are drawn first.

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
}

/// The most bytes that the file may have.
const MOST: usize = 64 << 10;
/// How stale the time of the last listing in the file may be.
const STALE: u64 = 86_400;

impl Guards {
    /// No guards yet, and none that are kept in a file.
    pub fn forgetful(rules: GuardRules) -> Self {
        Self { path: None, rules, kept: Vec::new(), down: HashMap::new() }
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
        let (guards, tried): (Vec<&Kept>, Vec<&Kept>) = self.kept.iter().partition(|kept| kept.reached);
        let (is_short, has_room) = (guards.len() < self.rules.most, self.kept.len() < self.rules.most_tried);
        let usable = guards.into_iter().chain(tried.into_iter().filter(|_| is_short)).map(|kept| kept.identity);
        let up: Vec<[u8; 32]> = usable.filter(|guard| is_up(guard, &self.down)).collect();
        if let Some(path) = choose(relays, &up, wish, random) {
            return Ok((path, changed));
        }
        let known: Vec<[u8; 32]> = self.kept.iter().map(|guard| guard.identity).collect();
        let drawn = if is_short && has_room { draw_guard(relays, &known, wish, random) } else { None };
        if let Some(identity) = drawn {
            self.kept.push(Kept { identity, drawn: now, last_listed: now, reached: false });
            changed = true;
            if let Some(path) = choose(relays, &[identity], wish, random) {
                return Ok((path, changed));
            }
        }
        Err(Error::Path(self.why_not(relays, wish, up.len())))
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
        let entry = self.down.entry(*guard).or_insert(Down { until: now, wait: rules.retry / 2 });
        // Circuits that fail together count once.
        if entry.until <= now {
            entry.wait = (entry.wait * 2).min(rules.most_retry);
            entry.until = now + entry.wait;
        }
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
mod tests {
    use super::*;
    use crate::{ListedRelay, Policy, RelayKeys};
    use candor_onion::handshake::HandshakeType;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn relays(count: u8) -> Vec<ListedRelay> {
        let relay = |number: u8| {
            let keys = RelayKeys::generate().unwrap();
            let address = ([number, 0, 0, 1], 9001).into();
            let listed = keys.listed(None, address, &[HandshakeType::NtorV3]).unwrap();
            listed.with_exit(&Policy::parse("*:443").unwrap())
        };
        (1..=count).map(relay).collect()
    }

    const WISH: Wish<'_> = Wish {
        hops: 2,
        handshake: HandshakeType::NtorV3,
        host: None,
        port: 443,
        test_network: false,
        not_exits: &[],
        absent: &[],
        entries: None,
    };
    const DAY: u64 = 86_400;

    fn sure(day: u64, instant: Instant) -> When {
        When { day, is_sure: true, instant }
    }

    /// The guard of a path at that time.
    fn guard(guards: &mut Guards, relays: &[ListedRelay], now: u64, at: Instant) -> Option<[u8; 32]> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(now);
        let path = guards.path(relays, &WISH, sure(now, at), &mut random).ok()?.0;
        Some(*relays[path[0]].identity())
    }

    #[test]
    fn a_guard_stays_for_its_time_and_is_the_same_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let (file, relays, at) = (folder.path().join("guards"), relays(8), Instant::now());
        let mut guards = Guards::load(&file, GuardRules::default()).unwrap();
        let first = guard(&mut guards, &relays, 0, at).unwrap();
        guards.reached(&first);
        guards.save().unwrap();
        for day in 1..120 {
            let mut again = Guards::load(&file, GuardRules::default()).unwrap();
            assert_eq!(guard(&mut again, &relays, day * DAY, at), Some(first), "day {day}");
            again.save().unwrap();
        }
        let mut again = Guards::load(&file, GuardRules::default()).unwrap();
        let drawn = |guards: &Guards| guards.kept.iter().map(|guard| guard.drawn).collect::<Vec<_>>();
        assert_eq!(drawn(&again), [0]);
        assert!(guard(&mut again, &relays, 120 * DAY, at).is_some());
        assert_eq!(drawn(&again), [120 * DAY], "another was drawn");
        assert_eq!(guards.identities().count(), 1);
    }

    #[test]
    fn a_guard_that_nobody_lists_is_forgotten_after_its_time_and_no_sooner() {
        let (relays, at) = (relays(8), Instant::now());
        let mut guards = Guards::forgetful(GuardRules::default());
        let first = guard(&mut guards, &relays, 0, at).unwrap();
        guards.reached(&first);
        let others: Vec<_> = relays.into_iter().filter(|relay| relay.identity() != &first).collect();
        let second = guard(&mut guards, &others, DAY, at).unwrap();
        guards.reached(&second);
        assert_eq!(guards.identities().collect::<Vec<_>>(), [&first, &second]);
        guard(&mut guards, &others, 19 * DAY, at).unwrap();
        assert_eq!(guards.identities().count(), 2);
        guard(&mut guards, &others, 20 * DAY, at).unwrap();
        assert_eq!(guards.identities().collect::<Vec<_>>(), [&second]);
    }

    #[test]
    fn a_clock_that_nobody_vouches_for_ends_no_guard() {
        let (mut relays, at) = (relays(8), Instant::now());
        let mut guards = Guards::forgetful(GuardRules::default());
        let first = guard(&mut guards, &relays, 100 * DAY, at).unwrap();
        guards.reached(&first);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        for day in [0, 1000 * DAY, 99 * DAY] {
            let when = When { is_sure: false, ..sure(day, at) };
            let path = guards.path(&relays, &WISH, when, &mut random).unwrap().0;
            assert_eq!(*relays[path[0]].identity(), first, "day {}", day / DAY);
        }
        // Nobody lists it for a moment, and the clock says that it is for years.
        let place = relays.iter().position(|relay| *relay.identity() == first).unwrap();
        let gone = relays.remove(place);
        guards.path(&relays, &WISH, When { is_sure: false, ..sure(1000 * DAY, at) }, &mut random).unwrap();
        relays.push(gone);
        assert_eq!(guard(&mut guards, &relays, 101 * DAY, at), Some(first));
        // The twin: when it is sure, its time is over.
        guard(&mut guards, &relays, 221 * DAY, at).unwrap();
        assert!(guards.kept.iter().all(|guard| guard.drawn > 200 * DAY));
    }

    #[test]
    fn guards_that_fail_are_passed_over_for_a_while_and_no_more_are_drawn_than_there_is_room_for() {
        let (relays, at) = (relays(8), Instant::now());
        let mut guards = Guards::forgetful(GuardRules::default());
        let first = guard(&mut guards, &relays, 0, at).unwrap();
        assert!(guards.reached(&first) && !guards.reached(&first));
        guards.failed(&first, at);
        // Circuits that fail together count once.
        guards.failed(&first, at);
        let second = guard(&mut guards, &relays, 1, at).unwrap();
        assert_ne!(first, second);
        guards.reached(&second);
        guards.failed(&second, at);
        let third = guard(&mut guards, &relays, 2, at).unwrap();
        guards.reached(&third);
        guards.failed(&third, at);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        let error = guards.path(&relays, &WISH, sure(3, at), &mut random).unwrap_err().to_string();
        assert!(error.contains("3 of 3 guards could not be reached"), "{error}");
        // In its old place, after ten seconds; after another failure, twice as long.
        let later = |seconds| at + Duration::from_secs(seconds);
        assert_eq!(guard(&mut guards, &relays, 4, later(9)), None);
        assert_eq!(guard(&mut guards, &relays, 5, later(10)), Some(first));
        guards.failed(&first, later(10));
        assert_eq!(guard(&mut guards, &relays, 6, later(29)), Some(second));
        assert_eq!(guard(&mut guards, &relays, 7, later(30)), Some(first));
        guards.reached(&first);
        guards.failed(&first, later(30));
        assert_eq!(guard(&mut guards, &relays, 8, later(40)), Some(first), "it counts from the start again");
    }

    /// Draws guards, none of which can be reached, until no more are drawn.
    fn in_vain(guards: &mut Guards, relays: &[ListedRelay], at: Instant) -> Vec<[u8; 32]> {
        let drawn = std::iter::from_fn(|| {
            let drawn = guard(guards, relays, 0, at)?;
            guards.failed(&drawn, at);
            Some(drawn)
        });
        drawn.collect()
    }

    #[test]
    fn relays_that_are_not_there_take_no_guards_places_and_only_so_many_are_tried() {
        let (mut relays, at) = (relays(20), Instant::now());
        let later = at + Duration::from_secs(10);
        let mut guards = Guards::forgetful(GuardRules::default());
        let dead = in_vain(&mut guards, &relays, at);
        assert_eq!(dead.len(), 12, "one who blocks them all sees so many drawn, and no more");
        // Three are reached after all. From then on no other is used, whatever happens to them.
        for number in [5, 1, 7] {
            guards.reached(&dead[number]);
        }
        assert_eq!(guard(&mut guards, &relays, 1, later), Some(dead[1]), "those that were reached come first");
        [1, 5, 7].iter().for_each(|number| guards.failed(&dead[*number], later));
        assert_eq!(guard(&mut guards, &relays, 2, later), None);
        // The twin: three dead ones are drawn, and the fourth is there.
        let mut guards = Guards::forgetful(GuardRules { most_tried: 3, ..GuardRules::default() });
        let dead = in_vain(&mut guards, &relays[..3], at);
        assert_eq!(dead.len(), 3);
        assert_eq!(guard(&mut guards, &relays, 1, at), None);
        let listed = relays.split_off(1);
        let fourth = guard(&mut guards, &listed, 1, at).expect("the one that nobody lists any more has gone");
        assert!(!dead.contains(&fourth));
    }

    #[test]
    fn what_was_never_reached_is_so_after_a_restart() {
        let (relays, at) = (relays(20), Instant::now());
        let mut guards = Guards::forgetful(GuardRules::default());
        let dead = in_vain(&mut guards, &relays, at);
        guards.reached(&dead[3]);
        let mut again = Guards::parse(&guards.text(), GuardRules::default()).unwrap();
        assert_eq!(guard(&mut again, &relays, 0, at), Some(dead[3]));
        again.failed(&dead[3], at);
        assert_eq!(in_vain(&mut again, &relays, at).len(), 11, "nobody is drawn anew");
        let old = guards.text().replace(",\n      \"reached\": false", "").replace(",\n      \"reached\": true", "");
        let old = Guards::parse(&old, GuardRules::default()).unwrap();
        assert!(old.kept.iter().all(|kept| kept.reached), "files of before have guards only");
    }

    #[test]
    fn a_file_that_is_no_list_of_guards_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("guards");
        let mut guards = Guards::load(&file, GuardRules::default()).unwrap();
        guard(&mut guards, &relays(3), 0, Instant::now()).unwrap();
        guards.save().unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        assert!(Guards::load(&file, GuardRules::default()).is_ok());
        for wrong in [&whole[..whole.len() / 2], "", "{}", &whole.replace("identity", "id"), &whole.replace('"', "'")] {
            std::fs::write(&file, wrong).unwrap();
            let error = Guards::load(&file, GuardRules::default()).unwrap_err().to_string();
            assert!(error.contains("not a list of guards") && error.contains("remove it"), "{error}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong);
        }
    }

    #[test]
    fn circuits_begin_where_the_user_says_and_nowhere_else() {
        let (relays, at) = (relays(5), Instant::now());
        let mut guards = Guards::forgetful(GuardRules::default());
        let first = guard(&mut guards, &relays, 0, at).unwrap();
        let wanted = relays.iter().map(|relay| *relay.identity()).find(|identity| *identity != first).unwrap();
        let entries = [wanted];
        let wish = Wish { entries: Some(&entries), ..WISH };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for turn in 0..20 {
            let (path, _) = guards.path(&relays, &wish, sure(turn, at), &mut random).unwrap();
            assert_eq!(*relays[path[0]].identity(), wanted);
        }
        assert_eq!(guard(&mut guards, &relays, 21, at), Some(first), "without that, the first guard is the first");
        let none = Wish { entries: Some(&[]), ..WISH };
        let error = guards.path(&relays, &none, sure(22, at), &mut random).unwrap_err().to_string();
        assert!(error.contains("none of the relays that circuits are to begin at is listed"), "{error}");
    }

    #[test]
    fn an_error_says_what_a_path_lacks() {
        let (relays, at) = (relays(3), Instant::now());
        let mut guards = Guards::forgetful(GuardRules::default());
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        let all: Vec<_> = relays.iter().map(|relay| *relay.identity()).collect();
        let mut why = |wish: &Wish<'_>, relays: &[ListedRelay]| {
            guards.path(relays, wish, sure(0, at), &mut random).unwrap_err().to_string()
        };
        assert!(
            why(&Wish { hops: 4, ..WISH }, &relays).contains("expected 4 relays that offer ntor-v3; found 3 among 3")
        );
        assert!(why(&Wish { port: 80, ..WISH }, &relays).contains("no relay that offers ntor-v3 is an exit"));
        assert!(why(&Wish { not_exits: &all, ..WISH }, &relays).contains("all 3 exits to port 443 have refused"));
        let family = relays.into_iter().map(|relay| relay.with_family(all.clone())).collect::<Vec<_>>();
        assert!(why(&WISH, &family).contains("far enough from each other"));
    }
}
