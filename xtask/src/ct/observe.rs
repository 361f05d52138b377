//! Runs one case under valgrind and reads what it and its tools say.

use super::judge::{Case, Expect, Observed, Report};
use crate::Failure;
use crate::stage::program;
use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

/// memcheck, and callgrind where a kernel is to be proved; the bare CPU where valgrind lacks the instructions.
pub(super) fn observe(binary: &Path, case: &Case, logs: &Path) -> Result<Observed, Failure> {
    if matches!(case.expect, Expect::Elsewhere { .. }) {
        return bare(binary, &case.name);
    }
    let stem = logs.join(case.name.replace('/', "-"));
    let log = stem.with_added_extension("memcheck.xml");
    let output = valgrind(
        binary,
        case,
        &["--tool=memcheck", "--leak-check=no", "--error-limit=no", "--num-callers=12", "--xml=yes"],
        &format!("--xml-file={}", log.display()),
    )?;
    let mut observed = Observed::default();
    read_output(&String::from_utf8_lossy(&output.stdout), &mut observed);
    observed.died = death(&output);
    if observed.died.is_some() {
        return Ok(observed);
    }
    read_memcheck(&read(&log)?, &mut observed);

    if case.kernel.is_some() {
        let profile = stem.with_added_extension("callgrind");
        let output =
            valgrind(binary, case, &["--tool=callgrind"], &format!("--callgrind-out-file={}", profile.display()))?;
        observed.died = death(&output);
        observed.functions = functions(&read(&profile)?, &symbols(binary)?);
    }
    Ok(observed)
}

/// The case without valgrind: which arm it takes on this CPU, and whether its result is right.
pub(super) fn bare(binary: &Path, name: &str) -> Result<Observed, Failure> {
    let mut command = program(binary);
    command.args(["run", name]).env_remove("OPENSSL_ia32cap").env_remove("CANDOR_CPU");
    let output = command.output().map_err(|error| format!("cannot start {}: {error}", binary.display()))?;
    let mut observed = Observed::default();
    read_output(&String::from_utf8_lossy(&output.stdout), &mut observed);
    observed.died = death(&output);
    Ok(observed)
}

fn valgrind(binary: &Path, case: &Case, options: &[&str], log: &str) -> Result<Output, Failure> {
    let mut command = program("valgrind");
    command.args(options).arg(log).arg(binary).args(["run", &case.name]);
    // What the user exports must not decide which arm runs.
    command.env_remove("OPENSSL_ia32cap").env_remove("CANDOR_CPU");
    command.output().map_err(|error| format!("cannot start valgrind: {error}"))
}

fn read(path: &Path) -> Result<String, Failure> {
    // Symbols may hold any bytes.
    let bytes = std::fs::read(path).map_err(|error| format!("valgrind left no {}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why the process counts as dead: it failed, or did not print its last line.
fn death(output: &Output) -> Option<String> {
    let finished = String::from_utf8_lossy(&output.stdout).lines().last() == Some("done");
    if output.status.success() && finished {
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("==")).collect();
    Some(format!("died ({}): {}", output.status, lines[lines.len().saturating_sub(3)..].join(" / ")))
}

/// What the program prints: `valgrind yes`, and a line for each arm that ran, each marked function and each reason of `declassify`.
fn read_output(text: &str, observed: &mut Observed) {
    for line in text.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["valgrind", answer] => observed.under_valgrind = answer == "yes",
            ["took", function] => observed.taken.push(function.to_owned()),
            ["published", why, was] => observed.published.push((why.to_owned(), was == "secret")),
            ["arm", routine, arm] => observed.arms.push((routine.to_owned(), arm.to_owned())),
            _ => {}
        }
    }
}

/// memcheck's XML: an `error` element for each distinct report, with a `stack` of frames, and at the end of it all `errorcounts` with a `pair` for
/// each. A document that was cut short is not XML, and leaves `counted` empty.
///
/// With `--xml=yes` valgrind looks for lost memory whatever `--leak-check` says. Those findings are in no count, and are none of ours.
fn read_memcheck(xml: &str, observed: &mut Observed) {
    let Ok(document) = Document::parse(xml) else { return };
    let root = document.root_element();
    let finished = children(root, "status").any(|status| child_text(status, "state") == "FINISHED");
    // valgrind writes counts while it runs, too; the last has them all.
    observed.counted =
        children(root, "errorcounts").last().map(|counts| children(counts, "pair").count()).filter(|_| finished);
    let errors = children(root, "error").filter(|error| !child_text(*error, "kind").starts_with("Leak_"));
    observed.reports.extend(errors.map(|error| {
        let what = match child_text(error, "what") {
            "" => children(error, "xwhat").next().map_or("", |xwhat| child_text(xwhat, "text")),
            what => what,
        };
        // The first stack is where it happened; others say where memory came from.
        let stack = children(error, "stack").next();
        let frames = stack.map(|stack| children(stack, "frame").map(place).collect()).unwrap_or_default();
        Report { what: what.to_owned(), frames }
    }));
}

fn children<'a, 'd>(node: Node<'a, 'd>, name: &'static str) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn child_text<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    children(node, name).next().and_then(|child| child.text()).map_or("", str::trim)
}

/// `function (file.rs:30)`, or the object where there are no line tables.
fn place(frame: Node<'_, '_>) -> String {
    let function = Some(child_text(frame, "fn")).filter(|name| !name.is_empty()).unwrap_or("???");
    match (child_text(frame, "file"), child_text(frame, "line")) {
        ("", _) => format!("{function} (in {})", child_text(frame, "obj")),
        (file, line) => format!("{function} ({file}:{line})"),
    }
}

/// The functions that a callgrind profile names. Assembly without a type has only its address there: `symbols` names it.
fn functions(profile: &str, symbols: &BTreeMap<u64, String>) -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    for line in profile.lines() {
        // "fn=(12) name" where a name is used first, "fn=(12)" from then on; cfn for a callee
        let Some(rest) = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=(")) else { continue };
        let Some((_, name)) = rest.split_once(") ") else { continue };
        let address = name.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        functions.insert(address.and_then(|address| symbols.get(&address)).map_or(name, |symbol| symbol).to_owned());
    }
    functions
}

/// The binary's symbols by address, from `nm`, which stands wherever a linker does.
fn symbols(binary: &Path) -> Result<BTreeMap<u64, String>, Failure> {
    let output = program("nm").arg(binary).output().map_err(|error| format!("cannot start nm: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(symbol).collect())
}

/// "00000000002671f0 T name"
fn symbol(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let name = words.nth(1)?;
    Some((address, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"<?xml version="1.0"?>
<valgrindoutput>
<tool>memcheck</tool>
<status><state>RUNNING</state></status>
<error>
  <kind>UninitCondition</kind>
  <what>Conditional jump or move depends on uninitialised value(s)</what>
  <stack>
    <frame><ip>0x1FAC64</ip><obj>candor-ct</obj><fn>&lt;impl Field&gt;::invert</fn><dir>src</dir><file>controls.rs</file><line>30</line></frame>
    <frame><ip>0x1FB16A</ip><obj>candor-ct</obj><fn>run</fn><file>main.rs</file><line>41</line></frame>
  </stack>
  <auxwhat>Uninitialised value was created by a client request</auxwhat>
  <stack><frame><ip>0x1</ip><fn>poison</fn></frame></stack>
</error>
<error>
  <kind>UninitValue</kind>
  <what>Use of uninitialised value of size 8</what>
  <stack><frame><ip>0x1FAC4A</ip><obj>libc.so.6</obj></frame></stack>
</error>
<errorcounts></errorcounts>
<status><state>FINISHED</state></status>
<error>
  <kind>Leak_DefinitelyLost</kind>
  <xwhat><text>4 bytes in 1 blocks are definitely lost in loss record 1 of 1</text></xwhat>
  <stack><frame><ip>0x2</ip><fn>malloc</fn></frame></stack>
</error>
<errorcounts>
  <pair><count>3</count><unique>0x0</unique></pair>
  <pair><count>2</count><unique>0x1</unique></pair>
</errorcounts>
</valgrindoutput>
"#;

    #[test]
    fn reports_are_read_with_their_frames_and_their_count() {
        let mut observed = Observed::default();
        read_memcheck(LOG, &mut observed);
        assert_eq!(observed.counted, Some(2));
        assert_eq!(observed.reports.len(), 2);
        assert!(observed.reports[0].what.starts_with("Conditional jump"));
        assert_eq!(observed.reports[0].frames, ["<impl Field>::invert (controls.rs:30)", "run (main.rs:41)"]);
        assert_eq!(observed.reports[1].what, "Use of uninitialised value of size 8");
        assert_eq!(observed.reports[1].frames, ["??? (in libc.so.6)"]);
    }

    #[test]
    fn a_log_that_ends_early_has_no_count() {
        for cut in [LOG.len() / 2, LOG.len() - 20] {
            let mut observed = Observed::default();
            read_memcheck(&LOG[..cut], &mut observed);
            assert_eq!(observed.counted, None);
        }
        let mut observed = Observed::default();
        read_memcheck(&LOG.replace("FINISHED", "RUNNING"), &mut observed);
        assert_eq!(observed.counted, None);
    }

    #[test]
    fn the_programs_own_lines_are_read() {
        let mut observed = Observed::default();
        read_output(
            "valgrind\tyes\narm\tsha256\tportable\ntook\tx/open\npublished\tresult\tsecret\npublished\tkey\tpublic\nerrors\t0\ndone\n",
            &mut observed,
        );
        assert!(observed.under_valgrind);
        assert_eq!(observed.arms, [("sha256".to_owned(), "portable".to_owned())]);
        assert_eq!(observed.taken, ["x/open"]);
        assert_eq!(observed.published, [("result".to_owned(), true), ("key".to_owned(), false)]);
    }

    #[test]
    fn functions_without_a_name_are_looked_up() {
        let symbols = [symbol("00000000002671f0 T kernel_asm"), symbol("                 U memcpy")];
        assert_eq!(symbols[1], None);
        let symbols = symbols.into_iter().flatten().collect();
        let profile = "fn=(1) main\ncalls=1 0\ncfn=(2) 0x00000000002671f0\nfn=(1)\nfn=(3) 0x0000000000000001\n";
        let found: Vec<String> = functions(profile, &symbols).into_iter().collect();
        assert_eq!(found, ["0x0000000000000001", "kernel_asm", "main"]);
    }
}
