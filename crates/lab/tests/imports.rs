//! Output of other tools: read, sealed, reported and doubted. `imports/README.md` says where each file comes from.

mod quick;

use candor_lab::analysis::{Report, beside};
use candor_lab::import::{self, FORMATS, Folder, Format, Origin, STEP, Sheet};
use candor_lab::machine::Machine;
use candor_lab::report::{Form, render};
use candor_lab::runfile::{Run, Tool};
use candor_lab::{Entry, Evidence, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/imports")
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn read(bytes: &[u8]) -> Sheet {
    import::read(bytes, None).unwrap_or_else(|flaw| panic!("line {}: {}", flaw.line, flaw.why))
}

/// The line and the reason of a refusal.
fn refused(bytes: &[u8], format: Option<Format>) -> (usize, String) {
    let flaw = import::read(bytes, format).expect_err("it must be refused");
    (flaw.line, flaw.why)
}

/// The samples that can be imported: their format, how many figures they have, and one of them with its number.
const SAMPLES: [(&str, Format, usize, &str, f64); 14] = [
    ("openssl-mr.txt", Format::OpensslMr, 19, "sha256/1024", 1024e9 / 11_208_565.41),
    ("openssl-mr-1s.txt", Format::OpensslMr, 19, "ecdh/22/253/derive", 1e9 / 200.847458),
    ("openssl-mr-3s.txt", Format::OpensslMr, 1, "sha256/1024", 1024e9 / 24_653_905.65),
    ("openssl-table.txt", Format::Openssl, 17, "253-bits-EdDSA-(Ed25519)/sign", 1e9 / 189.1),
    ("bssl.txt", Format::Bssl, 15, "SHA-256/16", 1_117_162e3 / 15000.0),
    ("bssl.json", Format::Bssl, 5, "SHA-256/256", 1_597_694e3 / 70000.0),
    ("liboqs.txt", Format::Liboqs, 3, "ML-KEM-768/encaps", 712_253.0),
    ("cargo-criterion.jsonl", Format::Criterion, 1, "sum/bytes/1024", 61.3),
    ("hyperfine.json", Format::Hyperfine, 2, "sha256sum/bin/bash", 768_214_218.5),
    ("google.json", Format::Google, 4, "BM_sort/64", 11_892.643_090_000_092),
    ("google-repetitions.json", Format::Google, 4, "BM_sort/64", 17_700.064_140_001_36),
    ("tor.txt", Format::Tor, 12, "cell_ops_tor1/Outbound-cells-per-cell", 93.90),
    ("supercop.txt", Format::Supercop, 3, "crypto_kem/mlkem768/ref/keypair_cycles", 91234.0),
    ("figures.csv", Format::Csv, 4, "HMAC,-SHA-256", 612.5),
];

#[test]
fn every_sample_is_read_as_what_it_is() {
    for (name, format, figures, figure, value) in SAMPLES {
        let sheet = read(&sample(name));
        assert_eq!((sheet.format, sheet.figures.len()), (format, figures), "{name}");
        let found = sheet.figures.iter().find(|one| one.name == figure);
        let found = found.unwrap_or_else(|| panic!("{name} has {:?}", sheet.figures));
        let number = found.quantities[0].value;
        assert!((number / value - 1.0).abs() < 1e-9, "{name}, {figure}: {number}");
        // The same by name.
        assert_eq!(import::read(&sample(name), Some(format)).unwrap(), sheet, "{name}");
    }
}

#[test]
fn what_the_tools_say_of_themselves_is_kept() {
    let table = read(&sample("openssl-table.txt"));
    assert_eq!(table.subject(), "openssl-3.0.19+speed");
    assert!(table.build.unwrap().contains("CPUINFO: OPENSSL_ia32cap="));
    let hash = read(&sample("openssl-mr.txt")).figures[3].clone();
    assert_eq!((hash.line, hash.bytes), (2, Some(1024)));
    let tor = read(&sample("tor.txt")).figures.swap_remove(4);
    let with = "onion_ntor/Ed25519-based-basepoint-multiply-enabled/Server-side";
    assert_eq!((tor.name.as_str(), tor.quantities[0].value), (with, 121_625.849), "there are two servers");
    let repeated = read(&sample("google-repetitions.json"));
    let sort = &repeated.figures[0].quantities;
    let named = |name: &str| sort.iter().find(|quantity| quantity.name == name).map(|quantity| quantity.value);
    assert_eq!(named("repetitions"), Some(3.0));
    assert!(named("standard deviation").is_some_and(|deviation| deviation > 0.0));
    assert_eq!(repeated.figures[2].bytes, Some(1024), "from its bytes per second");
    let kem = read(&sample("supercop.txt")).figures[0].clone();
    assert_eq!((kem.quantities[0].unit.as_str(), kem.quantities[1].value), ("cycles", 3.0), "three loops");
}

/// OpenSSL 3.4 prints KEMs in a table of their own; these lines are those of a container's documentation.
#[test]
fn a_table_of_kems_has_three_operations() {
    let text = "version: 3.4.0\n                               keygen    encaps    decaps keygens/s  encaps/s  decaps/s\n                   \
                mlkem512 0.000052s 0.000066s 0.000075s   19331.2   15240.0   13341.0\n";
    let sheet = read(text.as_bytes());
    let names: Vec<&str> = sheet.figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["mlkem512/keygen", "mlkem512/encaps", "mlkem512/decaps"]);
    assert_eq!(sheet.figures[1].quantities[0].value, 1e9 / 15240.0);
}

/// A copy of a folder.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_folder_of_criterion_is_read_and_a_damaged_file_in_it_is_named() {
    let directory = tempfile::tempdir().unwrap();
    copied(&folder().join("criterion"), directory.path());
    let (sheet, bytes) = Folder::read(directory.path()).unwrap();
    let found: Vec<_> = sheet.figures.iter().map(|figure| (figure.name.as_str(), figure.bytes)).collect();
    assert_eq!(found, [("rotate", None), ("sum/bytes/1024", Some(1024))], "the run before is no second benchmark");
    assert_eq!(sheet.figures[1].quantities[0].value, 2280.5025153274596);

    // What was read is sealed by its digest, as a single file is.
    let sealed = |bytes: &[u8]| {
        let runs = tempfile::tempdir().unwrap();
        let origin = Origin { file: "criterion".into(), bytes: bytes.to_vec(), ..Origin::default() };
        saved(&sheet, &origin, runs.path()).manifest.settings.get("file_sha256").cloned()
    };
    assert!(sealed(&bytes).is_some_and(|digest| digest.len() == 64));
    let file = directory.path().join("sum/bytes/1024/new/estimates.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(bytes.ends_with(text.as_bytes()));
    fs::write(&file, text.clone() + " ").unwrap();
    assert_ne!(sealed(&Folder::read(directory.path()).unwrap().1), sealed(&bytes));
    fs::File::create(&file).unwrap().set_len(import::LARGEST as u64 + 1).unwrap();
    let error = Folder::read(directory.path()).unwrap_err().to_string();
    assert!(error.contains("estimates.json") && error.contains("no more than that are read"), "{error}");
    for (word, by, reason) in [
        ("2280.5025153274596", "-2280.5", "line 1: not as criterion writes it: -2280.5; expected a number above 0"),
        ("2280.5025153274596", "null", "line 1: not as criterion writes it: null; expected a number above 0"),
        ("2280.5025153274596", "2800.5", "outside of its own interval from 1520.9063854662008 to 2729.712140304983"),
        ("}}", "}", "the JSON is incomplete; the file was cut short"),
    ] {
        assert!(text.contains(word), "{word}");
        fs::write(&file, text.replace(word, by)).unwrap();
        let error = Folder::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains("estimates.json") && error.contains(reason), "{error}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(Folder::read(empty.path()).unwrap_err().to_string().contains("no figure of criterion"));
}

/// A word of a sample, what it is replaced by, and the line and the reason of the refusal.
const DAMAGE: [(&str, &str, &str, usize, &str); 37] = [
    ("tor.txt", "93.90", "-93.90", 12, "the time is -93.90; expected a number above 0"),
    ("openssl-mr.txt", "11208565.41", "-11208565.41", 2, "bytes per second is -11208565.41; expected a number above 0"),
    ("openssl-mr.txt", "11208565.41", "inf", 2, "bytes per second is inf; expected a number above 0"),
    ("openssl-mr.txt", ":15235588.79", "", 2, "5 rates of sha256, and +H has 6 sizes"),
    ("openssl-mr.txt", "+F4:3:256:512.837838:179.279279", "+F4:3", 5, "+F4 with 1 fields; the file was cut short"),
    ("openssl-mr.txt", "+H:", "Forked child 0\nForked child 1\n+H:", 1, "rates of 2 processes together (-multi)"),
    ("openssl-mr.txt", "+H:", "Got: +F:6:sha256:592449.32 from 1\n+H:", 1, "rates of several processes together"),
    ("openssl-table.txt", "version:", "Forked child 0\nversion:", 1, "rates of 1 processes together"),
    ("openssl-table.txt", "type ", "Got: +H:16:64:256:1024:8192:16384 from 0\ntype ", 7, "rates of several processes"),
    ("openssl-mr-1s.txt", "1.460000", "0.000000", 2, "the seconds of a loop is 0.000000; expected a number above 0"),
    ("openssl-table.txt", "320.93k", "0.00k", 8, "bytes per second is 0.00; expected a number above 0"),
    ("openssl-table.txt", "    189.1     92.8", "", 15, "operations per second is \"0.0053s\"; expected a number"),
    ("bssl.txt", "249000", "-249000", 1, "the number of operations is \"-249000\"; expected a whole number above 0"),
    ("bssl.txt", "in 1573616us", "in soon", 2, "expected `Did N NAME operations in MICROSECONDSus`"),
    ("bssl.json", "1597694", "0", 3, "0; expected a number above 0"),
    ("hyperfine.json", "0.7682142185", "null", 7, "null; expected a number above 0"),
    ("liboqs.txt", "712.253", "0.000", 21, "the mean is 0.000; expected a number above 0"),
    ("liboqs.txt", "712.253", "7.122", 21, "the mean is 7.122 µs, and the total of 1404 iterations gives 712.251 µs"),
    ("liboqs.txt", "13803.105", "-13803.105", 21, "the deviation is \"-13803.105\"; expected a number of 0 or more"),
    ("liboqs.txt", "13803.105", "-nan", 21, "the deviation is \"-nan\"; expected a number of 0 or more"),
    ("liboqs.txt", "Ended at 2026-11-26 17:03:26\n", "", 23, "no line `Ended at`; the file was cut short"),
    (
        "hyperfine.json",
        "0.7606208099166668",
        "7.6",
        1,
        "the mean is 7.6 s; expected one from 0.043270954 to 1.439987745",
    ),
    (
        "google.json",
        "1.1892643090000092e+04",
        "-1.1892643090000092e+04",
        1,
        "BM_sort/64: real_time is -11892.643090000092; expected a number above 0",
    ),
    (
        "google.json",
        "\"BM_sort/1024\",\n      \"run_type\"",
        "\"BM_sort/1024\",\n      \"time_unit\":\"days\",\n      \"run_type\"",
        0,
        "duplicate field `time_unit`",
    ),
    (
        "cargo-criterion.jsonl",
        "\"median\":{\"estimate\":61.3",
        "\"median\":{\"estimate\":0",
        1,
        "0; expected a number above 0",
    ),
    ("supercop.txt", "91234", "0", 5, "the median is \"0\"; expected a whole number above 0"),
    (
        "supercop.txt",
        "sample amd64 20261126 crypto_kem mlkem768/ref compiler",
        "other amd64 20261126 crypto_kem mlkem768/ref compiler",
        4,
        "machine other, and sample above; import the lines of each machine by themselves",
    ),
    (
        "supercop.txt",
        "amd64 20261126 crypto_kem mlkem768/ref compiler",
        "x86 20261126 crypto_kem mlkem768/ref compiler",
        4,
        "ABI x86, and amd64 above",
    ),
    (
        "supercop.txt",
        "20260831 sample amd64 20261126 crypto_hash",
        "20260901 sample amd64 20261126 crypto_hash",
        10,
        "version 20260901, and 20260831 above",
    ),
    (
        "supercop.txt",
        "+120-33+0+18-5",
        "+120+33+0+18+5",
        5,
        "keypair_cycles: 91234 is not the median of the 5 measurements behind it",
    ),
    (
        "supercop.txt",
        "108402 108500",
        "108402 1085o0",
        9,
        "a single measurement is \"1085o0\"; expected a whole number",
    ),
    ("supercop.txt", "+3-2+0+5-1", "+3-2+0+5-", 10, "a single measurement is \"+3-2+0+5-\""),
    ("supercop.txt", "+3-2+0+5-1", "+3-9999", 10, "a single measurement is -2268 cycles"),
    ("supercop.txt", " +3-2+0+5-1", "", 10, "no single measurements behind the median; the file was cut short"),
    ("supercop.txt", "- 91310 +20-93+0+8-15", "-", 7, "without its bytes and its median; the file was cut short"),
    ("figures.csv", "612.5", "NaN", 2, "value is NaN; expected a number above 0"),
    ("figures.csv", "aes-256-gcm/1k,411.2,ns", "aes-256-gcm/1k,411.2,weeks", 3, "unit \"weeks\" is not known"),
];

#[test]
fn a_value_that_cant_be_is_refused_with_its_line() {
    for (name, word, by, line, reason) in DAMAGE {
        let text = String::from_utf8(sample(name)).unwrap();
        assert!(text.contains(word), "{name} has no {word}");
        let _ = read(text.as_bytes());
        let found = refused(text.replacen(word, by, 1).as_bytes(), None);
        assert!(found.1.contains(reason), "{name}, {by}: {found:?}");
        assert!(line == 0 || found.0 == line, "{name}, {by}: {found:?}");
    }
    // Two spaces are no empty word.
    let short = b"20260831  amd64 20261126 crypto_a b c\n";
    assert!(refused(short, Some(Format::Supercop)).1.starts_with("expected a line of SUPERCOP's file"));
    // The tool itself printed this one.
    assert_eq!(
        refused(&sample("openssl-mr-inf.txt"), None),
        (2, "bytes per second is inf; expected a number above 0".into())
    );
}

#[test]
fn two_figures_of_one_name_are_refused() {
    let twice = |second: &str| format!("name,value,unit\na,1.5,ns\n{second},2.5,ns\n");
    assert_eq!(read(twice("b").as_bytes()).figures.len(), 2);
    assert_eq!(refused(twice("a").as_bytes(), None), (3, "a second figure named a; the first is on line 2".into()));
    // They become the same path.
    assert_eq!(refused(twice("/a/").as_bytes(), None).0, 3);
}

#[test]
fn what_a_tool_calls_a_failure_is_left_out_with_its_reason() {
    let sheet = read(&sample("google.json"));
    assert_eq!(
        (sheet.left_out[0].name.as_str(), sheet.left_out[0].reason.as_str()),
        ("BM_fails", "the benchmark says: no such device")
    );
    let text = String::from_utf8(sample("hyperfine.json")).unwrap();
    assert!(read(text.as_bytes()).left_out.is_empty());
    let failed = text.replacen("        0,\n        0\n", "        0,\n        1\n", 1);
    let sheet = read(failed.as_bytes());
    assert_eq!((sheet.figures.len(), sheet.left_out.len()), (1, 1));
    assert_eq!(sheet.left_out[0].reason, "run 12 ended with status 1: what fails may end early");
}

#[test]
fn what_is_no_output_of_the_tool_is_refused() {
    assert_eq!(refused(b"", None), (1, "the file is empty".into()));
    assert_eq!(refused(b"\xff\xfe\n", None), (1, "expected text, found binary data".into()));
    assert!(
        refused(b"hello\n", None)
            .1
            .starts_with("not the output of a tool that candor reads (openssl-mr, openssl, bssl,")
    );
    for (name, ..) in SAMPLES {
        let other = |format: &Format| import::read(&sample(name), Some(*format)).is_ok();
        let accepted: Vec<&Format> = FORMATS.iter().filter(|format| other(format)).collect();
        assert_eq!(accepted.len(), 1, "{name} is taken for {accepted:?}");
    }
    let huge = vec![b' '; import::LARGEST + 1];
    assert!(refused(&huge, None).1.contains("no more than"));
    let many: String = (0..=import::MOST_FIGURES).map(|i| format!("f{i},1.5,ns\n")).collect();
    assert_eq!(refused(format!("name,value,unit\n{many}").as_bytes(), None).1, "more than 10000 figures");
}

#[test]
fn a_file_that_was_cut_short_is_refused_wherever_that_shows() {
    for (name, format, ..) in SAMPLES {
        let whole = sample(name);
        let is_json = matches!(format, Format::Hyperfine | Format::Google) || name.ends_with(".json");
        let end = whole.trim_ascii_end().len();
        for length in 0..end {
            let cut = import::read(&whole[..length], Some(format));
            let ends_a_line = length > 0 && whole[length - 1] == b'\n';
            // liboqs ends with a line of its own.
            let shows = is_json || format == Format::Liboqs;
            // Where a line ends, the rest of a text is not missed; JSON closes its brackets.
            assert!(cut.is_err() || (ends_a_line && !shows), "{name} of {length} bytes");
        }
    }
}

fn origin(file: &str) -> Origin {
    Origin { machine: Machine::told("A CPU"), file: file.into(), bytes: sample(file), ..Origin::default() }
}

fn saved(sheet: &Sheet, origin: &Origin, directory: &Path) -> Run {
    let path = import::save(sheet, origin, Tool::default(), vec!["test".into()], directory).unwrap();
    Run::open(&path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_import_is_sealed_and_every_report_marks_it() {
    let directory = tempfile::tempdir().unwrap();
    for (name, _, figures, ..) in SAMPLES {
        let run = saved(&read(&sample(name)), &origin(name), directory.path());
        assert!(run.is_import() && run.subjects.len() == figures, "{name}");
        assert!(run.subjects.iter().all(|subject| subject.provenance.evidence == Evidence::Imported));
        let report = Report::of(&run);
        assert!(report.rows().next().is_none(), "{name}: nothing has a ratio or a verdict");
        let shown = |form| render(std::slice::from_ref(&report), &[], form);
        for form in [Form::Text, Form::Markdown, Form::Html] {
            let text = shown(form);
            assert!(text.contains(" IMPORTED") && text.contains("nothing was measured"), "{name}: {text}");
        }
        let csv = shown(Form::Csv);
        assert!(csv.lines().skip(1).all(|line| line.contains(",imported,") || line.contains("refused")), "{csv}");
        let json: serde_json::Value = serde_json::from_str(&shown(Form::Json)).unwrap();
        let rows = json["rows"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["evidence"] == "imported" && row.get("verdict").is_none()), "{json}");
    }
    let failed = saved(&read(&sample("google.json")), &origin("google.json"), directory.path());
    assert_eq!(failed.refusals[0].reason, "the benchmark says: no such device");
}

#[test]
fn a_task_can_be_given_to_one_figure_only_and_to_one_that_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let sheet = read(&sample("figures.csv"));
    let given = |tasks: &[(&str, &str)]| {
        let tasks = tasks.iter().map(|(figure, task)| (figure.to_string(), task.to_string())).collect();
        let origin = Origin { tasks, ..origin("figures.csv") };
        import::save(&sheet, &origin, Tool::default(), Vec::new(), directory.path())
            .map(|path| Run::open(&path).unwrap())
    };
    let run = given(&[("p256/sign", "ec/p256/sign")]).unwrap();
    assert_eq!(
        (run.tasks[2].task.as_str(), run.tasks[1].task.as_str()),
        ("ec/p256/sign", "imported/csv/aes-256-gcm/1k")
    );
    let why = |tasks: &[(&str, &str)]| given(tasks).unwrap_err().to_string();
    assert!(why(&[("p257/sign", "ec/p256/sign")]).contains("figures.csv, line 1: no figure is named p257/sign"));
    let both = why(&[("p256/sign", "one"), ("kyber/keygen", "one")]);
    assert!(both.contains("can't both be of task one"), "{both}");
}

#[test]
fn a_figure_of_another_size_is_not_of_the_task() {
    let directory = tempfile::tempdir().unwrap();
    let sheet = read(&sample("openssl-mr.txt"));
    let save = |figure: &str, expected: u64| {
        let tasks = BTreeMap::from([(figure.to_owned(), "hash/sha256/64k".to_owned())]);
        let task_bytes = BTreeMap::from([("hash/sha256/64k".to_owned(), expected)]);
        let origin = Origin { tasks, task_bytes, ..origin("openssl-mr.txt") };
        import::save(&sheet, &origin, Tool::default(), Vec::new(), directory.path()).map(|_| ())
    };
    assert!(save("sha256/64", 64).is_ok());
    let why = save("sha256/64", 65_536).unwrap_err().to_string();
    let expected =
        "openssl-mr.txt, line 2: sha256/64 is of 64 bytes; an operation of hash/sha256/64k works through 65536";
    assert!(why.ends_with(expected), "{why}");
    assert!(save("ecdsa/3/256/sign", 65_536).is_ok(), "of how many bytes, the tool does not say");
}

fn lints_of(name: &str, doubt: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let report = Report::of(&saved(&read(&sample(name)), &origin(name), directory.path()));
    report.lints.into_iter().filter(|lint| lint.name == doubt).map(|lint| lint.text).collect()
}

#[test]
fn a_coarse_clock_is_noticed() {
    let coarse = lints_of("coarse.csv", "clock-too-coarse");
    assert!(
        coarse.contains(&"all 4 times are whole microseconds, and one is 20.0 % of the shortest".into()),
        "{coarse:?}"
    );
    assert_eq!(lints_of("figures.csv", "clock-too-coarse"), Vec::<String>::new());
    // The same program, with loops of one second and of three.
    let one = lints_of("openssl-mr-1s.txt", "clock-too-coarse");
    assert_eq!(one.len(), 19, "{one:?}");
    assert!(one[0].contains("is 0.95 % of the figure"), "{one:?}");
    assert!(lints_of("openssl-mr-3s.txt", "clock-too-coarse").is_empty());
    let step = read(&sample("openssl-mr-3s.txt")).figures[0].quantities[1].clone();
    assert_eq!((step.name.as_str(), step.value), (STEP, 0.01 / 3.01 * 100.0));
}

#[test]
fn the_same_value_again_and_again_is_noticed() {
    let identical = lints_of("identical.csv", "identical-values");
    assert_eq!(identical.len(), 1);
    assert!(identical[0].starts_with("exactly 1.00 ms for each of imported/csv/secp256k1/keygen, "), "{identical:?}");
    for (name, ..) in SAMPLES {
        assert_eq!(lints_of(name, "identical-values"), Vec::<String>::new(), "{name}");
    }
}

/// Adds numbers.
struct Sum(u64);

impl Subject for Sum {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.0 = seed;
        Ok(Witness::bytes(seed.to_le_bytes()))
    }
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        Witness::bytes(self.0.to_le_bytes()).same_as(other)
    }
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            std::hint::black_box((0..500u64).fold(self.0, |sum, i| sum.rotate_left(3) ^ i));
        }
    }
    fn provenance(&self) -> Provenance {
        Provenance::of("sum", "1", "adds")
    }
}

#[test]
fn an_import_stands_in_the_table_of_the_run_that_has_its_task() {
    let directory = tempfile::tempdir().unwrap();
    let task = Task::new("sums/add", "adds")
        .entry(Entry::new("ours", || Ok(Sum(0))))
        .entry(Entry::new("theirs", || Ok(Sum(0))));
    let measured = Report::of(&quick::measure(&[task], directory.path()).unwrap());
    let sheet = read(&sample("figures.csv"));
    let import = |machine: Machine| {
        let tasks = BTreeMap::from([("p256/sign".to_owned(), "sums/add".to_owned())]);
        Report::of(&saved(&sheet, &Origin { machine, tasks, ..origin("figures.csv") }, directory.path()))
    };
    let there = import(Machine::told("A CPU"));
    let name = there.run.clone();
    let both = beside(vec![there, measured.clone()]);
    let [run, rest] = &both[..] else { panic!("the run, and what it does not have") };
    assert_eq!((run.run.as_str(), rest.tasks.len()), (measured.run.as_str(), 3));
    let moved = run.tasks[0].counted.iter().find(|counted| counted.evidence == Evidence::Imported).unwrap();
    assert_eq!(moved.run.as_deref(), Some(name.as_str()));
    assert_eq!(run.tasks[0].rows.len(), 3, "it is no row");
    let different = |report: &Report| report.lints.iter().filter(|lint| lint.name == "different-machine").count();
    assert_eq!(different(run), 1);
    let csv = render(std::slice::from_ref(run), &[], Form::Csv);
    assert!(csv.lines().any(|line| line.starts_with(&format!("{name},sums/add,csv,ours,imported,"))), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&render(std::slice::from_ref(run), &[], Form::Json)).unwrap();
    let row = json["rows"].as_array().unwrap().iter().find(|row| row["evidence"] == "imported").unwrap();
    assert_eq!(row["run"], name.as_str());
    // Of the same machine there is nothing to warn of.
    let here = beside(vec![measured.clone(), import(measured.machine.clone())]);
    assert_eq!(different(&here[0]), 0);
    // Alone it stays what it is.
    assert_eq!(beside(vec![import(Machine::told(""))]).len(), 1);
}

#[test]
fn a_figure_of_another_size_stands_in_no_table_of_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let measured = |bytes| {
        let entry = |name: &str| Entry::new(name, || Ok(Sum(0)));
        let task = Task::new("sums/add", "adds").bytes(bytes).entry(entry("ours")).entry(entry("theirs"));
        Report::of(&quick::measure(&[task], directory.path()).unwrap())
    };
    let tasks = BTreeMap::from([("sha256/64".to_owned(), "sums/add".to_owned())]);
    let sheet = read(&sample("openssl-mr-1s.txt"));
    let import = saved(&sheet, &Origin { tasks, ..origin("openssl-mr-1s.txt") }, directory.path());
    let (right, wrong) = (measured(64), measured(65_536));
    let both = beside(vec![wrong.clone(), Report::of(&import), right]);
    let imported = |report: &Report| {
        report.tasks[0].counted.iter().filter(|counted| counted.evidence == Evidence::Imported).count()
    };
    assert_eq!((imported(&both[0]), imported(&both[1])), (0, 1), "the run that has as many bytes");
    let alone = beside(vec![wrong, Report::of(&import)]);
    assert_eq!((imported(&alone[0]), alone[1].tasks.len()), (0, 19));
    let lint = alone[1].lints.iter().find(|lint| lint.name == "different-operation").unwrap();
    let expected = format!("64 bytes, and 65536 in {}: it does not stand in that table", alone[0].run);
    assert_eq!((lint.task.as_str(), lint.text.as_str()), ("sums/add", expected.as_str()));
}

#[test]
fn what_speaks_against_all_of_an_import_goes_wherever_one_of_its_figures_goes() {
    let directory = tempfile::tempdir().unwrap();
    let measured = |name: &str| {
        let entry = |name: &str| Entry::new(name, || Ok(Sum(0)));
        let task = Task::new(name, "adds").entry(entry("ours")).entry(entry("theirs"));
        Report::of(&quick::measure(&[task], directory.path()).unwrap())
    };
    let sheet = read(&sample("identical.csv"));
    let names: Vec<&str> = sheet.figures.iter().map(|figure| figure.name.as_str()).collect();
    let tasks = |count| {
        names
            .iter()
            .zip(["sums/one", "sums/two"])
            .take(count)
            .map(|(figure, task)| (figure.to_string(), task.to_owned()))
    };
    let import = |count| {
        let origin = Origin { tasks: tasks(count).collect(), ..origin("identical.csv") };
        Report::of(&saved(&sheet, &origin, directory.path()))
    };
    let runs = || ["sums/none", "sums/one", "sums/two"].map(measured).to_vec();
    let told = |reports: Vec<Report>| -> Vec<usize> {
        let alike = |report: &Report| {
            report.lints.iter().filter(|lint| lint.name == "identical-values" && lint.task.is_empty()).count()
        };
        beside(reports).iter().map(alike).collect()
    };
    let [with_one, with_two] = [1, 2].map(|count| [runs(), vec![import(count)]].concat());
    assert_eq!(told(with_one), [0, 1, 0, 1], "the run that got it, and the import's own report");
    assert_eq!(told(with_two), [0, 1, 1, 1]);
}

/// Whatever is read has numbers that can be, and names of which each is one figure's.
fn assert_sane(sheet: &Sheet) {
    let mut names: Vec<&str> = sheet.figures.iter().map(|figure| figure.name.as_str()).collect();
    assert!(names.iter().all(|name| !name.is_empty() && !name.contains(char::is_whitespace)));
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    for quantity in sheet.figures.iter().flat_map(|figure| &figure.quantities) {
        assert!(quantity.value > 0.0 && quantity.value.is_finite(), "{quantity:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for format in FORMATS {
            if let Ok(sheet) = import::read(&bytes, Some(format)) {
                assert_sane(&sheet);
            }
        }
    }

    /// Bytes of a sample are replaced, repeated or removed.
    #[test]
    fn no_damage_makes_an_impossible_figure(which in 0..SAMPLES.len(), at in any::<prop::sample::Index>(), by in any::<Vec<u8>>(), removed in 0usize..40) {
        let mut bytes = sample(SAMPLES[which].0);
        let at = at.index(bytes.len());
        let end = (at + removed).min(bytes.len());
        bytes.splice(at..end, by);
        if let Ok(sheet) = import::read(&bytes, None) {
            assert_sane(&sheet);
        }
    }

    /// A digit becomes another one, a sign or a letter: the form stays.
    #[test]
    fn no_other_digit_makes_an_impossible_figure(which in 0..SAMPLES.len(), at in any::<prop::sample::Index>(), by in "[-0-9.einaf]") {
        let mut bytes = sample(SAMPLES[which].0);
        let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
        bytes[digits[at.index(digits.len())]] = by.as_bytes()[0];
        if let Ok(sheet) = import::read(&bytes, None) {
            assert_sane(&sheet);
        }
    }

    #[test]
    fn a_table_of_any_numbers_is_read_back(values in proptest::collection::vec(1e-3..1e9f64, 1..20)) {
        let rows: String = values.iter().enumerate().map(|(i, value)| format!("f{i},{value:?},ns\n")).collect();
        let sheet = read(format!("name,value,unit\n{rows}").as_bytes());
        let found: Vec<f64> = sheet.figures.iter().map(|figure| figure.quantities[0].value).collect();
        prop_assert_eq!(found, values);
    }
}
