//! Accounts of other systems are imported, and log in with the passwords that they had.

use crate::databases::{Empty, on_both_databases};
use crate::people::{NOW, People, log_in, name};
use candor_login::audit::verify;
use candor_login::migrate::{Input, Layout, MigrationError, Refusal, Report, import};
use candor_login::store::{Actor, Import};
use candor_login::{KeyRing, NameError};
use candor_old_hashes::{Algorithm, OldHash, OldScheme, ReadError, Template, UnevenSalts};
use std::collections::BTreeSet;
use std::sync::Arc;

/// As Django stores it.
const PBKDF2: &str = "pbkdf2_sha256$3$UiffmE77AoSXiym7DQvFsc$cvTcqyCeeyspwEz3DfypP3m9d5d5wPgpmA2iRWv3rik=";

on_both_databases! {
    users_of_bcrypt_log_in_with_their_old_passwords
    accounts_of_an_import_answer_when_it_has_ended_and_names_without_one_with_them
    the_schemes_of_names_follow_each_the_accounts_that_have_it
    made_up_salts_look_like_those_of_the_accounts
    a_dry_run_reports_and_changes_nothing
    salts_that_are_made_of_names_are_reported
    an_import_that_is_run_again_imports_nothing_twice
    what_can_t_be_imported_is_listed_with_its_line
    once_registered_afresh_the_old_hash_is_gone
    names_without_an_account_are_told_old_schemes_as_accounts_are
    no_name_gets_an_old_scheme_back_when_accounts_are_deleted
}

async fn users_of_bcrypt_log_in_with_their_old_passwords(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let file = csv((0..100).map(|number| (format!("user{number}"), bcrypt(&format!("password {number}")))));
    let report = run(&people, &file, false).await;
    assert_eq!((report.entries, report.imported, report.there, report.refused), (100, 100, 0, 0));
    assert_eq!(Vec::from_iter(&report.schemes), [(&"bcrypt r=4".to_owned(), &100)]);
    let ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    let people = People { ring, store: people.store };
    for number in 0..100 {
        let (user, password) = (format!("User{number}"), format!("password {number}"));
        let scheme = log_in(&people, &user, &password).await.unwrap().expect("an old scheme");
        assert!(matches!(scheme.algorithm(), Algorithm::Bcrypt { cost: 4, .. }));
        if number % 10 == 0 {
            assert!(log_in(&people, &user, "password x").await.is_err());
        }
    }
    verify(&people.store, None).await.unwrap().unwrap();
}

/// What is in the middle of an import: half of its batches are stored.
async fn accounts_of_an_import_answer_when_it_has_ended_and_names_without_one_with_them(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    people.join("alice").await;
    let reload = async |people: &mut People| {
        people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    };
    let stored = |people: &People, text: &str| {
        let hash: OldHash = bcrypt("password").parse().unwrap();
        let (scheme, template) = (hash.scheme().to_string(), Template::of(hash.scheme()));
        Import { account: people.newcomer(text), scheme, template }
    };
    let told = async |people: &People, text: &str| {
        let found = people.store.look_up(&name(text)).await.unwrap();
        assert!(found.generation <= people.ring.generation(), "what is answered has changed unnoticed");
        people.ring.basis(&name(text), found.account.as_ref()).unwrap().old_hash.is_some()
    };
    let names = async |people: &People| {
        let mut old = 0;
        for number in 0..400 {
            old += usize::from(told(people, &format!("nobody{number}")).await);
        }
        old
    };
    let batch = ["bob", "carol"].map(|text| stored(&people, text)).to_vec();
    assert_eq!(people.store.import(batch, Actor::Server, NOW).await.unwrap(), [true, true]);
    reload(&mut people).await;
    assert!(!told(&people, "bob").await && names(&people).await == 0);
    let bob = people.store.account(&name("bob")).await.unwrap();
    assert!(people.ring.basis(&name("bob"), bob.as_ref()).unwrap().record.is_none(), "as a name that nobody has");
    // Deleted before it has answered, it counts for nothing.
    let (alice, dora) = (stored(&people, "alice"), stored(&people, "dora"));
    assert_eq!(people.store.import(vec![alice, dora], Actor::Server, NOW).await.unwrap(), [false, true]);
    let dora = people.store.account(&name("dora")).await.unwrap().unwrap().id;
    people.store.delete_account(dora, Actor::Server, NOW).await.unwrap();

    let before = people.ring.generation();
    assert_eq!(people.store.end_import(Actor::Server, NOW).await, Ok(true));
    assert_eq!(people.store.end_import(Actor::Server, NOW).await, Ok(false), "nothing is left to end");
    assert!(people.store.look_up(&name("nobody")).await.unwrap().generation > before);
    reload(&mut people).await;
    assert!(told(&people, "bob").await && told(&people, "carol").await && !told(&people, "alice").await);
    // Two accounts in three: 267 expected, standard deviation 9.
    let old = names(&people).await;
    assert!((210..320).contains(&old), "{old}");
}

async fn the_schemes_of_names_follow_each_the_accounts_that_have_it(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let old =
        (0..8).map(|number| (format!("old{number}"), if number < 4 { PBKDF2.to_owned() } else { bcrypt("password") }));
    run(&people, &csv(old), false).await;
    let told = async |people: &mut People| -> [Vec<usize>; 2] {
        people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
        ["$pbkdf2-sha256$", "$bcrypt$"].map(|scheme| {
            let has = |number: &usize| {
                let told = people.ring.basis(&name(&format!("nobody{number}")), None).unwrap().old_hash;
                told.is_some_and(|told| told.starts_with(scheme))
            };
            (0..1000).filter(has).collect()
        })
    };
    let [pbkdf2, bcrypt] = told(&mut people).await;
    // All names have one of the two: 500 each expected, standard deviation 16.
    assert!(pbkdf2.len() + bcrypt.len() == 1000 && (400..600).contains(&pbkdf2.len()), "{}", pbkdf2.len());
    // The users of one scheme return, those of the other don't.
    for number in 0..4 {
        let account = people.store.account(&name(&format!("old{number}"))).await.unwrap().unwrap();
        people.store.replace_record(people.change(account.id, &account.record), NOW).await.unwrap();
        let [left, others] = told(&mut people).await;
        let expected = pbkdf2.len() * (3 - number) / 4;
        assert!(left.len().abs_diff(expected) < 70, "{} of {expected}", left.len());
        assert!(others == bcrypt && left.iter().all(|name| pbkdf2.contains(name)));
    }
    assert!(told(&mut people).await[0].is_empty());
}

async fn made_up_salts_look_like_those_of_the_accounts(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let salts = ["9f86d081884c7d659a2feaa0c55ad015", "a3bf4f1b2b0b822cd15d6c15b0f00a08"];
    let old = salts.map(|salt| (format!("user-{salt}"), PBKDF2.replace("UiffmE77AoSXiym7DQvFsc", salt)));
    run(&people, &csv(old), false).await;
    people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    let mut seen = BTreeSet::new();
    for number in 0..200 {
        let told = people.ring.basis(&name(&format!("nobody{number}")), None).unwrap().old_hash.unwrap();
        let scheme: OldScheme = told.parse().unwrap();
        assert_eq!(scheme.salt().len(), 32);
        seen.extend(scheme.salt().to_vec());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), b"0123456789abcdef");
}

async fn a_dry_run_reports_and_changes_nothing(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    people.join("alice").await;
    let head = people.store.audit_head().await.unwrap();
    let file = csv([("alice".to_owned(), bcrypt("a")), ("bob".to_owned(), bcrypt("b"))]);
    let report = run(&people, &file, true).await;
    assert_eq!((report.entries, report.imported, report.there), (2, 1, 1));
    assert!(people.store.account(&name("bob")).await.unwrap().is_none());
    assert_eq!(people.store.audit_head().await.unwrap(), head);
    assert_eq!(run(&people, &file, false).await, report);
    assert!(people.store.account(&name("bob")).await.unwrap().is_some());
}

async fn salts_that_are_made_of_names_are_reported(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let file = |salt: fn(u64) -> String| {
        let hash = |number| format!("pbkdf2_sha256$1000${}$fvoA0CLLhkU5XVW0RADjAwUPdrCdPkNqLnQrmy0ypl0=", salt(number));
        csv((0..100).map(|number| (format!("user{number}"), hash(number))))
    };
    let random =
        run(&people, &file(|number| format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))), true).await;
    assert_eq!((random.imported, random.uneven_salts), (100, Vec::new()));
    let named = run(&people, &file(|number| format!("{:x<16}", format!("user{number}"))), true).await;
    assert_eq!((named.imported, named.uneven_salts.len()), (100, 1));
    let UnevenSalts { place, count: 100, salts: 100, .. } = &named.uneven_salts[0] else { panic!("{named:?}") };
    assert!([1, 2, 3, 4].contains(place) || *place > 6, "a letter of `user`, or padding: {place}");
}

async fn an_import_that_is_run_again_imports_nothing_twice(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let all: Vec<_> = (0..150).map(|number| (format!("user{number}"), bcrypt("password"))).collect();
    // As if it had been killed after the second batch.
    assert_eq!(run(&people, &csv(all[..128].to_vec()), false).await.imported, 128);
    let before = people.store.account(&name("user0")).await.unwrap().unwrap();
    let again = run(&people, &csv(all.clone()), false).await;
    assert_eq!((again.imported, again.there), (22, 128));
    let third = run(&people, &csv(all), false).await;
    assert_eq!((third.imported, third.there), (0, 150));
    let after = people.store.account(&name("user0")).await.unwrap().unwrap();
    assert_eq!(before.record.to_bytes(), after.record.to_bytes());
    assert_eq!(people.store.count_accounts().await.unwrap(), (150, 150));
}

async fn what_can_t_be_imported_is_listed_with_its_line(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let good = bcrypt("password");
    let file = format!(
        "name,hash\nalice,{good}\na b,{good}\nbob,secret\nALICE,{good}\ncarol,{}\ndora,{good}\n",
        good.replace("$2b$", "$2x$")
    );
    let report = run(&people, &file, false).await;
    assert_eq!((report.entries, report.imported, report.refused), (6, 2, 4));
    assert_eq!(
        report.refusals,
        [
            (3, Refusal::Name(NameError::Space)),
            (4, Refusal::Hash(ReadError::Unknown)),
            (5, Refusal::Twice(2)),
            (6, Refusal::Hash(ReadError::FaultyBcrypt)),
        ]
    );
    let no_header = Input::new(good.as_bytes(), Layout::Csv, "name", "hash").map(drop);
    assert!(matches!(no_header, Err(MigrationError::Layout(_))));
}

async fn once_registered_afresh_the_old_hash_is_gone(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    run(&people, &csv([("alice".to_owned(), bcrypt("old"))]), false).await;
    people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    assert!(log_in(&people, "alice", "old").await.unwrap().is_some());
    let alice = people.store.account(&name("alice")).await.unwrap().unwrap();
    assert!(alice.old_hash.is_some());
    // With the old hash as password nobody logs in as with a password.
    people.store.replace_record(people.change(alice.id, &alice.record), NOW).await.unwrap();
    let after = people.store.account(&name("alice")).await.unwrap().unwrap();
    assert_eq!(after.old_hash, None);
    assert!(log_in(&people, "alice", "old").await.is_err());
    // The password of the records that these tests make.
    assert_eq!(log_in(&people, "alice", "password").await, Ok(None));
}

async fn names_without_an_account_are_told_old_schemes_as_accounts_are(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let old =
        (0..4).map(|number| (format!("old{number}"), if number == 0 { PBKDF2.to_owned() } else { bcrypt("password") }));
    run(&people, &csv(old), false).await;
    for number in 0..4 {
        people.join(&format!("new{number}")).await;
    }
    // Half of the accounts have old hashes, three in four of those bcrypt.
    let told = async |people: &mut People| -> Vec<Option<String>> {
        people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
        let basis = |number| people.ring.basis(&name(&format!("nobody{number}")), None).unwrap();
        (0..2000).map(|number| basis(number).old_hash).collect()
    };
    let first = told(&mut people).await;
    let of =
        |told: &[Option<String>], start: &str| told.iter().flatten().filter(|scheme| scheme.starts_with(start)).count();
    // 1000, 750 and 250 expected; standard deviations 22, 22 and 15.
    let (none, bcrypt_told) = (first.iter().filter(|told| told.is_none()).count(), of(&first, "$bcrypt$r=4$"));
    let pbkdf2_told = of(&first, "$pbkdf2-sha256$i=3,l=32$");
    assert!((860..1140).contains(&none) && (610..890).contains(&bcrypt_told), "{none} {bcrypt_told}");
    assert!((150..350).contains(&pbkdf2_told) && none + bcrypt_told + pbkdf2_told == 2000, "{pbkdf2_told}");
    assert_eq!(told(&mut people).await, first, "the same name is always told the same");
    let mut salts: Vec<_> = first.iter().flatten().collect();
    salts.sort_unstable();
    salts.dedup();
    assert_eq!(salts.len(), 2000 - none, "each has a salt of its own");

    // As accounts register afresh, names move on with them and never back.
    for number in 0..3 {
        let account = people.store.account(&name(&format!("old{number}"))).await.unwrap().unwrap();
        people.store.replace_record(people.change(account.id, &account.record), NOW).await.unwrap();
    }
    let second = told(&mut people).await;
    let left = second.iter().flatten().count();
    assert!((180..320).contains(&left), "one account in eight: {left}");
    assert!(first.iter().zip(&second).all(|(first, second)| second.is_none() || first == second));
    // A name that has moved on is answered under another OPRF key, as an account is that has registered afresh.
    let moved = first.iter().zip(&second).position(|(first, second)| first.is_some() && second.is_none()).unwrap();
    assert_eq!(
        people.ring.basis(&name(&format!("nobody{moved}")), None).unwrap().name,
        format!("nobody{moved}").as_bytes()
    );
    let still = second.iter().position(Option::is_some).unwrap();
    assert_ne!(
        people.ring.basis(&name(&format!("nobody{still}")), None).unwrap().name,
        format!("nobody{still}").as_bytes()
    );

    let account = people.store.account(&name("old3")).await.unwrap().unwrap();
    people.store.replace_record(people.change(account.id, &account.record), NOW).await.unwrap();
    assert!(told(&mut people).await.iter().all(Option::is_none));
}

async fn no_name_gets_an_old_scheme_back_when_accounts_are_deleted(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let import = |who: &'static str| csv((0..4).map(|number| (format!("{who}{number}"), bcrypt("password"))));
    run(&people, &import("old"), false).await;
    let mut others = Vec::new();
    for number in 0..12 {
        others.push(people.join(&format!("new{number}")).await.0);
    }
    let old = async |people: &mut People| -> Vec<usize> {
        people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
        let is_old =
            |number: &usize| people.ring.basis(&name(&format!("nobody{number}")), None).unwrap().old_hash.is_some();
        (0..1000).filter(is_old).collect()
    };
    let quarter = old(&mut people).await;
    // 250 expected, standard deviation 14.
    assert!((170..330).contains(&quarter.len()), "{}", quarter.len());
    for account in others {
        people.store.delete_account(account, Actor::Server, NOW).await.unwrap();
    }
    // All accounts that are left have old hashes, and yet:
    assert_eq!(old(&mut people).await, quarter);
    // An import brings accounts whose names had none before.
    run(&people, &import("more"), false).await;
    assert_eq!(old(&mut people).await.len(), 1000);
}

async fn run(people: &People, file: &str, dry_run: bool) -> Report {
    let ring = Arc::new(KeyRing::load(&people.store).await.unwrap().unwrap());
    let input = Input::new(file.as_bytes(), Layout::Csv, "name", "hash").unwrap();
    let mut last = Report::default();
    let report = import(&people.store, ring, input, dry_run, Actor::Operator("root".to_owned()), |so_far| {
        last = so_far.clone();
    });
    let report = report.await.unwrap();
    assert_eq!(last, report, "progress ends with the report");
    report
}

fn csv(entries: impl IntoIterator<Item = (String, String)>) -> String {
    let lines = entries.into_iter().map(|(name, hash)| format!("{name},{hash}\n"));
    std::iter::once("name,hash\n".to_owned()).chain(lines).collect()
}

/// A hash as another system would have stored it, at the lowest cost.
fn bcrypt(password: &str) -> String {
    bcrypt::hash(password, 4).unwrap()
}
