//! How a page looks: to axe, in both schemes of colours, on a phone and on a desk.

use super::{skipped, sources, target};
use candor_test_support::browser::Browser;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A phone's window, and a desk's.
const SIZES: [(u32, u32); 2] = [(360, 740), (1280, 800)];
const SCHEMES: [&str; 2] = ["light", "dark"];

/// What is looked at.
pub(crate) struct Looks {
    /// The script that finds what keeps people from using a page.
    axe: Option<String>,
    /// Where pictures go.
    pictures: Option<PathBuf>,
}

impl Looks {
    /// Everything.
    pub(crate) fn at_everything() -> Self {
        let axe = std::fs::read_to_string(sources().join("node_modules/axe-core/axe.min.js"));
        if let Err(error) = &axe {
            skipped(
                "axe",
                &format!("axe-core is not in web/pages/node_modules ({error}); `cargo xtask wasm` installs it"),
            );
        }
        Self { axe: axe.ok(), pictures: Some(target().join("pages-pictures")) }
    }

    /// Nothing but the width.
    pub(crate) fn away() -> Self {
        Self { axe: None, pictures: None }
    }

    /// Looks at the page as it stands, and puts it back into a phone's window in light colours.
    pub(crate) fn at(&self, browser: &mut Browser, name: &str) {
        for (width, height) in SIZES {
            for scheme in SCHEMES {
                browser.show_as(width, height, scheme);
                let wide = browser.value("document.documentElement.scrollWidth");
                assert!(wide.as_u64() <= Some(width.into()), "{name} is {wide} wide in a window of {width}");
                if let Some(folder) = &self.pictures {
                    browser.picture(&folder.join(format!("{name}-{width}-{scheme}.png")));
                }
                // In the narrower window; other colours change nothing but the contrast.
                if width == SIZES[0].0 {
                    let rules = if scheme == "light" { json!({}) } else { json!({ "runOnly": ["color-contrast"] }) };
                    self.accessible(browser, &format!("{name}, {scheme}"), &rules);
                }
            }
        }
        browser.show_as(SIZES[0].0, SIZES[0].1, SCHEMES[0]);
    }

    fn accessible(&self, browser: &mut Browser, name: &str, rules: &Value) {
        let Some(axe) = &self.axe else { return };
        // What the page itself has complained of was looked at before; axe tries things that the policy forbids.
        let before = browser.complaints.len();
        if browser.value("typeof axe") != json!("object") {
            browser.call("Runtime.evaluate", json!({ "expression": axe }));
        }
        let found = browser.value(&format!(
            "axe.run(document, {{ resultTypes: ['violations'], ...{rules} }}).then(({{ violations, passes }}) => ({{
                passed: passes.map(({{ id }}) => id),
                wrong: violations.map(({{ id, impact, nodes }}) => ({{ id, impact, where: nodes.map((node) => node.html) }})),
            }}))",
        ));
        browser.complaints.truncate(before);
        assert!(found["passed"].as_array().unwrap().contains(&json!("color-contrast")), "{name}: {found}");
        assert_eq!(found["wrong"], json!([]), "{name}");
    }

    /// Shows that what finds nothing wrong would find something.
    pub(crate) fn notices_what_is_wrong(&self, browser: &mut Browser) {
        if self.axe.is_none() {
            return;
        }
        let spoil =
            "document.querySelector('label[for=name]').remove(); document.querySelector('h1').style.color = '#eee';";
        browser.value(spoil);
        let found = browser.value(
            "axe.run(document, { resultTypes: ['violations'] })
                 .then(({ violations }) => violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id }) => id).sort())",
        );
        assert_eq!(found, json!(["color-contrast", "label", "label-title-only"]));
    }
}

/// Where the elements below a form are, so that a later look shows whether they have moved.
pub(crate) fn places(browser: &mut Browser) -> Value {
    browser.value(
        "[...document.querySelectorAll('label, input, button[type=submit], nav')].filter((node) => node.checkVisibility())
            .map((node) => Math.round(node.getBoundingClientRect().top + scrollY))",
    )
}
