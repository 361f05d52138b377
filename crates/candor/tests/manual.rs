//! What the command line says of itself: version, pages, completions, lists; and the claims that it comes with.

use std::path::Path;
use std::process::{Command, Output};

fn output(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_candor")).args(arguments).output().expect("candor starts")
}

fn said(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("candor speaks UTF-8")
}

#[test]
fn the_version_names_its_commit_and_compiler() {
    let version = said(&["--version"]);
    assert!(version.starts_with(concat!("candor ", env!("CARGO_PKG_VERSION"), " (commit ")), "{version}");
    assert!(version.contains("rustc 1."), "{version}");
    assert_eq!(said(&["-V"]).trim(), concat!("candor ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_command_has_a_page_and_help() {
    assert!(said(&["man"]).contains(".TH candor 1"));
    let page = said(&["man", "onion", "relay"]);
    assert!(page.contains(concat!(".TH candor-onion-relay 1  \"candor ", env!("CARGO_PKG_VERSION"), "\"")), "{page}");
    assert!(page.contains("\\-\\-relays"), "{page}");
    assert_eq!(said(&["help", "run"]), said(&["run", "--help"]));
    let unknown = output(&["man", "onion", "rely"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean relay"));

    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    said(&["man", "--all", pages.to_str().unwrap(), "--quiet"]);
    for page in ["candor.1", "candor-run.1", "candor-onion-relay.1", "candor-login-user-show.1", "candor-key-make.1"] {
        assert!(pages.join(page).is_file(), "{page} is missing");
    }
    assert!(!pages.join("candor-worker.1").exists(), "what candor starts itself needs no page");
    let full = output(&["man", "--all", "/dev/null/man1"]);
    assert_eq!(full.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&full.stderr).contains("can't write /dev/null/man1"));
}

#[test]
fn completions_know_the_tasks() {
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&["completions", shell]);
        assert!(script.contains("kem/ml-kem-768/encaps") && script.contains("clock-too-coarse"), "{shell}");
    }
}

#[test]
fn a_list_takes_words() {
    let tasks: serde_json::Value =
        serde_json::from_str(&said(&["list", "tasks", "ml-kem-768/encaps", "--format", "json"])).unwrap();
    let names: Vec<_> = tasks.as_array().unwrap().iter().map(|task| task["task"].as_str().unwrap()).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name.contains("ml-kem-768/encaps")), "{names:?}");
    assert_eq!(said(&["list", "tiers", "portable"]).lines().count(), 1);
    assert!(said(&["list", "tiers"]).lines().count() > 1);
    let unknown = output(&["list", "peers", "opensll"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean openssl"));
}

#[test]
fn each_of_several_runs_keeps_its_claims() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/sample.jsonl");
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.jsonl");
    std::fs::copy(&sample, &other).unwrap();
    let claims = directory.path().join("claims.toml");
    let text = "key = \"somebody\"\nsource = \"Somebody\"\n[[claim]]\nwhat = \"mixing\"\nplace = \"Table 1\"\nvalue = 2\nunit = \"us\"\nhow = \"whole\"\n\
                task = \"self-test/same\"\n";
    std::fs::write(&claims, text).unwrap();
    let [run, other] = [&sample, &other].map(|path| path.to_str().unwrap());
    let flag = format!("--claims={}", claims.display());
    // The word after the flag is a run and not another file of claims.
    let both: serde_json::Value =
        serde_json::from_str(&said(&["report", &flag, run, other, "--format", "json"])).unwrap();
    for report in both.as_array().expect("two runs") {
        let [claim] = &report["claims"].as_array().expect("claims")[..] else { panic!("one claim: {report:#}") };
        assert_eq!((claim["run"].as_str(), claim["key"].as_str()), (report["run"].as_str(), Some("somebody")));
        assert_eq!(claim["here"]["subject"], "kernel");
    }
    // CSV has no place for them, and says so.
    let csv = |flags: &[&str]| {
        String::from_utf8(output(&[&["report", run, "--format", "csv"], flags].concat()).stderr).unwrap()
    };
    assert!(csv(&[&flag]).contains("left out all published numbers") && csv(&[]).is_empty());
    let without: serde_json::Value = serde_json::from_str(&said(&["report", run, "--format", "json"])).unwrap();
    assert!(without.get("claims").is_none());
}

/// A misspelt task would stand beside nothing. That of another project's run is known by the run.
#[test]
fn claims_about_a_task_that_nobody_has_are_an_error() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/sample.jsonl");
    let directory = tempfile::tempdir().unwrap();
    let claims = directory.path().join("claims.toml");
    let of = |task: &str| {
        let text = format!(
            "key = \"somebody\"\nsource = \"Somebody\"\n[[claim]]\nwhat = \"mixing\"\nplace = \"Table 1\"\nvalue = 2\nunit = \"us\"\nhow = \"whole\"\ntask = \"{task}\"\n"
        );
        std::fs::write(&claims, text).unwrap();
        let (run, file) = (sample.to_str().unwrap(), claims.to_str().unwrap());
        let flag = format!("--claims={file}");
        [vec!["report", run, &flag], vec!["report", run, "--answer", file], vec!["compare", run, run, &flag]]
            .map(|arguments| output(&arguments))
            .map(|output| (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
    };
    for (status, said) in of("hash/sha265/1k") {
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("claims.toml: no task is named \"hash/sha265/1k\"; did you mean hash/sha256"), "{said}");
    }
    // The sample has a task that this version no longer knows.
    for known in ["hash/sha256/1k", "self-test/wrong-answer", ""] {
        assert!(of(known).iter().take(2).all(|(status, _)| *status == Some(0)), "{known}: {:?}", of(known));
    }
}
