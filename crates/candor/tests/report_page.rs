//! A report's web page in a browser: it finds, sorts and has all epochs, it asks nobody for anything, and it is whole without its script.

use base64ct::{Base64, Encoding};
use candor_test_support::browser::Browser;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().unwrap()
}

/// X25519 and ML-KEM on one machine: four tasks, of which three families.
const RUNS: [&str; 2] = ["runs/2026-11-24-zen4-f107e2.jsonl", "crates/candor/tests/runs/sample.jsonl"];

/// What candor prints, as a file.
fn page(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_candor")).args(arguments).env_remove("CANDOR_RUNS").output().unwrap();
    assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = folder.join(name);
    std::fs::write(&file, output.stdout).unwrap();
    format!("file://{}", file.display())
}

fn names(browser: &mut Browser) -> Vec<String> {
    let shown = browser
        .value("[...document.querySelectorAll('section.task:not([hidden]) h2')].map((heading) => heading.textContent)");
    serde_json::from_value(shown).unwrap()
}

/// Subjects of the rows that are shown, and what is said of the baseline.
fn rows(browser: &mut Browser) -> Vec<(String, String)> {
    let shown = browser.value(
        "[...document.querySelectorAll('section.task:not([hidden]) table.rows > tbody > tr:not([hidden])')]
            .map((row) => [row.cells[0].textContent, row.lastElementChild.textContent])",
    );
    serde_json::from_value(shown).unwrap()
}

/// Past the test harness, which swallows what a passing test prints.
fn skipped(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {why}");
}

fn choose(browser: &mut Browser, field: &str, value: &str) {
    browser.value(&format!(
        "(() => {{
            const field = document.forms.find.elements[{field}];
            field.value = {value};
            field.dispatchEvent(new Event('input', {{ bubbles: true }}));
        }})()",
        field = json!(field),
        value = json!(value)
    ));
}

#[test]
fn a_report_is_searched_filtered_and_sorted_and_its_epochs_are_inside() {
    let mut browser = match Browser::start() {
        Ok(browser) => browser,
        Err(why) => {
            let name = "a_report_is_searched_filtered_and_sorted_and_its_epochs_are_inside";
            return skipped(name, &why);
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let files = RUNS.map(|run| from_root(run).display().to_string());
    let report = page(folder.path(), "report.html", &["report", &files[0], &files[1], "--format", "html"]);
    browser.watch_requests();
    browser.open(&report);
    browser.until("!document.forms.find.hidden");
    let all = names(&mut browser);
    assert!(all.len() >= 3, "{all:?}");
    it_finds_words(&mut browser, &all);
    it_finds_verdicts(&mut browser);
    tasks_have_an_order(&mut browser, &all);
    columns_are_sorted(&mut browser);
    what_is_asked_stands_in_the_address(&mut browser, &report, &all);
    the_epochs_are_those_of_the_run(&mut browser, &files);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    assert!(
        browser.requests.iter().all(|url| url.starts_with("file:") || url.starts_with("data:,")),
        "{:?}",
        browser.requests
    );
    people_can_use_it(&mut browser);
    without_its_script_it_is_whole(&mut browser, &report, &all);

    let compared = ["flips-here", "flips-there"]
        .map(|run| from_root(&format!("crates/candor/tests/runs/{run}.jsonl")).display().to_string());
    let compared = page(folder.path(), "compared.html", &["compare", &compared[0], &compared[1], "--format", "html"]);
    browser.open(&compared);
    browser.until("!document.forms.find.hidden");
    let all = names(&mut browser);
    choose(&mut browser, "words", "no-such-task");
    assert!(!all.is_empty() && names(&mut browser).is_empty(), "{all:?}");
}

fn it_finds_words(browser: &mut Browser, all: &[String]) {
    let subject =
        rows(browser).into_iter().map(|(subject, _)| subject).find(|name| name.starts_with("aws-lc-rs")).unwrap();
    // Words of the task and of the subject, in any case and order.
    choose(browser, "words", &format!("{} {}", subject.to_uppercase(), all[0]));
    assert_eq!(names(browser), [all[0].clone()]);
    let found = rows(browser);
    assert!(found.iter().any(|(name, _)| *name == subject), "{found:?}");
    assert!(found.iter().any(|(_, verdict)| verdict == "(the baseline)"), "what it is compared with stays: {found:?}");
    assert!(found.len() <= 3, "{found:?}");
    let figures = "[...document.querySelectorAll('details.figure')].filter((figure) => !figure.hidden).length";
    assert_eq!(browser.value(figures), 0, "what was found stands right below");
    choose(browser, "words", "no-such-subject");
    assert!(names(browser).is_empty());
    let said = browser.value("document.querySelector('#find output').textContent");
    assert_eq!(said, format!("0 of {} tasks, 0 rows beside the baselines", all.len()));
    choose(browser, "words", "");
    assert_eq!(names(browser), all);
    assert!(browser.value(figures).as_u64() > Some(2), "figures are there again");
}

fn it_finds_verdicts(browser: &mut Browser) {
    let every = rows(browser);
    let verdicts = [("faster", "faster"), ("slower", "slower"), ("same", "same"), ("open", "can't tell")];
    let mut found = 0;
    for (value, begins) in verdicts {
        choose(browser, "verdict", value);
        let wanted = every.iter().filter(|(_, verdict)| verdict.starts_with(begins)).count();
        let others = ["(the baseline)", "(control"];
        let shown = rows(browser);
        let shown: Vec<_> =
            shown.iter().filter(|(_, verdict)| !others.iter().any(|other| verdict.starts_with(other))).collect();
        assert!(
            shown.iter().all(|(_, verdict)| verdict.starts_with(begins) || verdict.is_empty()),
            "{value}: {shown:?}"
        );
        assert_eq!(shown.iter().filter(|(_, verdict)| verdict.starts_with(begins)).count(), wanted, "{value}");
        found += wanted;
    }
    assert!(found > 0);
    choose(browser, "verdict", "");
    let family = names(browser)[0].split('/').next().unwrap().to_owned();
    choose(browser, "family", &format!("{family}/"));
    assert!(names(browser).iter().all(|name| name.starts_with(&family)), "{family}");
    choose(browser, "family", "");
}

fn tasks_have_an_order(browser: &mut Browser, all: &[String]) {
    let least = "[...document.querySelectorAll('div:has(> section.task)')].map((run) => [...run.querySelectorAll(':scope > section.task')].map((task) =>
        Math.min(...[...task.querySelectorAll('tr[data-ratio]')].filter((row) => row.querySelector('.faster, .slower, .same, .open')).map((row) => Number(row.dataset.ratio)))))";
    choose(browser, "order", "least");
    let runs: Vec<Vec<Option<f64>>> = serde_json::from_value(browser.value(least)).unwrap();
    for run in runs {
        // JSON has no infinity, which is the key of a task without a ratio.
        let run: Vec<f64> = run.into_iter().map(|ratio| ratio.unwrap_or(f64::INFINITY)).collect();
        assert!(run.is_sorted(), "{run:?}");
    }
    choose(browser, "order", "");
    assert_eq!(names(browser), all, "as measured");
}

fn columns_are_sorted(browser: &mut Browser) {
    let medians = "[...document.querySelectorAll('section.task table.rows')][0]";
    let values = format!(
        "[...{medians}.querySelectorAll('tbody td:nth-child(2)[data-v]')].map((cell) => Number(cell.dataset.v))"
    );
    let click = format!("{medians}.querySelector('th:nth-child(2) button').click()");
    let sorted = |browser: &mut Browser| -> (Vec<f64>, Value) {
        browser.value(&click);
        let values = serde_json::from_value(browser.value(&values)).unwrap();
        (values, browser.value(&format!("{medians}.querySelector('th:nth-child(2)').ariaSort")))
    };
    let before: Vec<f64> = serde_json::from_value(browser.value(&values)).unwrap();
    let (up, how) = sorted(browser);
    assert!(up.is_sorted() && how == "ascending" && up.len() > 2, "{up:?}");
    let (down, how) = sorted(browser);
    assert!(down.iter().rev().is_sorted() && how == "descending", "{down:?}");
    let (again, how) = sorted(browser);
    assert!(again == before && how.is_null(), "{again:?}");
}

fn what_is_asked_stands_in_the_address(browser: &mut Browser, report: &str, all: &[String]) {
    choose(browser, "words", &all[1]);
    let address = browser.value("location.href").as_str().unwrap().to_owned();
    assert!(address.contains("#words="), "{address}");
    browser.open("about:blank");
    browser.open(&address);
    browser.until("!document.forms.find.hidden");
    assert!(names(browser).contains(&all[1]) && names(browser).len() < all.len());
    // Nonsense asks for nothing.
    browser.open("about:blank");
    browser.open(&format!("{report}#verdict=nonsense&order=%00&x=1"));
    browser.until("!document.forms.find.hidden");
    assert_eq!(names(browser), all);
}

fn the_epochs_are_those_of_the_run(browser: &mut Browser, files: &[String]) {
    for (at, file) in files.iter().enumerate() {
        let link = format!("document.querySelectorAll('a[download$=\".epochs.json.gz\"]')[{at}].href");
        let link = browser.value(&link).as_str().unwrap().to_owned();
        let packed = Base64::decode_vec(link.strip_prefix("data:application/gzip;base64,").unwrap()).unwrap();
        let mut text = String::new();
        GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        let found: Value = serde_json::from_str(&text).unwrap();
        let run = std::fs::read_to_string(file).unwrap();
        let lines: Vec<Value> = run.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(found["sha256"], lines.last().unwrap()["sha256"]);
        let mut epochs = 0;
        for task in found["tasks"].as_array().unwrap() {
            let blocks: Vec<&Value> =
                lines.iter().filter(|line| line["kind"] == "block" && line["task"] == task["task"]).collect();
            for (subject, ns) in task["ns"].as_object().unwrap() {
                let wanted: Vec<&Value> = blocks.iter().map(|block| &block["ns"][subject]).collect();
                assert_eq!(json!(wanted), *ns, "{subject} of {}", task["task"]);
                epochs += wanted.iter().map(|one| one.as_array().unwrap().len()).sum::<usize>();
            }
            assert!(blocks.iter().all(|block| block["iterations"] == task["iterations"]), "{}", task["task"]);
        }
        assert!(epochs > 50, "{epochs}");
    }
}

/// On a phone and on a desk, in dark colours and in light; and to axe, where it is installed.
fn people_can_use_it(browser: &mut Browser) {
    let axe = std::fs::read_to_string(from_root("web/pages").join("node_modules/axe-core/axe.min.js"));
    if let Err(error) = &axe {
        let why = format!("axe-core is not in web/pages/node_modules ({error}); `cargo xtask wasm` installs it");
        skipped("axe", &why);
    }
    for (width, scheme) in [(360, "dark"), (1280, "light")] {
        browser.show_as(width, 740, scheme);
        let wide = browser.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width.into()), "{wide} wide in a window of {width}");
        if let Ok(axe) = &axe {
            browser.value(axe);
            let found = browser.value(
                "axe.run().then(({ violations }) => violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
                    .map(({ id, nodes }) => [id, nodes[0].html]))",
            );
            assert_eq!(found, json!([]), "{scheme}");
        }
    }
}

fn without_its_script_it_is_whole(browser: &mut Browser, report: &str, all: &[String]) {
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.open("about:blank");
    browser.open(report);
    assert_eq!(names(browser), all);
    let form = browser.value("getComputedStyle(document.getElementById('find')).display");
    assert_eq!(form, "none", "what does nothing is not shown");
    assert_eq!(browser.value("document.querySelectorAll('th button').length"), 0);
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": false }));
}
