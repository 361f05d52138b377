//! Everything that an account's owner does, against a server in the same process.

#[path = "../examples/log_in.rs"]
#[allow(dead_code)] // its `main`
mod example;

use candor_login::migrate::{Input, Layout, import};
use candor_login::{Actor, Config, KeyRing, Log, Purpose, Server, TokenHash, UnixTime, UserName};
use candor_login_client::{BeyondLimits, Client, CostLimits, Error, Limits, Options, RecoveryCode};
use std::error::Error as StdError;
use std::sync::Arc;
use tempfile::TempDir;

type Outcome = Result<(), Box<dyn StdError>>;

/// A server with little key stretching, and a client that accepts it.
async fn start(settings: &[(&str, &str)]) -> Result<(TempDir, Server, Client), Box<dyn StdError>> {
    let folder = tempfile::tempdir()?;
    let mut config = Config::default();
    config.set("test", "state", &folder.path().display().to_string())?;
    for (name, value) in [("listen", "127.0.0.1:0"), ("ksf", "8:1:1")].iter().chain(settings) {
        config.set("test", name, value)?;
    }
    let server = Server::start(config, Log::default()).await?;
    let client = Client::new(&server.url())?.with_limits(Limits::NONE);
    Ok((folder, server, client))
}

async fn token(server: &Server, text: &str) -> Outcome {
    let (hash, now) = (TokenHash::of(Purpose::Registration, text.as_bytes()), UnixTime::now());
    server.store().add_registration_token(hash, "test".to_owned(), now.plus(3600), Actor::Server, now).await?;
    Ok(())
}

#[tokio::test]
async fn an_account_is_made_logged_in_to_and_left() -> Outcome {
    let (_folder, server, client) = start(&[]).await?;
    token(&server, "welcome").await?;
    let options = Options { label: "laptop".to_owned(), ..Options::default() };
    let made = client.register("Alice", "correct horse", Some("welcome"), &options).await?;
    let shown = made.session.show().await?;
    assert_eq!((shown.name.as_str(), shown.label.as_str(), shown.scope.as_str()), ("Alice", "laptop", "full"));

    let mut login = client.log_in("alice", "correct horse", &Options::default()).await?;
    assert_eq!(login.export_key, made.export_key);
    assert_eq!(login.session.list().await?.len(), 2);
    let old = login.session.access_token();
    login.session.refresh().await?;
    assert_ne!(*login.session.access_token(), *old);
    login.session.end_other(made.session.id()).await?;
    assert_eq!(made.session.show().await.unwrap_err(), Error::NoSession);
    let id = login.session.id().to_owned();
    assert_eq!(login.session.show().await?.session, id);
    login.session.end().await?;

    assert_eq!(client.log_in("alice", "correct cow", &Options::default()).await.unwrap_err(), Error::LoginFailed);
    assert_eq!(client.log_in("bob", "correct horse", &Options::default()).await.unwrap_err(), Error::LoginFailed);
    server.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn registration_needs_a_token_that_is_used_once() -> Outcome {
    let (_folder, server, client) = start(&[]).await?;
    token(&server, "one").await?;
    let register = async |name: &str, token| client.register(name, "pw", token, &Options::default()).await.map(drop);
    assert_eq!(register("alice", None).await, Err(Error::RegistrationToken));
    assert_eq!(register("alice", Some("two")).await, Err(Error::RegistrationToken));
    assert_eq!(register("alice", Some("one")).await, Ok(()));
    assert_eq!(register("bob", Some("one")).await, Err(Error::RegistrationToken));
    token(&server, "three").await?;
    assert_eq!(register("ALICE", Some("three")).await, Err(Error::NameTaken));
    assert_eq!(register("bob", Some("three")).await, Ok(()), "a name that was taken has not used it up");
    Ok(())
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_and_the_old_password() -> Outcome {
    let (_folder, _server, client) = start(&[("registration", "open")]).await?;
    let made = client.register("alice", "old", None, &Options::default()).await?;
    let wrong = client.change_password("alice", "wrong", "new", &Options::default()).await;
    assert_eq!(wrong.unwrap_err(), Error::LoginFailed);
    made.session.show().await?;
    let changed = client.change_password("alice", "old", "new", &Options::default()).await?;
    assert_eq!(made.session.show().await.unwrap_err(), Error::NoSession);
    assert_ne!(changed.export_key, made.export_key);
    assert_eq!(changed.session.show().await?.name, "alice");
    assert_eq!(client.log_in("alice", "old", &Options::default()).await.unwrap_err(), Error::LoginFailed);
    let login = client.log_in("alice", "new", &Options::default()).await?;
    assert_eq!(login.export_key, changed.export_key);
    Ok(())
}

#[tokio::test]
async fn a_recovery_code_sets_one_new_password() -> Outcome {
    let (_folder, _server, client) = start(&[("registration", "open")]).await?;
    let options = Options { recovery_codes: 2, ..Options::default() };
    let made = client.register("alice", "forgotten", None, &options).await?;
    assert_eq!(made.session.recovery_codes_left().await?, 2);
    let code: RecoveryCode = made.recovery_codes[0].to_string().parse()?;
    let recovered = client.recover("alice", &code, "new", &Options::default()).await?;
    assert_eq!(made.session.show().await.unwrap_err(), Error::NoSession);
    assert_eq!(recovered.session.recovery_codes_left().await?, 1);
    for name in ["alice", "bob"] {
        let again = client.recover(name, &code, "newer", &Options::default()).await;
        assert_eq!(again.unwrap_err(), Error::LoginFailed, "{name}");
    }
    client.log_in("alice", "new", &Options::default()).await?;
    let wrong = client.replace_recovery_codes("alice", "forgotten", 3, &Options::default()).await;
    assert_eq!(wrong.unwrap_err(), Error::LoginFailed);
    let fresh = client.replace_recovery_codes("alice", "new", 3, &Options::default()).await?;
    assert_eq!(recovered.session.recovery_codes_left().await?, 3);
    let old = client.recover("alice", &made.recovery_codes[1], "x", &Options::default()).await;
    assert_eq!(old.unwrap_err(), Error::LoginFailed, "it was replaced");
    client.recover("alice", &fresh[2], "newest", &Options::default()).await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_asks_for_absurd_stretching_is_refused() -> Outcome {
    let (_folder, server, strict) = start(&[("registration", "open")]).await?;
    let strict = strict.with_limits(Limits::DEFAULT);
    let refused = strict.register("alice", "pw", None, &Options::default()).await.unwrap_err();
    assert!(matches!(refused, Error::Opaque(candor_opaque::Error::Limits(_))), "{refused}");
    drop(server);
    // Two terabytes: the server may promise them, since the client does the work.
    let (_folder, _server, client) = start(&[("registration", "open"), ("ksf", "2147483648:1:1")]).await?;
    let refused = client.with_limits(Limits::DEFAULT).register("alice", "pw", None, &Options::default()).await;
    assert!(matches!(refused, Err(Error::Opaque(candor_opaque::Error::Limits(_)))));
    Ok(())
}

#[tokio::test]
async fn the_example_logs_in() -> Outcome {
    // As little stretching as the client accepts by default.
    let (_folder, server, client) = start(&[("registration", "open"), ("ksf", "19456:2:1")]).await?;
    client.register("Alice", "pw", None, &Options::default()).await?;
    assert_eq!(example::log_in(&server.url(), "alice", "pw").await?, "Alice");
    assert_eq!(example::log_in(&server.url(), "alice", "other").await, Err(Error::LoginFailed));

    let source = include_str!("../examples/log_in.rs");
    let code: Vec<_> = source.lines().filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    assert!(code.len() <= 15, "a client that logs in has {} lines", code.len());
    let shown = code.join("\n").replace("pub(crate) ", "");
    assert!(include_str!("../README.md").contains(&shown), "the README shows another program than examples/log_in.rs");
    Ok(())
}

/// Accounts of another system, with "old password" and bcrypt at this cost.
async fn take_over(server: &Server, names: &[&str], cost: u32) -> Outcome {
    let hash = bcrypt::hash("old password", cost)?;
    let lines: String = names.iter().map(|name| format!("{name},{hash}\n")).collect();
    let file = format!("name,hash\n{lines}");
    let ring = KeyRing::load(server.store()).await?.ok_or("the server has made a key")?;
    let input = Input::new(file.as_bytes(), Layout::Csv, "name", "hash")?;
    import(server.store(), Arc::new(ring), input, false, Actor::Server, |_| ()).await?;
    Ok(())
}

#[tokio::test]
async fn a_first_login_with_an_old_hash_counts_once() -> Outcome {
    // One guess, and it does not come back.
    let (_folder, server, client) = start(&[("address-burst", "1"), ("address-every", "1d")]).await?;
    take_over(&server, &["alice", "bob", "carol"], 4).await?;
    let log_in = async |name: &str, password: &str| client.log_in(name, password, &Options::default()).await.map(drop);
    assert_eq!(log_in("alice", "old password").await, Ok(()));
    assert_eq!(log_in("bob", "old password").await, Ok(()), "a success was no guess");
    assert_eq!(log_in("carol", "other password").await, Err(Error::LoginFailed));
    assert!(matches!(log_in("carol", "old password").await, Err(Error::Throttled(_))));
    Ok(())
}

#[tokio::test]
async fn an_old_hash_beyond_the_limits_is_not_computed() -> Outcome {
    let (_folder, server, _) = start(&[]).await?;
    take_over(&server, &["alice"], 5).await?;
    let log_in = async |limits: CostLimits| {
        let client = Client::new(&server.url())?.with_limits(Limits::NONE).with_old_hash_limits(limits);
        client.log_in("alice", "old password", &Options::default()).await.map(drop)
    };
    for (bcrypt, expected) in [(4..=4, BeyondLimits::TooCostly), (6..=9, BeyondLimits::TooWeak)] {
        let error = log_in(CostLimits { bcrypt, ..CostLimits::DEFAULT }).await.unwrap_err();
        assert_eq!(error, Error::OldHash { scheme: "bcrypt r=5".to_owned(), why: expected });
        let text = format!("server asks for the old password hash bcrypt r=5, which {expected}; ");
        assert!(error.to_string().starts_with(&text), "{error}");
    }
    assert_eq!(log_in(CostLimits::DEFAULT).await, Ok(()));
    Ok(())
}

#[tokio::test]
async fn an_account_of_another_system_registers_afresh_at_its_first_login() -> Outcome {
    let (_folder, server, client) = start(&[]).await?;
    take_over(&server, &["alice"], 4).await?;
    let is_old = async || {
        let account = server.store().account(&UserName::parse("alice")?).await?;
        Ok::<_, Box<dyn StdError>>(account.ok_or("it is there")?.old_hash.is_some())
    };
    assert!(is_old().await?);
    let refused = client.log_in("alice", "other password", &Options::default()).await;
    assert_eq!(refused.unwrap_err(), Error::LoginFailed);
    assert!(is_old().await?);
    let first = client.log_in("alice", "old password", &Options::default()).await?;
    assert_eq!(first.session.show().await?.name, "alice");
    assert!(!is_old().await?);
    let second = client.log_in("alice", "old password", &Options::default()).await?;
    assert_eq!(second.export_key, first.export_key);
    Ok(())
}
