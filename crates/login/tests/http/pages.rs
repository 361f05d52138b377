//! The pages over HTTP: what is in the folder and nothing else, and what browsers are told about it.

use crate::world::{Answer, World, config, parse, raw, request};
use candor_login::{Log, Server, StartError};
use candor_test_support::random::Random;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

/// What no answer may contain: it lies beside the folder.
const OUTSIDE: &str = "what lies outside";

/// A folder of pages, in a folder with something else.
fn folder() -> (TempDir, String) {
    let around = tempfile::tempdir().unwrap();
    fs::write(around.path().join("outside.txt"), OUTSIDE).unwrap();
    let pages = around.path().join("pages");
    fs::create_dir_all(pages.join("opaque")).unwrap();
    for (name, text) in [
        ("index.html", "<!doctype html>sign in"),
        ("change-password.html", "<!doctype html>change"),
        ("style.css", "p{}"),
        ("opaque/index.js", "export {};"),
        ("opaque/opaque.wasm", "wasm"),
        ("opaque/opaque.wasm.gz", "packed"),
    ] {
        fs::write(pages.join(name), text).unwrap();
    }
    let name = pages.display().to_string();
    (around, name)
}

async fn world(folder: &str) -> World {
    World::new(&[("pages", folder)]).await
}

/// The answer, and its body as text.
async fn ask(world: &World, method: &str, path: &str, headers: &str) -> (Answer, String) {
    let bytes = raw(world.address(), &request(method, path, headers, "")).await;
    let text = String::from_utf8_lossy(&bytes);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    (parse(&bytes), body)
}

async fn get(world: &World, path: &str) -> (u16, String) {
    let (answer, body) = ask(world, "GET", path, "").await;
    (answer.status, body)
}

#[tokio::test]
async fn pages_are_served_beside_the_interface_and_nothing_is_without_the_setting() {
    let (_around, name) = folder();
    let world = world(&name).await;
    for (path, kind, body) in [
        ("/", "text/html; charset=utf-8", "<!doctype html>sign in"),
        ("/change-password", "text/html; charset=utf-8", "<!doctype html>change"),
        ("/style.css", "text/css; charset=utf-8", "p{}"),
        ("/opaque/index.js", "text/javascript; charset=utf-8", "export {};"),
        ("/opaque/opaque.wasm", "application/wasm", "wasm"),
        ("/style.css?version=1", "text/css; charset=utf-8", "p{}"),
    ] {
        let (answer, text) = ask(&world, "GET", path, "").await;
        assert_eq!((answer.status, text.as_str()), (200, body), "{path}");
        assert_eq!(answer.headers["content-type"], kind, "{path}");
        assert_eq!(answer.headers["content-length"], body.len().to_string(), "{path}");
    }
    assert_eq!(world.get("/v1/config", None).await.body["registration"], "open");
    assert_eq!(world.get("/healthz", None).await.status, 200);
    let counted = get(&world, "/metrics").await.1;
    assert!(counted.contains(r#"requests_total{method="GET",route="pages",status="200"} 6"#), "{counted}");

    let without = World::new(&[]).await;
    for path in ["/", "/change-password", "/style.css", "/.well-known/change-password"] {
        assert_eq!(without.get(path, None).await.kind(), "404 no-such-path", "{path}");
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let (around, name) = folder();
    let world = world(&name).await;
    let outside = around.path().join("outside.txt").display().to_string();
    for path in [
        "/../outside.txt",
        "/opaque/../../outside.txt",
        "/opaque/../style.css",
        "/./style.css",
        "/%2e%2e/outside.txt",
        "/%2E%2E%2Foutside.txt",
        "/..%2foutside.txt",
        "/%252e%252e/outside.txt",
        "/..%5coutside.txt",
        "/..\\outside.txt",
        "/%c0%ae%c0%ae/outside.txt",
        "/style.css%00",
        "/style.css%00.html",
        "/style%2ecss",
        "/style.css/",
        "//style.css",
        "/STYLE.CSS",
        "/opaque",
        "/opaque/",
        "/index.html",
        "/change-password.html",
        "/opaque/opaque.wasm.gz",
        "/.",
        "/..",
        "/*",
        // A host's name, to HTTP.
        "outside.txt",
        outside.as_str(),
    ] {
        let (answer, body) = ask(&world, "GET", path, "").await;
        assert_eq!(answer.kind(), "404 no-such-path", "{path}: {body}");
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{path}");
        assert!(!body.contains(OUTSIDE), "{path}");
    }
    // These are no requests at all.
    for path in ["/style.css\0", "/\u{1}", "../outside.txt"] {
        let (answer, body) = ask(&world, "GET", path, "").await;
        assert!(answer.status == 400 && body.is_empty(), "{path:?}: {answer:?}");
    }
    assert_eq!(get(&world, "/style.css").await, (200, "p{}".to_owned()));
}

#[tokio::test]
async fn a_path_that_is_changed_at_random_leads_to_a_page_or_nowhere() {
    let (_around, name) = folder();
    let world = world(&name).await;
    let parts = ["/", ".", "..", "%2e", "%2f", "%00", "style.css", "outside.txt", "opaque", "index.js", "\\", "~", "?"];
    let served = ["<!doctype html>sign in", "<!doctype html>change", "p{}", "export {};", "wasm"];
    let (mut random, mut found) = (Random::new(1), 0);
    for _ in 0..200 {
        let length = 1 + random.below(4);
        let path: String = (0..length).map(|_| parts[random.below(parts.len())]).collect();
        let (status, body) = get(&world, &format!("/{path}")).await;
        match status {
            200 => found += usize::from(served.contains(&body.as_str())),
            404 | 400 => assert!(!body.contains(OUTSIDE), "{path}"),
            _ => panic!("{path}: {status} {body}"),
        }
        assert!(status != 200 || served.contains(&body.as_str()), "{path}: {body}");
    }
    assert!(found > 0, "some lead to a page");
}

#[tokio::test]
async fn the_folder_is_read_once_and_links_in_it_stop_the_start() {
    let (around, name) = folder();
    let world = world(&name).await;
    // What comes into the folder later is not served, and what leaves it stays.
    let pages = Path::new(&name);
    symlink(around.path().join("outside.txt"), pages.join("late.txt")).unwrap();
    fs::write(pages.join("late.css"), "late").unwrap();
    fs::remove_file(pages.join("style.css")).unwrap();
    assert_eq!(get(&world, "/late.txt").await.0, 404);
    assert_eq!(get(&world, "/late.css").await.0, 404);
    assert_eq!(get(&world, "/style.css").await, (200, "p{}".to_owned()));

    let state = tempfile::tempdir().unwrap();
    let settings = [("listen", "127.0.0.1:0"), ("pages", name.as_str())];
    let start = async || Server::start(config(state.path(), &settings), Log::default()).await;
    let error = start().await.err().expect("there is a link");
    assert!(matches!(error, StartError::Pages { .. }), "{error}");
    assert!(error.to_string().ends_with("pages/late.txt: is a symbolic link; expected a file or a folder"), "{error}");
    // Nothing was made before the folder was found wanting.
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    fs::remove_file(pages.join("late.txt")).unwrap();
    assert!(start().await.is_ok());
}

#[tokio::test]
async fn a_page_can_be_looked_at_and_not_changed() {
    let (_around, name) = folder();
    let world = world(&name).await;
    let (whole, _) = ask(&world, "GET", "/style.css", "").await;
    let (head, body) = ask(&world, "HEAD", "/style.css", "").await;
    assert_eq!((head.status, body.as_str(), &head.headers["content-length"]), (200, "", &"3".to_owned()));
    let but_date = |answer: &Answer| {
        let mut headers = answer.headers.clone();
        headers.remove("date");
        headers
    };
    assert_eq!(but_date(&head), but_date(&whole));
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "MADEUP"] {
        let (refused, _) = ask(&world, method, "/style.css", "").await;
        assert_eq!((refused.kind().as_str(), refused.headers["allow"].as_str()), ("405 no-such-method", "GET, HEAD"));
        let (missing, _) = ask(&world, method, "/nothing.css", "").await;
        assert_eq!(missing.kind(), "404 no-such-path", "{method}");
    }
    let (missing, body) = ask(&world, "HEAD", "/nothing.css", "").await;
    assert_eq!((missing.status, body.as_str()), (404, ""));
}

#[tokio::test]
async fn browsers_keep_a_file_and_ask_whether_it_has_changed() {
    let (_around, name) = folder();
    let world = world(&name).await;
    let (first, _) = ask(&world, "GET", "/style.css", "").await;
    let tag = &first.headers["etag"];
    assert_eq!(first.headers["cache-control"], "no-cache");
    for held in [tag.clone(), format!("W/{tag}"), "*".to_owned(), format!("\"other\", {tag}")] {
        let (same, body) = ask(&world, "GET", "/style.css", &format!("If-None-Match: {held}\r\n")).await;
        assert_eq!((same.status, body.as_str(), &same.headers["etag"]), (304, "", tag), "{held}");
        assert_eq!(same.headers["cache-control"], "no-cache");
        assert!(same.headers.contains_key("content-security-policy"));
    }
    for held in ["\"other\"".to_owned(), String::new(), tag.trim_matches('"').to_owned()] {
        let (whole, body) = ask(&world, "GET", "/style.css", &format!("If-None-Match: {held}\r\n")).await;
        assert_eq!((whole.status, body.as_str()), (200, "p{}"), "{held}");
    }
    let (other, _) = ask(&world, "GET", "/opaque/index.js", &format!("If-None-Match: {tag}\r\n")).await;
    assert_eq!(other.status, 200, "a tag belongs to one file");
}

#[tokio::test]
async fn what_was_compressed_is_sent_to_browsers_that_take_it() {
    let (_around, name) = folder();
    let world = world(&name).await;
    let path = "/opaque/opaque.wasm";
    let (packed, body) = ask(&world, "GET", path, "Accept-Encoding: br, gzip\r\n").await;
    assert_eq!((packed.headers["content-encoding"].as_str(), body.as_str()), ("gzip", "packed"));
    assert_eq!(
        (packed.headers["content-type"].as_str(), packed.headers["content-length"].as_str()),
        ("application/wasm", "6")
    );
    let (plain, body) = ask(&world, "GET", path, "Accept-Encoding: gzip;q=0\r\n").await;
    assert!(!plain.headers.contains_key("content-encoding") && body == "wasm");
    assert_ne!(plain.headers["etag"], packed.headers["etag"]);
    for answer in [&plain, &packed] {
        assert_eq!(answer.headers["vary"], "Accept-Encoding");
    }
    // A tag of one form does not stand for the other.
    let held = format!("If-None-Match: {}\r\nAccept-Encoding: gzip\r\n", plain.headers["etag"]);
    assert_eq!(ask(&world, "GET", path, &held).await.0.status, 200);
    let (alone, _) = ask(&world, "GET", "/style.css", "Accept-Encoding: gzip\r\n").await;
    assert!(!alone.headers.contains_key("content-encoding"), "there is no compressed twin");
}

#[tokio::test]
async fn a_page_may_load_and_ask_this_server_only() {
    let (_around, name) = folder();
    let world = world(&name).await;
    for path in ["/", "/change-password", "/style.css", "/opaque/index.js", "/opaque/opaque.wasm"] {
        let (answer, _) = ask(&world, "GET", path, "").await;
        let policy = &answer.headers["content-security-policy"];
        for part in [
            "default-src 'none'",
            "script-src 'self' 'wasm-unsafe-eval'",
            "form-action 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.split("; ").any(|directive| directive == part), "{path}: {part}");
        }
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'") && !policy.contains("http"));
        for (header, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.headers[header], value, "{path}");
        }
        assert!(answer.headers.contains_key("permissions-policy"));
    }
    // The interface's own answers are never kept.
    assert_eq!(world.get("/v1/config", None).await.headers["cache-control"], "no-store");
    assert_eq!(world.get("/nothing.css", None).await.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn password_managers_find_the_page_that_changes_the_password() {
    let (_around, name) = folder();
    let world = world(&name).await;
    let (there, body) = ask(&world, "GET", "/.well-known/change-password", "").await;
    assert_eq!((there.status, there.headers["location"].as_str(), body.as_str()), (302, "/change-password", ""));
    assert_eq!(get(&world, "/change-password").await.0, 200);
    // What they ask to see whether a server says 200 to anything.
    let nonsense = "/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200";
    assert_eq!(get(&world, nonsense).await.0, 404);
    assert_eq!(ask(&world, "POST", "/.well-known/change-password", "").await.0.status, 405);
}
