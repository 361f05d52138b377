//! The commands on files: hash, mac, key, sign, verify, encrypt, decrypt.

#[path = "files/folder.rs"]
mod folder;

#[path = "files/encrypt.rs"]
mod encrypt;
#[path = "files/hash.rs"]
mod hash;
#[path = "files/key.rs"]
mod key;
