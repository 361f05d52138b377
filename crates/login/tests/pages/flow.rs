//! What people do with the pages, from a registration to a recovery.

use super::Deployment;
use super::looks::{Looks, places};
use candor_login::Server;
use candor_test_support::browser::Browser;
use serde_json::{Value, json};

const NAME: &str = "Alice";
const FIRST: &str = "correct horse battery staple";
const SECOND: &str = "incorrect donkey charger nail";
const THIRD: &str = "ünïcode pässwörds wörk tòo";

/// A person in front of a browser.
struct Person<'a> {
    browser: Browser,
    deployment: &'a Deployment,
    looks: Looks,
    url: String,
}

/// Everything that the pages are for.
pub(crate) fn all(browser: Browser, deployment: &Deployment, looks: Looks) {
    // Whoever runs these tests comes from one address, again and again.
    let server = deployment.serve(&[("exempt", "127.0.0.0/8"), ("account-burst", "1000")]);
    let mut person = Person { browser, deployment, looks, url: server.url() };
    person.browser.show_as(360, 740, "light");
    person.browser.watch_requests();
    // As if the window were in front: pages in the background have no clipboard.
    person.browser.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));

    person.looks_at_the_first_page();
    let codes = person.registers(&server);
    person.brings_nothing_back(&codes);
    person.signs_out_and_in();
    person.gives_up_and_has_no_network(&server);
    person.ends_sessions();
    person.changes_the_password();
    person.recovers(&codes);
    person.is_signed_out_by_the_operator(&server);
    person.is_throttled();
}

impl Person<'_> {
    fn open(&mut self, path: &str) {
        self.browser.open(&format!("{}{path}", self.url));
    }

    /// Waits for the page at that path, whose script has run.
    fn is_at(&mut self, path: &str) {
        self.browser.until(&format!("location.pathname === '{path}' && document.readyState === 'complete'"));
    }

    /// Puts a text in the place of what is in a field, by the keyboard.
    fn types(&mut self, field: &str, text: &str) {
        self.browser.click(&format!("#{field}"));
        self.browser.edit("selectAll");
        self.browser.enter(text);
        assert_eq!(self.value(field), text);
    }

    /// The same from the clipboard, as password managers without an extension do it.
    fn pastes(&mut self, field: &str, text: &str) {
        let grant = json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": self.url });
        self.browser.call("Browser.grantPermissions", grant);
        self.browser.value(&format!("navigator.clipboard.writeText({})", json!(text)));
        self.browser.click(&format!("#{field}"));
        self.browser.edit("selectAll");
        self.browser.edit("paste");
        assert_eq!(self.value(field), text, "a paste is a paste");
    }

    fn value(&mut self, field: &str) -> String {
        self.browser.value(&format!("document.getElementById('{field}').value")).as_str().unwrap().to_owned()
    }

    fn text(&mut self, id: &str) -> String {
        self.browser.value(&format!("document.getElementById('{id}').textContent")).as_str().unwrap().to_owned()
    }

    fn submits(&mut self) {
        self.browser.click("#submit");
    }

    /// Waits for a message in a field or below the form, and reads it.
    fn is_told(&mut self, id: &str) -> String {
        self.browser.until(&format!(
            "document.getElementById('{id}').textContent !== '' && document.getElementById('work').hidden"
        ));
        self.text(id)
    }

    /// An error of a field: it is tied to the field, which has the focus.
    fn is_told_in(&mut self, field: &str) -> String {
        let said = self.is_told(&format!("{field}-error"));
        let tied = format!(
            "(() => {{
                const field = document.getElementById('{field}');
                return field === document.activeElement && field.getAttribute('aria-invalid') === 'true'
                    && field.getAttribute('aria-describedby').split(' ').includes('{field}-error');
            }})()"
        );
        assert_eq!(self.browser.value(&tied), json!(true), "{field}: {said}");
        said
    }

    fn shown_codes(&mut self) -> Vec<String> {
        self.browser.until("!document.getElementById('codes').hidden && document.activeElement.id === 'codes-title'");
        let codes =
            self.browser.value("[...document.querySelectorAll('#code-list code')].map((code) => code.textContent)");
        let codes: Vec<String> =
            codes.as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect();
        assert_eq!(codes.len(), 8);
        assert!(codes.iter().all(|code| code.replace('-', "").len() == 26), "{codes:?}");
        codes
    }

    fn account_is_shown(&mut self) {
        self.is_at("/account");
        self.browser.until("document.querySelectorAll('#sessions li').length > 0");
        assert_eq!(self.text("who"), NAME);
    }

    fn sessions(&mut self) -> u64 {
        self.browser.value("document.querySelectorAll('#sessions li').length").as_u64().unwrap()
    }

    fn signs_in(&mut self, password: &str) {
        self.open("/");
        self.types("name", NAME);
        self.types("password", password);
        self.submits();
        self.account_is_shown();
    }

    fn signs_out(&mut self) {
        self.browser.click("#sign-out");
        self.is_at("/");
        assert_eq!(self.browser.value("sessionStorage.length"), json!(0));
    }

    /// The console has nothing but the answers with these statuses, and all requests went to this server.
    fn has_seen(&mut self, statuses: &[u16]) {
        let mut seen = Vec::new();
        for complaint in std::mem::take(&mut self.browser.complaints) {
            let text = complaint["text"].as_str().unwrap_or_default();
            let url = complaint["url"].as_str().unwrap_or_default();
            // Chromium logs every answer that is an error, whether a script expects it or not.
            let status = text.strip_prefix("Failed to load resource: the server responded with a status of ");
            let status = status.and_then(|rest| rest.split(' ').next()?.parse::<u16>().ok());
            match status {
                Some(status) if complaint["source"] == "network" && url.starts_with(&format!("{}/v1/", self.url)) => {
                    seen.push(status);
                }
                _ => panic!("{complaint}"),
            }
        }
        assert_eq!(seen, statuses);
        let (url, requests) = (self.url.clone(), std::mem::take(&mut self.browser.requests));
        assert!(!requests.is_empty());
        for request in requests {
            assert!(request.starts_with(&format!("{url}/")), "{request}");
        }
    }

    fn looks_at_the_first_page(&mut self) {
        self.open("/");
        assert_eq!(self.browser.value("document.title"), json!("Sign in"));
        self.password_managers_find_their_way();
        self.looks.at(&mut self.browser, "sign-in");
        self.looks.notices_what_is_wrong(&mut self.browser);
        // A form that is not filled in.
        self.open("/");
        let before = places(&mut self.browser);
        self.submits();
        assert_eq!(self.is_told_in("name"), "Name is missing.");
        self.types("name", NAME);
        self.submits();
        assert_eq!(self.is_told_in("password"), "Password is missing.");
        assert_eq!(self.text("name-error"), "");
        assert_eq!(places(&mut self.browser), before, "nothing moves when something is said");
        self.looks.at(&mut self.browser, "sign-in-incomplete");
        // A password can be looked at, and is not shown otherwise.
        let kind = "document.getElementById('password').type";
        assert_eq!(self.browser.value(kind), json!("password"));
        self.browser.click(".show");
        assert_eq!(self.browser.value(kind), json!("text"));
        assert_eq!(self.browser.value("document.querySelector('.show').ariaPressed"), json!("true"));
        self.has_seen(&[]);
    }

    /// Each password has its kind, in a form with the name that it belongs to.
    fn password_managers_find_their_way(&mut self) {
        for (path, fields) in [
            ("/", json!([["username", "text"], ["current-password", "password"]])),
            ("/register", json!([["username", "text"], ["new-password", "password"], ["off", "text"]])),
            (
                "/change-password",
                json!([["username", "text"], ["current-password", "password"], ["new-password", "password"]]),
            ),
            ("/recover", json!([["username", "text"], ["off", "text"], ["new-password", "password"]])),
            ("/", json!([["username", "text"], ["current-password", "password"]])),
        ] {
            self.open(path);
            let found = self.browser.value(
                "[...document.querySelector('form[method=post]').querySelectorAll('input:not([type=checkbox])')]
                    .map((field) => [field.autocomplete, field.type])",
            );
            assert_eq!(found, fields, "{path}");
        }
    }

    fn registers(&mut self, server: &Server) -> Vec<String> {
        let token = self.deployment.invite(server);
        // By an invitation first.
        self.open("/register#an-invitation");
        self.browser.until("location.hash === '' && document.getElementById('token').required");
        assert_eq!(self.value("token"), "an-invitation");
        self.open("/");
        self.browser.click("nav a[href=register]");
        self.is_at("/register");
        self.browser.until("document.getElementById('token').required");
        assert_eq!(self.value("token"), "");
        self.looks.at(&mut self.browser, "register");
        self.types("name", NAME);
        self.types("new-password", "short");
        self.types("token", "a token that nobody has");
        let before = places(&mut self.browser);
        self.submits();
        assert_eq!(self.is_told_in("new-password"), "5 of at least 15 characters.");
        self.pastes("new-password", FIRST);
        self.submits();
        assert_eq!(self.is_told_in("token"), "Unknown, used or expired.");
        assert_eq!(places(&mut self.browser), before);
        self.looks.at(&mut self.browser, "register-refused");
        self.pastes("token", &format!(" {token} "));
        self.submits();
        let codes = self.shown_codes();
        self.looks.at(&mut self.browser, "register-codes");
        self.browser.click("#copy");
        self.browser.until("document.getElementById('copied').textContent.startsWith('Copied')");
        assert_eq!(self.browser.value("navigator.clipboard.readText()"), json!(codes.join("\n")));
        self.browser.click("a[href=account].button");
        self.account_is_shown();
        self.browser.until("document.getElementById('left').textContent === 'You have 8 left.'");
        assert_eq!(self.sessions(), 1);
        self.has_seen(&[403]);
        codes
    }

    /// Whoever comes next to this screen goes back, past the page with the codes.
    fn brings_nothing_back(&mut self, codes: &[String]) {
        self.signs_out();
        self.browser.value("history.back()");
        self.is_at("/register");
        self.browser.until("document.getElementById('token').required && !document.getElementById('form').hidden");
        let seen = self.browser.value("document.body.innerText + document.getElementById('new-password').value");
        let seen = seen.as_str().unwrap();
        assert!(!seen.is_empty() && !seen.contains(&codes[0]) && !seen.contains(FIRST), "{seen}");
        // A page that is brought back says once more what it has complained of.
        self.browser.complaints.clear();
        // Whether Chromium keeps a page is its own affair: so once more what happens to one that it keeps.
        self.types("new-password", FIRST);
        self.browser.value(
            "document.getElementById('code-list').append('a code');
            window.left = true;
            dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))",
        );
        assert_eq!(self.value("new-password"), "");
        assert_eq!(self.text("code-list"), "");
        self.browser.value("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: false }))");
        assert_eq!(self.browser.value("window.left"), json!(true), "a page that is loaded anew stays");
        self.browser.value("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })), null");
        self.browser.until("window.left === undefined && document.getElementById('token')?.required");
        self.signs_in(FIRST);
        self.has_seen(&[]);
    }

    fn signs_out_and_in(&mut self) {
        self.signs_out();
        // The account's page is for those who have signed in.
        self.open("/account");
        self.is_at("/");
        self.types("name", NAME);
        self.types("password", "a wrong password, and long");
        let before = places(&mut self.browser);
        self.submits();
        assert_eq!(self.is_told_in("password"), "Wrong name or password.");
        assert_eq!(places(&mut self.browser), before);
        // A name that nobody has is not told from a password that is wrong.
        self.types("name", "nobody");
        self.submits();
        assert_eq!(self.is_told_in("password"), "Wrong name or password.");
        // The server takes upper and lower case for one; Enter submits.
        self.types("name", "aLICE");
        self.pastes("password", FIRST);
        self.browser.press("Enter", 13);
        self.account_is_shown();
        // The page shows who it is, also when it is loaded again.
        self.open("/account");
        self.account_is_shown();
        self.looks.at(&mut self.browser, "account");
        // That the password is wrong the page finds by itself: the server's answer opens only with the right one.
        self.has_seen(&[]);
        self.signs_out();
    }

    fn gives_up_and_has_no_network(&mut self, server: &Server) {
        self.types("name", NAME);
        self.types("password", FIRST);
        let before = places(&mut self.browser);
        // The answer does not come.
        let pattern = json!({ "patterns": [{ "urlPattern": format!("{}/v1/login/*", server.url()) }] });
        self.browser.call("Fetch.enable", pattern);
        self.submits();
        self.browser.until("!document.getElementById('work').hidden");
        assert_eq!(self.text("status"), "Signing in …");
        assert_eq!(places(&mut self.browser), before);
        self.looks.at(&mut self.browser, "sign-in-at-work");
        self.browser.click("#cancel");
        assert_eq!(self.is_told("problem"), "Cancelled.");
        assert_eq!(self.browser.value("document.activeElement.id"), json!("submit"), "the focus is not lost");
        self.browser.call("Fetch.disable", json!({}));
        let network = |offline: bool| json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.browser.call("Network.emulateNetworkConditions", network(true));
        self.submits();
        assert_eq!(self.is_told("problem"), "No answer from the server. Check your connection and try again.");
        self.browser.call("Network.emulateNetworkConditions", network(false));
        // The worker that was cancelled is gone. Where Chromium does not keep the next one's script, it can't be loaded, and the package says so.
        let is_of_the_network = |complaint: &Value| {
            let words = complaint["args"][0]["value"].as_str().unwrap_or_default();
            complaint["text"] == "Failed to load resource: net::ERR_INTERNET_DISCONNECTED"
                || words.starts_with("@candor/opaque: no worker can be started")
                    && words.ends_with("its script can't be loaded")
        };
        self.browser.complaints.retain(|complaint| !is_of_the_network(complaint));
        self.has_seen(&[]);
    }

    fn ends_sessions(&mut self) {
        // A tab has one session: another login ends the one before.
        self.signs_in(FIRST);
        self.signs_in(FIRST);
        assert_eq!(self.sessions(), 1);
        // What other tabs and devices have is theirs.
        for _ in 0..2 {
            self.browser.value("sessionStorage.clear()");
            self.signs_in(FIRST);
        }
        assert_eq!(self.sessions(), 3);
        self.looks.at(&mut self.browser, "account-sessions");
        self.browser.click("#sessions button");
        self.browser.until("document.getElementById('said').textContent === 'The session has ended.'");
        assert_eq!(self.sessions(), 2);
        assert_eq!(self.browser.value("document.activeElement.id"), json!("sessions-title"));
        self.browser.click("#end-others");
        self.browser.until("document.getElementById('said').textContent === 'All other sessions have ended.'");
        assert_eq!(self.sessions(), 1);
        assert_eq!(self.browser.value("document.querySelectorAll('#sessions button').length"), json!(0));
        self.has_seen(&[]);
    }

    fn changes_the_password(&mut self) {
        self.open("/.well-known/change-password");
        self.is_at("/change-password");
        self.browser.until(&format!("document.getElementById('name').value === '{NAME}'"));
        self.looks.at(&mut self.browser, "change-password");
        self.pastes("password", "a wrong password, and long");
        self.pastes("new-password", SECOND);
        self.submits();
        assert_eq!(self.is_told_in("password"), "Wrong name or password.");
        self.pastes("password", FIRST);
        self.submits();
        let codes = self.shown_codes();
        self.looks.at(&mut self.browser, "change-password-codes");
        self.browser.click("a[href=account].button");
        self.account_is_shown();
        assert_eq!((self.sessions(), codes.len()), (1, 8));
        self.signs_out();
        self.types("name", NAME);
        self.types("password", FIRST);
        self.submits();
        assert_eq!(self.is_told_in("password"), "Wrong name or password.");
        self.types("password", SECOND);
        self.submits();
        self.account_is_shown();
        self.has_seen(&[]);
    }

    fn recovers(&mut self, old: &[String]) {
        // New codes, in place of those that came with the change.
        self.types("password", "a wrong password, and long");
        self.submits();
        assert_eq!(self.is_told_in("password"), "Wrong name or password.");
        self.types("password", SECOND);
        self.submits();
        let codes = self.shown_codes();
        self.looks.at(&mut self.browser, "account-codes");
        self.signs_out();

        self.browser.click("nav a[href=recover]");
        self.is_at("/recover");
        self.looks.at(&mut self.browser, "recover");
        self.types("name", NAME);
        self.types("code", "12345");
        self.pastes("new-password", THIRD);
        self.submits();
        assert_eq!(self.is_told_in("code"), "Check it for typing mistakes.");
        // One from before the change of the password.
        self.types("code", &old[0]);
        let before = places(&mut self.browser);
        self.submits();
        assert_eq!(self.is_told_in("code"), "Wrong name, or no unused code.");
        assert_eq!(places(&mut self.browser), before);
        // As somebody types it from paper.
        self.types("code", &codes[0].to_lowercase().replace('-', " "));
        self.submits();
        self.account_is_shown();
        self.browser.until("document.getElementById('left').textContent === 'You have 7 left.'");
        assert_eq!(self.sessions(), 1);
        self.signs_out();
        self.open("/recover");
        self.types("name", NAME);
        self.types("code", &codes[0]);
        self.types("new-password", FIRST);
        self.submits();
        assert_eq!(self.is_told_in("code"), "Wrong name, or no unused code.");
        self.signs_in(THIRD);
        self.has_seen(&[401, 401]);
    }

    fn is_signed_out_by_the_operator(&mut self, server: &Server) {
        self.deployment.revoke(server, NAME);
        self.open("/account");
        self.is_at("/");
        assert_eq!(self.browser.value("sessionStorage.length"), json!(0));
        let seen: Vec<Value> = std::mem::take(&mut self.browser.complaints);
        assert!(
            !seen.is_empty()
                && seen.iter().all(|seen| seen["text"].as_str().is_some_and(|text| text.contains(" 401 "))),
            "{seen:?}"
        );
        self.has_seen(&[]);
    }

    /// At a server that lets two guesses pass.
    fn is_throttled(&mut self) {
        let server =
            self.deployment.serve(&[("address-burst", "2"), ("address-every", "1h"), ("refusal-delay", "0ms")]);
        self.url.clone_from(&server.url());
        self.open("/");
        self.types("name", NAME);
        for guess in ["a first wrong password", "a second wrong password"] {
            self.types("password", guess);
            self.submits();
            assert_eq!(self.is_told_in("password"), "Wrong name or password.");
        }
        let before = places(&mut self.browser);
        // Even the right one has to wait, and the page says until when.
        self.types("password", THIRD);
        self.submits();
        let said = self.is_told("problem");
        let rest = said.strip_prefix("Too many attempts. Try again in ");
        let parts = rest.and_then(|rest| rest.split_once(" minutes, at "));
        let (minutes, time) = parts.unwrap_or_else(|| panic!("{said}"));
        assert!((2..=60).contains(&minutes.parse::<u32>().unwrap()) && time.contains(':'), "{said}");
        assert_eq!(places(&mut self.browser), before);
        self.looks.at(&mut self.browser, "sign-in-throttled");
        self.has_seen(&[429]);
    }
}
