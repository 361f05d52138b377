//! Headless Chromium, spoken to by its debugging protocol over a pair of named pipes.

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take, on a machine where many tests run at once.
const DEADLINE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: Option<String>,
    number: u64,
    /// What the page, its workers and the browser have complained of: exceptions, calls of `console`, and entries of the browser's log, such as violations of
    /// a content security policy.
    pub complaints: Vec<Value>,
    /// Where the page and its workers have sent requests, since [`Self::watch_requests`].
    pub requests: Vec<String>,
    _folder: TempDir,
}

impl Browser {
    /// Starts it. `Err` says why there is none on this machine.
    pub fn start() -> Result<Self, String> {
        let asked = Command::new("chromium").arg("--version").output();
        let asked = asked.map_err(|error| format!("chromium does not start: {error}"))?;
        if !asked.status.success() {
            return Err(format!("chromium does not start: {}", String::from_utf8_lossy(&asked.stderr).trim()));
        }
        let folder = tempfile::tempdir().unwrap();
        let [to, from, profile] = ["to", "from", "profile"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").args([&to, &from]).status().map_err(|error| format!("no mkfifo: {error}"))?;
        assert!(made.success());
        let flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-background-networking \
                     --disable-component-update --disable-sync --remote-debugging-pipe";
        // It reads commands from 3 and writes answers to 4.
        let script = format!("exec chromium {flags} \"--user-data-dir=$2\" about:blank 3<\"$0\" 4>\"$1\"");
        let child = Command::new("sh")
            .args(["-c", &script])
            .args([&to, &from, &profile])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("no sh: {error}"))?;
        // In the order in which the shell opens them.
        let to = OpenOptions::new().write(true).open(&to).unwrap();
        let answers = BufReader::new(File::open(&from).unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0) {
                let Ok(message) = message.map(|bytes| serde_json::from_slice(&bytes)) else { break };
                if sender.send(message.expect("the browser speaks JSON")).is_err() {
                    break;
                }
            }
        });
        let (complaints, requests) = (Vec::new(), Vec::new());
        let mut browser = Self { child, to, from, session: None, number: 0, complaints, requests, _folder: folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Ok(browser)
    }

    /// Gives a command and waits for its result.
    ///
    /// # Panics
    /// If the browser refuses it, or does not answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.ask(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The same; the browser may refuse it.
    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        let number = self.send(self.session.clone().as_deref(), method, parameters);
        loop {
            let message = self.from.recv_timeout(DEADLINE).unwrap_or_else(|error| panic!("{method}: {error}"));
            if message["id"] == number {
                return if message["error"].is_null() { Ok(message["result"].clone()) } else { Err(message) };
            }
            self.note(&message);
        }
    }

    fn send(&mut self, session: Option<&str>, method: &str, parameters: Value) -> u64 {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.to.write_all(message.to_string().as_bytes()).and_then(|()| self.to.write_all(&[0])).unwrap();
        self.number
    }

    /// Takes an event.
    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => self.complaints.push(parameters.clone()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"].clone()),
            Some("Network.requestWillBeSent") => {
                self.requests.extend(parameters["request"]["url"].as_str().map(str::to_owned));
            }
            // A worker. It waits until it is watched as well.
            Some("Target.attachedToTarget") if self.session.is_some() => {
                let session = parameters["sessionId"].as_str().map(str::to_owned);
                for method in ["Runtime.enable", "Log.enable", "Network.enable", "Runtime.runIfWaitingForDebugger"] {
                    self.send(session.as_deref(), method, json!({}));
                }
            }
            _ => {}
        }
    }

    /// Notes from now on where requests go.
    pub fn watch_requests(&mut self) {
        self.call("Network.enable", json!({}));
        let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        self.call("Target.setAutoAttach", attach);
    }

    /// The value of an expression in the page.
    ///
    /// # Panics
    /// If it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        self.evaluate(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn evaluate(&mut self, expression: &str) -> Result<Value, Value> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.ask("Runtime.evaluate", asked)?;
        if result["exceptionDetails"].is_null() { Ok(result["result"]["value"].clone()) } else { Err(result) }
    }

    /// Waits until an expression is true. Until then it may throw, and the page may give way to another.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn until(&mut self, expression: &str) {
        let until = Instant::now() + DEADLINE;
        loop {
            let found = self.evaluate(expression);
            if found == Ok(json!(true)) {
                return;
            }
            if Instant::now() >= until {
                let text = self.evaluate("document.body.innerText");
                panic!("{expression} is {found:?}\n{text:?}\n{:?}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Goes to a page, and waits until it has loaded.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.readyState === 'complete'");
    }

    /// Presses a key and lets it go.
    pub fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { json!("\r") } else { Value::Null };
        let mut down = json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if !text.is_null() {
            down["text"] = text;
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up);
    }

    /// Presses and lets go the left button of the mouse in the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{
                const element = document.querySelector({selector});
                element.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const {{ x, y, width, height }} = element.getBoundingClientRect();
                return {{ x: x + width / 2, y: y + height / 2 }};
            }})()",
            selector = json!(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Enters text where the focus is, as a keyboard with its own input method does.
    pub fn enter(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Runs a command of the editor where the focus is, such as `paste`.
    pub fn edit(&mut self, command: &str) {
        let event = json!({ "type": "rawKeyDown", "key": "Unidentified", "commands": [command] });
        self.call("Input.dispatchKeyEvent", event);
    }

    /// The window's size, and the scheme of colours that the user likes.
    pub fn show_as(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// Writes the whole page as a PNG file, in a folder that is made if it is missing.
    pub fn picture(&mut self, file: &Path) {
        let size =
            self.value("({ width: innerWidth, height: Math.max(innerHeight, document.documentElement.scrollHeight) })");
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let taken = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true, "clip": clip }));
        let bytes = Base64::decode_vec(taken["data"].as_str().expect("a picture")).expect("base64");
        fs::create_dir_all(file.parent().expect("a folder"))
            .and_then(|()| fs::write(file, bytes))
            .expect("room for it");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
