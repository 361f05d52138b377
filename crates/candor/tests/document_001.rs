//! The report of document 001: its command selects the document's rows, and the page has what its run says.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What stands above the part that a command prints.
const MARK: &str = "<!-- below: candor report RUN --answer kctsb-001 --format md -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("crates/primitives/docs/document-001.md")).unwrap()
}

fn said(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_candor")).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The tasks that these words select.
fn selected(words: &[&str]) -> BTreeSet<String> {
    let listed: Value = serde_json::from_str(&said(&[&["list", "tasks", "--format", "json"], words].concat())).unwrap();
    listed.as_array().unwrap().iter().map(|task| task["task"].as_str().unwrap().to_owned()).collect()
}

/// Sections 1 to 5 of the document, by the names of our tasks.
fn rows() -> BTreeSet<String> {
    let rsa = ["keygen", "oaep-encrypt", "oaep-decrypt", "pss-sign", "pss-verify"];
    let rsa = ["2048", "3072", "4096"].into_iter().flat_map(|bits| rsa.map(|op| format!("rsa/{bits}/{op}")));
    let ec = ["keygen", "sign", "verify", "ecdh"];
    let ec = ["secp256k1", "p256", "p384"].into_iter().flat_map(|curve| ec.map(|op| format!("ec/{curve}/{op}")));
    let sm2 = ["keygen", "sign", "verify", "encrypt", "decrypt"].map(|op| format!("sm2/{op}"));
    let hashes = ["sha256", "sha512", "sha3-256", "sha3-512", "blake2b-512", "sm3"];
    let hashes = hashes.map(|hash| format!("hash/{hash}/10m"));
    let aeads = ["aes-256-gcm", "chacha20-poly1305"].into_iter();
    let aeads = aeads.flat_map(|aead| ["seal", "open"].map(|op| format!("aead/{aead}/{op}/10m")));
    rsa.chain(ec).chain(sm2).chain(hashes).chain(aeads).collect()
}

#[test]
fn its_key_selects_each_row_of_the_document_and_nothing_else() {
    assert_eq!(rows().len(), 42);
    assert_eq!(selected(&["kctsb-001"]), rows());
}

#[test]
fn the_commands_of_the_page_name_what_there_is() {
    let page = page();
    let commands = page.lines().chain(page.split('`')).filter_map(|text| text.strip_prefix("candor run "));
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() >= 2 && commands.contains(&"kctsb-001"), "{commands:?}");
    for words in commands {
        let words: Vec<&str> = words.split_whitespace().take_while(|word| !word.starts_with("--")).collect();
        assert!(!selected(&words).is_empty(), "{words:?}");
    }
}

/// Each row of the document is in the answer of any run, measured or not.
#[test]
fn an_answer_has_all_rows() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/sample.jsonl");
    let run = sample.to_str().unwrap();
    for format in ["text", "md"] {
        let answer = said(&["report", run, "--answer", "kctsb-001", "--format", format]);
        for row in rows() {
            assert!(answer.contains(&format!("{row} (section ")), "{row} in {format}");
        }
        for quoted in ["OpenSSL 3.3.1, RSA-4096, pss-verify: 16677 ops/s", "kctsb 4.0.1, SM2, decrypt: 1.643 ms"] {
            assert!(answer.contains(quoted), "{quoted} in {format}");
        }
        assert_eq!(answer.matches("not measured in this run").count(), 42, "{format}");
    }
    let unknown =
        Command::new(env!("CARGO_BIN_EXE_candor")).args(["report", run, "--answer", "kctsb"]).output().unwrap();
    let unknown = String::from_utf8(unknown.stderr).unwrap();
    assert!(unknown.contains("no publication has the key \"kctsb\"") && unknown.contains("kctsb-001"), "{unknown}");
}

#[test]
fn the_page_has_what_its_run_says() {
    let page = page();
    let (_, below) = page.split_once(MARK).expect("the page has its mark");
    let Some((_, rest)) = below.split_once("beside run ") else {
        assert!(below.trim().is_empty(), "what stands below the mark names no run: {below}");
        eprintln!("skipped: document-001.md has no run yet");
        return;
    };
    let run = rest.split(". ").next().unwrap();
    let file = root().join("runs").join(format!("{run}.jsonl"));
    let answer = said(&["report", file.to_str().unwrap(), "--answer", "kctsb-001", "--format", "md"]);
    assert_eq!(
        below.trim(),
        answer.trim(),
        "write it anew: candor report runs/{run}.jsonl --answer kctsb-001 --format md"
    );
    // The page says of those that they take half an hour.
    let missing = answer.lines().filter(|line| line.contains("not measured in this run"));
    for row in missing {
        assert!(row.starts_with("| rsa/3072/keygen ") || row.starts_with("| rsa/4096/keygen "), "{row}");
    }
    for row in rows() {
        assert!(below.contains(&format!("\n| {row} (section ")), "{row}");
    }
}
