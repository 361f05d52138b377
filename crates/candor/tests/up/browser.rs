//! Headless Chromium, spoken to by its debugging protocol over a pair of named pipes.

use super::DEADLINE;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: Option<String>,
    number: u64,
    /// What the page complained of.
    pub(crate) complaints: Vec<String>,
    _folder: TempDir,
}

impl Browser {
    /// Starts it. `Err` says why there is none on this machine.
    pub(crate) fn start() -> Result<Self, String> {
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
        let mut browser = Self { child, to, from, session: None, number: 0, complaints: Vec::new(), _folder: folder };
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
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(message.to_string().as_bytes()).and_then(|()| self.to.write_all(&[0])).unwrap();
        loop {
            let message = self.from.recv_timeout(DEADLINE).unwrap_or_else(|error| panic!("{method}: {error}"));
            match message["method"].as_str() {
                Some("Runtime.exceptionThrown") => self.complaints.push(message["params"].to_string()),
                Some("Log.entryAdded") if message["params"]["entry"]["level"] == "error" => {
                    self.complaints.push(message["params"].to_string());
                }
                _ => {}
            }
            if message["id"] == self.number {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", asked);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let until = Instant::now() + DEADLINE;
        while self.value(expression) != json!(true) {
            assert!(Instant::now() < until, "{expression}\n{}", self.value("document.body.innerText"));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.body?.dataset.state === 'shown'");
    }

    /// Presses a key and lets it go.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { json!("\r") } else { Value::Null };
        let mut down = json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if !text.is_null() {
            down["text"] = text;
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up);
    }

    /// The window's width, and the scheme of colours that the user likes.
    pub(crate) fn show_as(&mut self, width: u32, scheme: &str) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", media);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
