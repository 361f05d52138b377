//! The monitor's page in a browser.

use super::{CANDOR, DEADLINE, Up};
use candor_test_support::browser::Browser;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A monitor of the network and of two roles that don't exist, killed at the end.
struct Monitor(Child, String);

/// A name that would be markup if the page took it for that.
const MARKUP: &str = "<b>bold</b>";

impl Monitor {
    fn start(up: &Up) -> Self {
        let mut command = Command::new(CANDOR);
        command.args(["onion", "monitor", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in ["proxy", "directory", "guard", "middle", "exit", "target"] {
            command.args(["--watch", &format!("{name}={}", up.metrics(name))]);
        }
        command.args(["--watch", "ghost=http://127.0.0.1:1/metrics"]);
        command.args(["--watch", &format!("{MARKUP}=http://127.0.0.1:1/metrics")]);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Self(child, said["monitor"].as_str().unwrap().to_owned())
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_page_shows_the_network_live_and_needs_no_mouse() {
    let mut browser = match Browser::start() {
        Ok(browser) => browser,
        // Past the test harness, which swallows what a passing test prints.
        Err(why) => {
            return writeln!(std::io::stderr(), "skipped: the_page_shows_the_network_live_and_needs_no_mouse: {why}")
                .unwrap();
        }
    };
    let up = Up::start();
    let monitor = Monitor::start(&up);
    browser.show_as(1280, 900, "light");
    browser.open(&monitor.1);
    browser.until("document.body.dataset.state === 'shown'");
    it_shows_roles_circuits_cells_and_errors(&mut browser, &up);
    it_is_used_by_keys(&mut browser);
    every_text_can_be_read(&mut browser);
    a_monitor_that_is_gone_is_said(&mut browser, monitor);
}

fn it_shows_roles_circuits_cells_and_errors(browser: &mut Browser, up: &Up) {
    let rows = |what: &str| format!("[...document.querySelectorAll('#role-rows .{what}')].length");
    browser.until(&format!("{} === 6 && {} === 2", rows("good"), rows("bad")));
    browser.until("document.querySelectorAll('#circuit-rows tr').length >= 2");
    let paths = browser
        .value("[...document.querySelectorAll('#circuit-rows td:nth-child(2)')].map((cell) => cell.textContent)");
    assert!(paths.as_array().unwrap().iter().all(|path| path == "guard → middle → exit"), "{paths}");
    let stages =
        browser.value("[...document.querySelectorAll('#circuit-rows .bar')].map((bar) => bar.children.length)");
    assert!(stages.as_array().unwrap().iter().all(|stages| *stages == json!(4)), "{stages}");
    // The newest comes first, and however many there are, roles and errors stay near.
    let numbers = "[...document.querySelectorAll('#circuit-rows th')].map((cell) => Number(cell.textContent))";
    browser.until(&format!("{numbers}.every((number, index, all) => index === 0 || number < all[index - 1])"));
    let below = "(() => {
        const rows = document.getElementById('circuit-rows');
        const more = Array.from({ length: 200 }, () => rows.firstChild.cloneNode(true));
        const top = () => document.getElementById('roles').getBoundingClientRect().top;
        const before = top();
        rows.append(...more);
        const moved = top() - before;
        more.forEach((row) => row.remove());
        return moved;
    })()";
    let moved = browser.value(below).as_f64().unwrap();
    assert!((1.0..420.0).contains(&moved), "roles move down by {moved} pixels for 200 circuits more");
    // Cells are counted while they pass.
    let until = Instant::now() + DEADLINE;
    while browser.value("Number(document.getElementById('rate').textContent.replace(/\\D/g, '')) > 100") != json!(true)
    {
        assert!(Instant::now() < until, "cells pass");
        assert_eq!(up.fetch(500_000).len(), 500_000);
    }
    browser.until("document.querySelector('#stage-rows').textContent.includes('opening a stream')");
    // Markup in a name is text.
    let named = browser.value("[...document.querySelectorAll('#role-rows th')].map((cell) => cell.textContent)");
    assert!(named.as_array().unwrap().contains(&json!(MARKUP)), "{named}");
    assert_eq!(browser.value("document.querySelectorAll('b').length"), json!(0));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

fn it_is_used_by_keys(browser: &mut Browser) {
    let focus = "(() => { const at = document.activeElement; return at.id || at.getAttribute('href') || at.getAttribute('aria-label') || \
                 at.getAttribute('aria-labelledby') || at.tagName; })()";
    let mut visited = Vec::new();
    for _ in 0..40 {
        browser.press("Tab", 9);
        let at = browser.value(focus).as_str().unwrap_or_default().to_owned();
        if visited.contains(&at) || at == "BODY" {
            break;
        }
        visited.push(at);
    }
    assert_eq!(visited[..2], ["#roles", "pause"], "{visited:?}");
    for wanted in [
        "#role-guard",
        "#role-middle",
        "#role-exit",
        "#role-proxy",
        "#role-target",
        "#role-directory",
        "#role-ghost",
        "circuits-title",
        "roles-title",
    ] {
        assert!(visited.iter().any(|at| at == wanted), "{wanted} is reached: {visited:?}");
    }
    // A role's link leads to its row, and the focus is not lost when the page changes.
    browser.value("document.querySelector('#map a[href=\"#role-guard\"]').focus()");
    browser.value("new Promise((done) => setTimeout(done, 2500))");
    assert_eq!(browser.value(focus), json!("#role-guard"));
    browser.press("Enter", 13);
    browser.until("location.hash === '#role-guard' && document.activeElement.id === 'role-guard'");
    // Pause keeps the page as it is; once more goes on.
    browser.value("document.getElementById('pause').focus()");
    browser.press("Enter", 13);
    browser.until("document.getElementById('pause').getAttribute('aria-pressed') === 'true'");
    // An answer that was on its way when the key was pressed is not shown.
    let points = "document.querySelector('#chart polyline').getAttribute('points')";
    let before = browser.value(points);
    browser.value("new Promise((done) => setTimeout(done, 2500))");
    assert_eq!(browser.value(points), before);
    browser.press("Enter", 13);
    browser.until(&format!("{points} !== {before}"));
}

/// In both schemes, and on a narrow screen: contrast of 4.5 at least, and nothing that is wider than the screen.
fn every_text_can_be_read(browser: &mut Browser) {
    let poor = "(() => {
        const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = (colour) => {
            const [r, g, b] = parts(colour).slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = (node) => {
            for (let at = node; at; at = at.parentElement) {
                const colour = getComputedStyle(at).backgroundColor;
                if ((parts(colour)[3] ?? 1) === 1) return colour;
            }
            return 'rgb(255, 255, 255)';
        };
        const texts = [...document.querySelectorAll('h1, h2, h3, p, th, td, button, output, li, time, strong')].filter((node) => node.offsetParent);
        const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const contrast = (node) => ratio(light(getComputedStyle(node).color), light(ground(node)));
        return { all: texts.length, poor: texts.filter((node) => contrast(node) < 4.5).map((node) => node.outerHTML) };
    })()";
    let mut grounds = Vec::new();
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (360, "dark"), (360, "light")] {
        browser.show_as(width, 900, scheme);
        let found = browser.value(poor);
        assert!(found["all"].as_u64() > Some(30) && found["poor"] == json!([]), "{width} {scheme}: {found}");
        grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
        browser.until(&format!("document.documentElement.scrollWidth <= {width}"));
        // Names on the map keep a size that can be read.
        browser.until("document.querySelector('#map .name').getBoundingClientRect().height >= 9");
    }
    assert_ne!(grounds[0], grounds[1], "light and dark differ");
}

fn a_monitor_that_is_gone_is_said(browser: &mut Browser, monitor: Monitor) {
    assert_eq!(browser.value("document.getElementById('lost').hidden"), json!(true));
    drop(monitor);
    browser.until("!document.getElementById('lost').hidden");
    assert_eq!(browser.value("document.querySelectorAll('#role-rows tr').length"), json!(8), "what it said last stays");
}
