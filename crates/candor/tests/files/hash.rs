//! `candor hash` and `candor mac`, beside coreutils and OpenSSL.

use super::folder::Folder;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Files with names that need care.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, bytes) in
        [("a", &b"abc"[..]), ("empty", b""), ("two words", b"x"), ("a\nline", b"y"), ("back\\slash", b"z")]
    {
        folder.write(name, bytes);
    }
    folder.write("large", vec![7; 3_000_000]);
    folder
}

fn all(folder: &Folder, start: &str) -> Vec<u8> {
    let names = ["a", "empty", "two words", "a\nline", "back\\slash", "large"];
    let output = folder.command(start).args(names).output().expect("it starts");
    assert!(output.status.success(), "{start}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The worker of a run starts its own program, and those of others where they are: one digest.
#[test]
fn a_run_hashes_a_file_by_this_very_program() {
    let folder = Folder::new();
    let said = folder.out("candor run file/hash/sha256/1m --smoke");
    let passed = said.lines().find(|line| line.starts_with("passed file/hash/sha256/1m: candor@"));
    assert!(passed.is_some() && said.contains(" 0 failed, "), "{said}");
    if folder.has("openssl") {
        assert!(passed.is_some_and(|passed| passed.contains(", openssl-")), "{said}");
    }
}

#[test]
fn lines_are_those_of_coreutils_and_are_checked_both_ways() {
    let folder = folder();
    if !folder.has("sha256sum") {
        return;
    }
    for (program, words) in [
        ("sha256sum", "-a sha256"),
        ("sha384sum", "-a sha384"),
        ("sha512sum", "-a sha512"),
        ("b2sum", "-a blake2b-512"),
    ] {
        let (ours, theirs) = (all(&folder, &format!("candor hash {words}")), all(&folder, program));
        assert_eq!(ours, theirs, "{program}");
        folder.write("ours", &ours);
        let (our_tags, their_tags) =
            (all(&folder, &format!("candor hash --tag {words}")), all(&folder, &format!("{program} --tag")));
        assert_eq!(our_tags, their_tags, "{program}");
        folder.write("tags", &their_tags);
        folder.write("binary", all(&folder, &format!("{program} -b")));
        for list in ["ours", "binary"] {
            let said = folder.out(&format!("candor hash {words} --check {list}"));
            assert_eq!(said.lines().count(), 6, "{said}");
            assert!(said.lines().all(|line| line.ends_with(": OK")), "{said}");
            assert_eq!(said, folder.out(&format!("{program} --check {list}")));
        }
        // A tag names the hash.
        assert_eq!(folder.out("candor hash --check tags").matches(": OK").count(), 6);
        assert_eq!(folder.out("candor hash --check --quiet tags"), "");
        folder.out(&format!("{program} --check tags"));
    }
}

#[test]
fn a_mismatch_is_status_1_and_names_the_file() {
    let folder = folder();
    folder.write("list", all(&folder, "candor hash"));
    folder.write("a", "abd");
    let (status, out, errors) = folder.run("candor hash --check list", b"");
    let out = String::from_utf8(out).unwrap();
    assert_eq!(status, Some(1), "{errors}");
    assert!(out.contains("a: FAILED\n") && out.matches(": OK").count() == 5, "{out}");
    assert!(errors.contains("1 checksum does not match"), "{errors}");
    std::fs::remove_file(folder.path("a")).unwrap();
    let errors = folder.refusal("candor hash --check list", 1);
    assert!(errors.contains("1 listed file could not be read"), "{errors}");
}

#[test]
fn lines_that_are_none_are_counted_and_fail_if_that_is_asked_for() {
    let folder = folder();
    let line = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    folder.write("list", format!("# a comment\n\nnonsense\n{line}  a\r\n{}  a\n", &line[2..]));
    let (status, out, errors) = folder.run("candor hash --check list", b"");
    assert_eq!((status, &out[..]), (Some(0), &b"a: OK\n"[..]), "{errors}");
    assert!(errors.contains("2 lines are no checksums"), "{errors}");
    // As coreutils has it, --quiet is about files that are right.
    let (status, out, errors) = folder.run("candor hash --check --quiet list", b"");
    assert_eq!((status, &out[..]), (Some(0), &b""[..]), "{errors}");
    assert!(errors.contains("2 lines are no checksums"), "{errors}");
    let errors = folder.refusal("candor hash --check --strict list", 1);
    assert!(errors.contains("line 3 is no checksum\n"), "{errors}");
    assert!(errors.contains("line 5 is no checksum of sha256: it has 31 bytes; expected 32"), "{errors}");
    folder.write("none", "nonsense\n");
    assert!(folder.refusal("candor hash --check none", 2).contains("no line is a checksum of sha256"));
    // A list without checksums, or none, does not keep the others from being checked, nor from being counted.
    let (status, out, errors) = folder.run("candor hash --check none missing list", b"");
    assert_eq!((status, &out[..]), (Some(2), &b"a: OK\n"[..]), "{errors}");
    let said = "2 lists have no checksum that could be read, 3 lines are no checksums";
    assert!(errors.contains("none: no line") && errors.contains("missing: ") && errors.contains(said), "{errors}");
    // The tag says one hash, the flag another.
    folder.write("tag", format!("SHA256 (a) = {line}\n"));
    folder.refusal("candor hash --check -a sm3 tag", 2);
    folder.out("candor hash --check -a sha256 tag");
}

#[test]
fn a_list_on_standard_input_can_not_list_standard_input() {
    let folder = folder();
    let line = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let (status, out, errors) = folder.run("candor hash --check", format!("{line}  -\n{line}  a\n").as_bytes());
    assert_eq!((status, &out[..]), (Some(1), &b"a: OK\n"[..]), "{errors}");
    assert!(errors.contains("standard input is the list itself"), "{errors}");
    folder.write("list", format!("{line}  -\n"));
    let (status, out, errors) = folder.run("candor hash --check list", b"abc");
    assert_eq!((status, &out[..]), (Some(0), &b"-: OK\n"[..]), "{errors}");
}

/// A list may come from anybody, and what it names goes onto a terminal.
#[test]
fn a_name_in_a_list_makes_no_line_of_its_own() {
    let folder = folder();
    folder.write("list", format!("\\{}  a\\nfile: OK\n{}  \x1b[2Jb\n", "0".repeat(64), "0".repeat(64)));
    let (status, out, errors) = folder.run("candor hash --check list", b"");
    let out = String::from_utf8(out).unwrap();
    assert_eq!(status, Some(1));
    assert!(out.lines().all(|line| line.ends_with("FAILED open or read")), "{out}");
    assert_eq!(out, "\\a\\nfile: OK: FAILED open or read\n\\\\u{1b}[2Jb: FAILED open or read\n");
    assert!(!errors.contains('\x1b') && !errors.lines().any(|line| line.ends_with(": OK")), "{errors}");
}

/// A digest of one byte is that of one file in 256.
#[test]
fn a_short_digest_of_shake_is_no_checksum() {
    let folder = folder();
    for (name, least) in [("shake128", 16), ("shake256", 32)] {
        for (length, status) in [(least, 0), (least - 1, 2), (1, 2)] {
            folder.write("list", folder.out(&format!("candor hash -a {name} --length {length} --tag a")));
            let (got, out, errors) = folder.run("candor hash --check --strict list", b"");
            assert_eq!(got, Some(status), "{name}, {length} bytes: {errors}");
            if status == 0 {
                assert_eq!(out, b"a: OK\n");
            } else {
                assert!(
                    errors.contains(&format!("has {length} bytes of {name}; expected at least {least}")),
                    "{errors}"
                );
            }
        }
    }
}

#[test]
fn standard_input_directories_and_missing_files() {
    let folder = folder();
    let (status, out, _) = folder.run("candor hash", b"abc");
    let line = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n";
    assert_eq!((status, String::from_utf8(out).unwrap()), (Some(0), line.to_owned()));
    let (status, out, errors) = folder.run("candor hash missing a .", b"");
    assert_eq!(status, Some(2));
    assert!(String::from_utf8(out).unwrap().ends_with("  a\n"), "the others are hashed");
    assert!(
        errors.contains("missing: ") && errors.contains("is a directory") && errors.contains("2 files"),
        "{errors}"
    );
    // A name that is no text.
    let name = OsStr::from_bytes(b"\xff");
    std::fs::write(folder.path("x").with_file_name(name), "abc").unwrap();
    let output = folder.command("candor hash").arg(name).output().unwrap();
    assert!(output.status.success() && output.stdout.ends_with(b"  \xff\n"));
}

#[test]
fn every_hash_agrees_with_openssl() {
    let folder = folder();
    if !folder.has("openssl") {
        return;
    }
    for (ours, theirs) in [
        ("sha256", "sha256"),
        ("sha384", "sha384"),
        ("sha512", "sha512"),
        ("sha3-256", "sha3-256"),
        ("sha3-512", "sha3-512"),
        ("blake2b-512", "blake2b512"),
        ("sm3", "sm3"),
        ("shake128 --length 32", "shake128 -xoflen 32"),
        ("shake256 --length 77", "shake256 -xoflen 77"),
    ] {
        let expected = folder.out(&format!("openssl dgst -{theirs} -r large"));
        let digest = folder.out(&format!("candor hash -a {ours} large"));
        assert_eq!(digest.split(' ').next(), expected.split(' ').next(), "{ours}");
        // Its own lines name the hash.
        if !ours.starts_with("shake") {
            folder.write("theirs", folder.out(&format!("openssl dgst -{theirs} large")));
            assert_eq!(folder.out("candor hash --check theirs"), "large: OK\n", "{ours}");
        }
    }
    folder.refusal("candor hash --length 3 a", 2);
}

#[test]
fn codes_agree_with_openssl_and_a_wrong_one_is_status_1() {
    let folder = folder();
    folder.write("key", [7; 16]);
    let code = folder.out("candor mac --key key a");
    let code = code.split(' ').next().unwrap();
    folder.out(&format!("candor mac --key key a --verify {code}"));
    folder.refusal(&format!("candor mac --key key empty --verify {code}"), 1);
    folder.refusal(&format!("candor mac --key key a --verify {}", &code[2..]), 1);
    folder.refusal("candor mac --key key a --verify xyz", 2);
    folder.refusal("candor mac -a cmac-aes-256 --key key a", 2);
    assert!(folder.refusal("candor mac --key empty a", 2).contains("empty is empty; expected a key"));
    // Others are not the worse for a file that can't be read, and a name makes no line of its own.
    let (status, out, errors) = folder.run("candor mac --key key missing a .", b"");
    assert_eq!((status, String::from_utf8(out).unwrap()), (Some(2), format!("{code}  a\n")), "{errors}");
    assert!(errors.contains("missing: ") && errors.contains("2 files could not be read"), "{errors}");
    let output = folder.command("candor mac --key key").arg("a\nline").output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"\\") && output.stdout.ends_with(b"  a\\nline\n"));
    folder.refusal(&format!("candor mac --key key a empty --verify {code}"), 2);
    folder.write("long key", [7; 65]);
    let refused = folder.command("candor mac -a blake2b-512 a --key").arg("long key").output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("key is 65 bytes long; blake2b-512 takes 1 to 64"));
    if !folder.has("openssl") {
        return;
    }
    folder.write("long", [7; 32]);
    for (ours, theirs) in [
        ("hmac-sha256", "-digest SHA256 HMAC"),
        ("hmac-sha384", "-digest SHA384 HMAC"),
        ("hmac-sha512", "-digest SHA512 HMAC"),
        ("hmac-sha3-256", "-digest SHA3-256 HMAC"),
        ("hmac-sha3-512", "-digest SHA3-512 HMAC"),
        ("hmac-blake2b-512", "-digest BLAKE2b512 HMAC"),
        ("hmac-sm3", "-digest SM3 HMAC"),
        ("blake2b-512", "BLAKE2BMAC"),
        ("cmac-aes-128", "-cipher AES-128-CBC CMAC"),
        ("cmac-aes-256", "-cipher AES-256-CBC CMAC"),
        ("cmac-sm4", "-cipher SM4-CBC CMAC"),
    ] {
        let (key, bytes) = if ours == "cmac-aes-256" { ("long", 32) } else { ("key", 16) };
        let hex = "07".repeat(bytes);
        let expected = folder.out(&format!("openssl mac -macopt hexkey:{hex} -in large {theirs}"));
        let code = folder.out(&format!("candor mac -a {ours} --key {key} large"));
        assert_eq!(code.split(' ').next(), Some(&expected.trim().to_lowercase()[..]), "{ours}");
    }
}
