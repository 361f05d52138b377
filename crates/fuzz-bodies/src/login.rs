//! What strangers send to a login server, what operators write for it, and what owners type.

use candor_login::migrate::{Input, Layout};
use candor_login::state::{Kind, SealingKey, open};
use candor_login::{Config, KeyId, UnixTime, UserName};
use candor_login_client::RecoveryCode;

const NOW: UnixTime = UnixTime(1_800_000_000);

/// The key of [`state`], and of the files of its corpus.
pub fn sealing_key() -> SealingKey {
    SealingKey::new(KeyId([1; 16]), &[2; 32])
}

/// A sealed state from anywhere: an error, or one that we have sealed ourselves.
pub fn state(data: &[u8]) {
    let key = [sealing_key()];
    let opened = open(&key, Kind::Login, b"alice", NOW, 60, data);
    // The key is known here, so a good one may come; for another owner it is none.
    if let Ok(opened) = opened {
        assert!(opened.expires > NOW && opened.content.len() + 53 == data.len());
        assert!(open(&key, Kind::Login, b"bob", NOW, 60, data).is_err());
        assert!(open(&key, Kind::Change, b"alice", NOW, 60, data).is_err());
    }
}

/// A configuration file from anywhere: an error that names the file, or a configuration that can be checked.
pub fn config(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut config = Config::default();
    match config.read_file("login.toml", text) {
        Ok(()) => drop(config.check()),
        Err(error) => assert!(error.to_string().starts_with("login.toml: ")),
    }
}

/// A name from anywhere: an error, or one that its key names as well.
pub fn name(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(name) = UserName::parse(text) else { return };
    let again = UserName::parse(name.key()).expect("a key is a name");
    assert_eq!(again.key(), name.key());
}

/// A recovery code from anywhere: an error, or one that prints as a code that reads as the same.
pub fn recovery_code(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(code) = text.parse::<RecoveryCode>() else { return };
    assert_eq!(code.to_string().parse(), Ok(code));
}

/// A file from anywhere: an error, or entries whose line numbers grow and none of which is longer than the file.
pub fn import(data: &[u8]) {
    for layout in [Layout::Csv, Layout::JsonLines] {
        let Ok(input) = Input::new(data, layout, "name", "hash") else { continue };
        let mut last = 0;
        for entry in input {
            let (line, entry) = entry.expect("bytes in memory can be read");
            assert!(line > last);
            last = line;
            if let Ok(entry) = entry {
                assert!(entry.name.len() + entry.hash.len() <= data.len());
            }
        }
    }
}
