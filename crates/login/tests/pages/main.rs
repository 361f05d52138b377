//! The pages in headless Chromium: once on SQLite, with a look at every page, and once on PostgreSQL.
//!
//! `cargo xtask wasm` makes the pages. Pictures of all of them are in `target/pages-pictures` afterwards.

mod flow;
mod looks;

use candor_login::{Actor, Config, Log, Purpose, Server, TokenHash, UnixTime, UserName, registration_token};
use candor_primitives::hash::{Digest, Sha256};
use candor_test_support::browser::Browser;
use candor_test_support::postgres;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Where a deployment has its accounts and its pages.
pub(crate) struct Deployment {
    runtime: Runtime,
    state: TempDir,
    /// PostgreSQL's URL; SQLite without one.
    database: Option<String>,
    pages: PathBuf,
}

impl Deployment {
    fn new(database: Option<String>, pages: PathBuf) -> Self {
        // The browser is waited for on this thread, so the servers need others.
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, state: tempfile::tempdir().unwrap(), database, pages }
    }

    /// A server with these settings.
    pub(crate) fn serve(&self, settings: &[(&str, &str)]) -> Server {
        let [state, pages] = [self.state.path(), &self.pages].map(|path| path.display().to_string());
        // As little key stretching as clients accept.
        let common =
            [("listen", "127.0.0.1:0"), ("ksf", "19456:2:1"), ("state", state.as_str()), ("pages", pages.as_str())];
        let mut config = Config::default();
        let database = self.database.as_ref().map(|url| ("database", url.as_str()));
        for (name, value) in common.iter().chain(&database).chain(settings) {
            config.set("test", name, value).unwrap();
        }
        self.runtime.block_on(Server::start(config, Log::default())).unwrap()
    }

    /// A token that permits one registration, as its operator makes it.
    pub(crate) fn invite(&self, server: &Server) -> String {
        let token = registration_token().unwrap();
        let hash = TokenHash::of(Purpose::Registration, token.as_bytes());
        let now = UnixTime::now();
        let added = server.store().add_registration_token(hash, String::new(), now.plus(3600), operator(), now);
        self.runtime.block_on(added).unwrap();
        token.to_string()
    }

    /// Ends all sessions of an account, as its operator does.
    pub(crate) fn revoke(&self, server: &Server, name: &str) {
        self.runtime.block_on(async {
            let account = server.store().account(&UserName::parse(name).unwrap()).await.unwrap().expect("an account");
            server.store().revoke_sessions(account.id, None, operator(), UnixTime::now()).await.unwrap();
        });
    }
}

fn operator() -> Actor {
    Actor::Operator("test".to_owned())
}

/// The folder of what was built.
pub(crate) fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(3).expect("a target folder").to_owned()
}

pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/pages")
}

/// The pages that `cargo xtask wasm` has made from those in the repository. `Err` says what is missing.
fn pages() -> Result<PathBuf, String> {
    let pages = target().join("web/login");
    if !pages.join("index.html").exists() {
        return Err("no pages in target/web/login; `cargo xtask wasm` makes them".to_owned());
    }
    for file in ["index.html", "register.html", "account.html", "change-password.html", "recover.html", "style.css"] {
        let [made, source] = [&pages, &sources()].map(|folder| std::fs::read(folder.join(file)).ok());
        assert!(made == source, "target/web/login/{file} is not that of web/pages; run `cargo xtask wasm`");
    }
    let made = std::fs::read_to_string(target().join("web/login.sources")).unwrap_or_default();
    assert_eq!(
        made,
        digests(),
        "target/web/login was made from other scripts than those of web/pages; run `cargo xtask wasm`"
    );
    Ok(pages)
}

/// The SHA-256 of each script in `web/pages`, as `sha256sum` and `build.mjs` write it.
fn digests() -> String {
    let entries = std::fs::read_dir(sources()).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "ts")).collect();
    scripts.sort();
    let line = |script: &PathBuf| {
        let digest = Sha256::new().chain_update(std::fs::read(script).unwrap()).finalize();
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digest}  {}\n", script.file_name().unwrap().to_str().unwrap())
    };
    scripts.iter().map(line).collect()
}

/// Says past the test harness, which swallows what a passing test prints, what was not looked at.
pub(crate) fn skipped(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {why}");
}

#[test]
fn people_use_the_pages_on_sqlite_and_every_page_is_accessible() {
    match pages().and_then(|pages| Ok((pages, Browser::start()?))) {
        Ok((pages, browser)) => {
            flow::all(browser, &Deployment::new(None, pages), looks::Looks::at_everything());
        }
        Err(why) => skipped("people_use_the_pages_on_sqlite_and_every_page_is_accessible", &why),
    }
}

#[test]
fn people_use_the_pages_on_postgres() {
    let test = "people_use_the_pages_on_postgres";
    let server = match postgres::shared() {
        Ok(server) => server,
        Err(why) => return skipped(test, why),
    };
    match pages().and_then(|pages| Ok((pages, Browser::start()?))) {
        Ok((pages, browser)) => {
            flow::all(browser, &Deployment::new(Some(server.database()), pages), looks::Looks::away());
        }
        Err(why) => skipped(test, &why),
    }
}
