//! The key ring: rotation, retirement, and names without an account.

use crate::accounts::refused;
use crate::databases::{Empty, on_both_databases};
use crate::people::{NOW, People, name};
use candor_login::store::{Actor, Conflict, KeyState, StoreError};
use candor_login::{KeyRing, MasterKey, Store};
use candor_opaque::KsfParams;

on_both_databases! {
    of_many_instances_that_start_at_once_one_makes_the_first_key
    an_account_stays_with_its_key_until_its_record_is_replaced
    a_key_is_retired_when_no_account_needs_it
    a_retired_key_takes_no_record
    a_key_is_not_retired_while_an_account_is_made_under_it
    names_without_an_account_move_to_new_keys_as_accounts_do
    another_master_key_opens_nothing
}

async fn of_many_instances_that_start_at_once_one_makes_the_first_key(empty: &Empty) {
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let store = empty.open().await;
        tasks.push(tokio::spawn(async move {
            KeyRing::open(&store, KsfParams::BROWSER, NOW).await.map(|ring| ring.active().0)
        }));
    }
    let mut active = Vec::new();
    for task in tasks {
        active.push(task.await.unwrap().unwrap());
    }
    let keys = empty.open().await.ring().await.unwrap();
    assert_eq!(keys.len(), 1);
    assert!(active.iter().all(|key| *key == keys[0].id), "{active:?}");
}

async fn an_account_stays_with_its_key_until_its_record_is_replaced(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let old = people.key();
    let new = people.ring.rotate(&people.store, Actor::Server, NOW).await.unwrap();
    // A ring that was loaded before does not know the new key, and says so instead of answering with another.
    let before = std::mem::replace(&mut people.ring, KeyRing::load(&people.store).await.unwrap().unwrap());
    assert_eq!((people.key(), before.active().0), (new, old));
    let public = |ring: &KeyRing, key| *ring.server(key).unwrap().public_key();
    assert_ne!(public(&people.ring, old), public(&people.ring, new));
    assert_eq!(public(&people.ring, old), public(&before, old));

    let account = people.store.account(&name("alice")).await.unwrap();
    assert_eq!(people.ring.basis(&name("alice"), account.as_ref()).unwrap().key, old);
    people.store.replace_record(people.change(alice, &record), NOW).await.unwrap();
    let account = people.store.account(&name("alice")).await.unwrap();
    let basis = people.ring.basis(&name("alice"), account.as_ref()).unwrap();
    assert_eq!((basis.key, basis.name.as_slice(), basis.record.is_some()), (new, &b"alice"[..], true));
    assert!(matches!(before.basis(&name("alice"), account.as_ref()), Err(StoreError::Unavailable(_))));
}

async fn a_key_is_retired_when_no_account_needs_it(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let old = people.key();
    let retire = |people: &People, key| {
        let store = people.store.clone();
        async move { store.retire_key(key, Actor::Server, NOW).await }
    };
    assert_eq!(refused(retire(&people, old).await), Conflict::NoKey, "it is active");
    let new = people.ring.rotate(&people.store, Actor::Server, NOW).await.unwrap();
    people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    assert_eq!(refused(retire(&people, old).await), Conflict::KeyInUse);
    people.store.replace_record(people.change(alice, &record), NOW).await.unwrap();
    retire(&people, old).await.unwrap();

    let keys = people.store.ring().await.unwrap();
    assert_eq!(
        keys.iter().map(|key| (key.id, key.state)).collect::<Vec<_>>(),
        [(old, KeyState::Retired), (new, KeyState::Active)]
    );
    assert_eq!(people.store.accounts_by_key().await.unwrap(), [(old, 0), (new, 1)]);
    assert!(keys[0].server.is_empty() && !keys[1].server.is_empty());
    let ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    assert!(ring.server(old).is_none() && ring.server(new).is_some());
}

async fn a_retired_key_takes_no_record(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let old = people.key();
    let late = people.newcomer("late");
    people.ring.rotate(&people.store, Actor::Server, NOW).await.unwrap();
    people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    let (alice, record) = people.join("alice").await;
    let mut change = people.change(alice, &record);
    change.key = old;
    // Until it is retired an accepted key takes records: whoever began before a rotation can finish.
    let mut in_time = people.newcomer("in-time");
    in_time.key = old;
    let in_time = people.store.register(in_time, NOW).await.unwrap();
    assert_eq!(refused(people.store.retire_key(old, Actor::Server, NOW).await), Conflict::KeyInUse);
    people.store.delete_account(in_time, Actor::Server, NOW).await.unwrap();
    people.store.retire_key(old, Actor::Server, NOW).await.unwrap();
    assert_eq!(refused(people.store.register(late, NOW).await), Conflict::NoKey);
    assert!(people.store.account(&name("late")).await.unwrap().is_none());
    assert_eq!(refused(people.store.replace_record(change.clone(), NOW).await), Conflict::NoKey);
    change.key = people.key();
    people.store.replace_record(change, NOW).await.unwrap();
}

/// Many registrations under a key, and its retirement: either the key goes or there are accounts, never both.
async fn a_key_is_not_retired_while_an_account_is_made_under_it(empty: &Empty) {
    for round in 0..8 {
        let people = People::of(empty.open().await).await;
        let old = KeyRing::load(&people.store).await.unwrap().unwrap().active().0;
        let mut newcomer = people.newcomer(&format!("user{round}"));
        newcomer.key = old;
        people.ring.rotate(&people.store, Actor::Server, NOW).await.unwrap();
        let other = empty.open().await;
        let (made, retired) =
            tokio::join!(people.store.register(newcomer, NOW), other.retire_key(old, Actor::Server, NOW));
        match retired {
            Ok(()) => assert_eq!(refused(made), Conflict::NoKey),
            Err(_) => assert_eq!((refused(retired), made.is_ok()), (Conflict::KeyInUse, true)),
        }
    }
}

async fn names_without_an_account_move_to_new_keys_as_accounts_do(empty: &Empty) {
    let mut people = People::of(empty.open().await).await;
    let mut accounts = Vec::new();
    for number in 0..4 {
        accounts.push(people.join(&format!("user{number}")).await);
    }
    let new = people.ring.rotate(&people.store, Actor::Server, NOW).await.unwrap();
    let moved = async |store: &Store| -> Vec<u32> {
        let ring = KeyRing::load(store).await.unwrap().unwrap();
        let key = |number: &u32| ring.basis(&name(&format!("nobody{number}")), None).unwrap().key;
        (0..2000).filter(|number| key(number) == new).collect()
    };
    assert!(moved(&people.store).await.is_empty());
    // Whoever looks a name up learns that answers have changed, at once.
    assert!(people.store.look_up(&name("nobody")).await.unwrap().generation > people.ring.generation());
    people.ring = KeyRing::load(&people.store).await.unwrap().unwrap();
    people.store.replace_record(people.change(accounts[0].0, &accounts[0].1), NOW).await.unwrap();
    let quarter = moved(&people.store).await;
    // 500 expected, standard deviation 19; the draws are the same in every run but for the key's name.
    assert!((380..620).contains(&quarter.len()), "{}", quarter.len());
    people.store.replace_record(people.change(accounts[1].0, &accounts[1].1), NOW).await.unwrap();
    let half = moved(&people.store).await;
    assert!((860..1140).contains(&half.len()), "{}", half.len());
    assert!(quarter.iter().all(|number| half.contains(number)), "no name moves back");
    for (account, record) in &accounts[2..] {
        people.store.replace_record(people.change(*account, record), NOW).await.unwrap();
    }
    assert_eq!(moved(&people.store).await.len(), 2000);
}

async fn another_master_key_opens_nothing(empty: &Empty) {
    KeyRing::open(&empty.open().await, KsfParams::BROWSER, NOW).await.unwrap();
    let other = MasterKey::from_bytes([2; 32]);
    assert_eq!(Store::open(&empty.url, &other).await.map(drop), Err(StoreError::MasterKey));
    assert!(KeyRing::load(&empty.open().await).await.unwrap().is_some());
}
