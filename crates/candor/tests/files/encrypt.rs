//! `candor encrypt` and `candor decrypt`: what is kept when things go wrong.

use super::folder::Folder;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// A chunk with its tag, and ML-KEM-768's header.
const SEALED: usize = 65_536 + 16;
const HEADER: usize = 20 + 32 + 1088 + 32;

/// A folder with a key pair and a message of two and a half chunks, encrypted.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.out("candor key make ml-kem-768 -o key.pem --public key.pub");
    folder.write("message", message());
    folder.out("candor encrypt message --to key.pub -o message.candor");
    folder
}

fn message() -> Vec<u8> {
    (0..5 * 32_768_u32).map(|at| (at % 253) as u8).collect()
}

#[test]
fn what_is_encrypted_comes_back_by_files_and_by_pipes() {
    let folder = folder();
    assert_eq!(folder.read("message.candor").len(), HEADER + message().len() + 3 * 16);
    folder.out("candor decrypt message.candor --key key.pem -o back");
    assert_eq!(folder.read("back"), message());
    assert_eq!(folder.path("back").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    folder.refusal("candor decrypt message.candor --key key.pem -o back", 2);
    folder.out("candor decrypt message.candor --key key.pem -o back --force");
    assert!(folder.refusal("candor decrypt message.candor --key key.pem -o /dev/null --force", 2).contains("regular"));
    for kind in ["ml-kem-512", "ml-kem-1024"] {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
        for cipher in ["aes-256-gcm", "chacha20-poly1305"] {
            let (status, sealed, errors) =
                folder.run(&format!("candor encrypt --to {kind}.pub --cipher {cipher}"), &message());
            assert_eq!(status, Some(0), "{errors}");
            let (status, back, errors) = folder.run(&format!("candor decrypt --key {kind}.pem"), &sealed);
            assert_eq!((status, back == message()), (Some(0), true), "{errors}");
        }
    }
    let (_, empty, _) = folder.run("candor encrypt --to key.pub", b"");
    assert_eq!(folder.run("candor decrypt --key key.pem", &empty).0, Some(0));
}

#[test]
fn a_password_opens_what_it_closed() {
    let folder = folder();
    folder.write("password", "correct horse\nsecond line\n");
    folder.write("same", "correct horse");
    folder.write("wrong", "correct house\n");
    folder.write("none", "\n");
    folder.out("candor encrypt message --password-file password -o locked");
    folder.out("candor decrypt locked --password-file same -o back");
    assert_eq!(folder.read("back"), message());
    assert!(folder.refusal("candor decrypt locked --password-file wrong -o x", 2).contains("does not open"));
    assert!(folder.refusal("candor decrypt locked --key key.pem -o x", 2).contains("encrypted to a password"));
    assert!(folder.refusal("candor decrypt message.candor --password-file same -o x", 2).contains("ML-KEM-768"));
    folder.refusal("candor encrypt message --password-file none -o x", 2);
    assert!(!folder.path("x").exists());
}

#[test]
fn a_file_that_was_cut_short_or_changed_leaves_no_plaintext_file() {
    let folder = folder();
    let whole = folder.read("message.candor");
    let before = folder.names();
    let refused = |bytes: &[u8], why: &str| {
        folder.write("message.candor", bytes);
        let said = folder.refusal("candor decrypt message.candor --key key.pem -o back", 2);
        assert!(said.contains(why), "{said}");
        assert_eq!(folder.names(), before, "{why}");
    };
    refused(b"", "not a file that candor has encrypted");
    refused(&whole[..100], "header");
    refused(&whole[..HEADER], "ends before chunk 0");
    refused(&whole[..HEADER + SEALED], "ends before chunk 1");
    refused(&whole[..HEADER + 2 * SEALED], "ends before chunk 2");
    refused(&whole[..whole.len() - 1], "changed or cut short: chunk 2 is not authentic");
    refused(&[&whole[..], b"x"].concat(), "chunk 2 is not authentic");
    let mut changed = whole.clone();
    changed[HEADER + SEALED + 5] ^= 1;
    refused(&changed, "chunk 1 is not authentic");
    let mut changed = whole.clone();
    changed[60] ^= 1;
    refused(&changed, "does not open");
    let moved = [
        &whole[..HEADER],
        &whole[HEADER + SEALED..HEADER + 2 * SEALED],
        &whole[HEADER..HEADER + SEALED],
        &whole[HEADER + 2 * SEALED..],
    ];
    refused(&moved.concat(), "chunk 0 is not authentic");
    folder.out("candor key make ml-kem-768 -o other.pem");
    std::fs::rename(folder.path("other.pem"), folder.path("key.pem")).unwrap();
    refused(&whole, "does not open");
}

#[test]
fn on_standard_output_a_truncation_is_told_at_the_end() {
    let folder = folder();
    let whole = folder.read("message.candor");
    let (status, out, errors) = folder.run("candor decrypt --key key.pem", &whole[..HEADER + 2 * SEALED]);
    assert_eq!(status, Some(2));
    assert_eq!(out, message()[..65_536], "what was authentic");
    assert!(errors.contains("cut short") && errors.contains("is incomplete"), "{errors}");
    let (status, out, _) = folder.run("candor decrypt --key key.pem", &whole);
    assert_eq!((status, out), (Some(0), message()));
}

#[test]
fn a_full_disk_and_a_reader_that_leaves_are_errors() {
    let folder = folder();
    for words in ["decrypt message.candor --key key.pem", "encrypt message --to key.pub"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.command(&format!("candor {words}")).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("can't write standard output"), "{words}");
        let mut child =
            folder.command(&format!("candor {words}")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
    }
}

#[test]
fn a_process_that_is_killed_leaves_nothing_behind() {
    let folder = folder();
    let before = folder.names();
    let pipe = folder.path("message.candor");
    let mut child = folder
        .command("candor decrypt --key key.pem -o back")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Two chunks, and then it waits for more.
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, &std::fs::read(pipe).unwrap()[..HEADER + 2 * SEALED]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(input);
    let left: Vec<_> = folder.names().into_iter().filter(|name| !before.contains(name)).collect();
    // Where a file can be without a name, nothing is left; elsewhere a hidden one, and never one under the name that was asked for.
    let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::WRONLY;
    let can_be_nameless = rustix::fs::open(folder.path("."), flags, rustix::fs::Mode::RUSR).is_ok();
    if can_be_nameless {
        assert!(left.is_empty(), "{left:?}");
    } else {
        assert!(matches!(&left[..], [hidden] if hidden.starts_with(".candor-")), "{left:?}");
    }
}

#[test]
fn every_kind_but_ed25519_has_a_container() {
    let folder = folder();
    for kind in ["x25519", "p256", "p384", "secp256k1", "sm2", "rsa-2048", "rsa-3072", "rsa-4096"] {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
        folder.out(&format!("candor encrypt message --to {kind}.pub --cipher chacha20-poly1305 -o {kind}.candor"));
        folder.out(&format!("candor decrypt {kind}.candor --key {kind}.pem -o {kind}.back"));
        assert_eq!(folder.read(&format!("{kind}.back")), message(), "{kind}");
        let whole = folder.read(&format!("{kind}.candor"));
        folder.write("cut", &whole[..whole.len() - 1]);
        let said = folder.refusal(&format!("candor decrypt cut --key {kind}.pem -o x"), 2);
        assert!(said.contains("changed or cut short"), "{kind}: {said}");
        let mut changed = whole;
        changed[60] ^= 1;
        folder.write("changed", changed);
        folder.refusal(&format!("candor decrypt changed --key {kind}.pem -o x"), 2);
        if !kind.starts_with("rsa") {
            folder.out(&format!("candor key make {kind} -o {kind}.other"));
            let said = folder.refusal(&format!("candor decrypt {kind}.candor --key {kind}.other -o x"), 2);
            assert!(said.contains("does not open"), "{kind}: {said}");
        }
        let said = folder.refusal(&format!("candor decrypt {kind}.candor --key key.pem -o x"), 2);
        assert!(said.contains("container was encrypted to"), "{kind}: {said}");
    }
    assert!(!folder.path("x").exists());
}

#[test]
fn a_dash_is_standard_output() {
    let folder = folder();
    let (status, out, errors) = folder.run("candor decrypt message.candor --key key.pem -o -", b"");
    assert_eq!((status, out), (Some(0), message()), "{errors}");
    assert!(!folder.path("-").exists());
}

#[test]
fn keys_and_options_that_do_not_fit_are_refused() {
    let folder = folder();
    folder.out("candor key make ed25519 -o ed.pem --public ed.pub");
    assert!(folder.refusal("candor encrypt message --to ed.pub -o x", 2).contains("Ed25519 keys do not encrypt"));
    assert!(folder.refusal("candor decrypt message.candor --key ed.pem -o x", 2).contains("encrypted to ML-KEM-768"));
    assert!(folder.refusal("candor decrypt message.candor --key key.pub -o x", 2).contains("expected a secret one"));
    folder.out("candor key make sm2 -o sm2.pem --public sm2.pub");
    folder.write("long", vec![1; 1_048_577]);
    assert!(folder.refusal("candor encrypt long --to sm2.pub --no-container -o x", 2).contains("longer than 1048576"));
    folder.out("candor key make rsa-2048 -o rsa.pem --public rsa.pub");
    let said = folder.refusal("candor encrypt long --to rsa.pub --no-container -o x", 2);
    assert!(said.contains("longer than 190 bytes: RSA-2048"), "{said}");
    assert!(folder.refusal("candor decrypt long --key rsa.pem -o x", 2).contains("longer than 256 bytes"));
    folder.write("short", vec![1; 256]);
    assert!(folder.refusal("candor decrypt short --key rsa.pem -o x", 2).contains("can't be decrypted"));
    // What can't have an effect is refused, and not ignored.
    for words in ["--cipher chacha20-poly1305", "--cipher aes-256-gcm"] {
        folder.refusal(&format!("candor encrypt short --to rsa.pub --no-container {words} -o x"), 2);
    }
    folder.refusal("candor encrypt short --password-file short --no-container -o x", 2);
    assert!(
        folder
            .refusal("candor encrypt short --to key.pub --no-container -o x", 2)
            .contains("expected a key of RSA or SM2")
    );
    assert!(!folder.path("x").exists());
}
