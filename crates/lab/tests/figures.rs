//! Figures as files: PNG that shows what was drawn, PDF whose text can be searched and copied.
#![cfg(feature = "figures")]

use candor_lab::analysis::Report;
use candor_lab::claims::Claims;
use candor_lab::figure::{Figure, figures, pdf, png, quoted};
use candor_lab::runfile::Run;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use tiny_skia::Pixmap;

/// The figures of a sealed run.
fn drawn() -> Vec<Figure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../candor/tests/runs/sample.jsonl");
    let figures = figures(&Report::of(&Run::open(&path).unwrap()));
    assert!(figures.len() >= 2, "ratios and distributions");
    figures
}

/// What stands in the `<text>` elements of the figure's SVG.
fn texts(figure: &Figure) -> Vec<String> {
    let svg = figure.svg();
    let inside = svg.split("<text ").skip(1).filter_map(|element| element.split(['>', '<']).nth(1));
    inside.map(|text| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).collect()
}

#[test]
fn a_png_has_twice_the_size_of_the_drawing_and_ink_on_white_paper() {
    for figure in drawn() {
        let pixels = Pixmap::decode_png(&png(&figure).unwrap()).unwrap();
        assert_eq!(pixels.width(), 1720);
        let colours = |rgb: [u8; 3]| {
            let alike = |p: &&tiny_skia::PremultipliedColorU8| [p.red(), p.green(), p.blue()] == rgb;
            pixels.pixels().iter().filter(alike).count()
        };
        let paper = colours([0xff; 3]);
        assert!(paper * 10 > pixels.pixels().len() * 7, "{}: mostly paper", figure.name);
        // The insides of stems of bold letters are solid.
        assert!(colours([0x1b; 3]) > 100, "{}: text in its colour", figure.name);
        assert!(pixels.pixels().iter().all(|pixel| pixel.alpha() == 255), "{}: nothing shines through", figure.name);
    }
}

/// The same on every machine and in every build. If a change means to draw something else, look at the pictures, then write
/// down the new digests.
#[test]
fn pixels_and_pdf_are_the_same_everywhere() {
    let digest = |bytes: &[u8]| base16ct::lower::encode_string(&Sha256::digest(bytes)[..8]);
    let drawn = drawn();
    let found: Vec<_> = drawn
        .iter()
        .map(|figure| {
            let pixels = Pixmap::decode_png(&png(figure).unwrap()).unwrap();
            (figure.name.as_str(), digest(pixels.data()), digest(&pdf(figure).unwrap()))
        })
        .collect();
    let expected =
        [("ratios", "09cc3ba74ac784b6", "add3e84c765cc5a0"), ("distributions", "d4ab3bb189aad242", "8d127974b1bfc24f")];
    assert_eq!(found, expected.map(|(name, pixels, pdf)| (name, pixels.to_owned(), pdf.to_owned())));
}

#[test]
fn the_text_of_a_pdf_can_be_read_by_another_program() {
    if Command::new("pdftotext").arg("-v").output().is_err() {
        // Past the test harness, which swallows what a passing test prints.
        let _ = writeln!(std::io::stderr(), "skipped: no pdftotext here (Debian package poppler-utils)");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for figure in drawn() {
        let path = dir.path().join("figure.pdf");
        std::fs::write(&path, pdf(&figure).unwrap()).unwrap();
        let output = Command::new("pdftotext").args(["-layout"]).arg(&path).arg("-").output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let read = words(&String::from_utf8_lossy(&output.stdout));
        for word in texts(&figure).iter().flat_map(|text| words(text)) {
            assert!(read.contains(&word), "{}: {word:?} is missing among {read:?}", figure.name);
        }
    }
}

#[test]
fn a_figure_too_large_for_png_is_refused_and_still_makes_a_pdf() {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../candor/tests/runs/sample.jsonl");
    let mut report = Report::of(&Run::open(&run).unwrap());
    let task = report.tasks[0].clone();
    report.tasks = vec![task; 1500];
    let large = figures(&report).into_iter().find(|figure| figure.name == "distributions").unwrap();
    let error = png(&large).unwrap_err().to_string();
    assert!(error.starts_with("can't draw figure distributions: ") && error.ends_with("write SVG or PDF"), "{error}");
    assert!(pdf(&large).unwrap().starts_with(b"%PDF-1.7"));
    assert!(png(&drawn()[0]).is_ok());
}

/// A claims file whose figure sets one quoted time beside a task of the sample run.
fn claims(task: &str, form: &str) -> Claims {
    let text = format!(
        r#"
        key = "somebody-2025"
        source = "Somebody, 2025"
        [[claim]]
        what = "a time"
        place = "Table 1"
        value = 12.5
        unit = "us"
        hardware = "a laptop"
        how = "whole"
        [[figure]]
        name = "beside"
        title = "One beside the other"
        form = "{form}"
        note = "They slept."
        [[figure.row]]
        label = "theirs"
        parts = [{{ name = "whole", claims = ["a time"] }}]
        [[figure.row]]
        label = "ours"
        task = "{task}"
        parts = [{{ name = "whole" }}]
        "#
    );
    Claims::parse(&text).unwrap()
}

#[test]
fn a_quoted_time_stands_beside_a_measured_one_in_every_form_with_the_note_below() {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../candor/tests/runs/sample.jsonl");
    let report = Report::of(&Run::open(&run).unwrap());
    let task = report.tasks[0].task.clone();
    for form in ["shares", "times", "spread", "table"] {
        let figures = quoted(&claims(&task, form), &report);
        let [figure] = &figures[..] else { panic!("{form}: one figure") };
        let texts = texts(figure);
        for expected in ["theirs", "ours", "12.5 µs"] {
            assert!(texts.iter().any(|text| text.contains(expected)), "{form}: {expected} in {texts:?}");
        }
        assert!(texts.iter().any(|text| text.starts_with("They slept.")), "{form}: {texts:?}");
        assert!(!figure.svg().contains("NaN") && png(figure).is_ok(), "{form}");
        assert!(figure.caption.contains("Quoted from Somebody, 2025"), "{form}");
    }
    assert!(quoted(&claims("no/such/task", "times"), &report).is_empty(), "nothing is drawn without our number");
}
