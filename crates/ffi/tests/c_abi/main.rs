//! The library as C sees it: the header says what the functions are, a program in C uses each of them, and the examples run.

mod header;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What Rust's standard library needs of the system, as `rustc --print native-static-libs` lists it.
const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The library that cargo has built for this test, which lies beside it: the newest of this ending.
fn library(ending: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let beside = program.parent().expect("a folder");
    let is = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libcandor_ffi") && name.ends_with(ending)
    };
    let files = std::fs::read_dir(beside).expect("it can be listed").flatten().map(|entry| entry.path());
    let written = |path: &PathBuf| path.metadata().and_then(|about| about.modified()).expect("it has a time");
    files.filter(is).max_by_key(written).unwrap_or_else(|| panic!("no libcandor_ffi{ending} in {}", beside.display()))
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("can't start {command:?}: {error}"))
}

fn succeeded(command: &mut Command) -> String {
    let output = run(command);
    let [said, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{said}{errors}", output.status);
    said
}

fn there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} is missing");
    }
    found
}

/// Compiles a program in C against the header.
fn compiled(source: &str, to: &Path, words: &[&str], library: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(here("include"));
    compiler.args(words).arg(here(source)).arg(library).args(SYSTEM).arg("-o").arg(to);
    succeeded(&mut compiler);
}

const DONE: &str = "every function did what it should\n";

#[test]
fn every_function_keeps_its_promise_under_address_sanitizer() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("every_function");
    let mut trial = Command::new("cc");
    trial.args(["-fsanitize=address", "-x", "c", "-", "-o"]).arg(folder.path().join("trial"));
    let linked = trial.stdin(std::process::Stdio::piped()).spawn().and_then(|mut child| {
        use std::io::Write;
        child.stdin.take().expect("a pipe").write_all(b"int main(void) { return 0; }\n")?;
        child.wait()
    });
    if !linked.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: this C compiler has no AddressSanitizer");
    }
    compiled("tests/c_abi/every_function.c", &program, &["-fsanitize=address,undefined"], &library(".a"));
    assert_eq!(succeeded(&mut Command::new(&program)), DONE);
}

#[test]
fn every_function_keeps_its_promise_under_valgrind() {
    if !there("valgrind") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("every_function");
    compiled("tests/c_abi/every_function.c", &program, &[], &library(".a"));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    assert_eq!(succeeded(valgrind.arg(&program)), DONE);
}

#[test]
fn the_shared_library_works_and_exports_the_header_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (program, shared) = (folder.path().join("every_function"), library(".so"));
    compiled("tests/c_abi/every_function.c", &program, &[], &shared);
    let mut started = Command::new(&program);
    started.env("LD_LIBRARY_PATH", shared.parent().expect("a folder"));
    assert_eq!(succeeded(&mut started), DONE);

    let listed = succeeded(Command::new("nm").args(["--dynamic", "--defined-only", "--format=posix"]).arg(&shared));
    let mut exported: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    exported.sort_unstable();
    let declared = header::declared();
    let mut declared: Vec<&str> = declared.iter().map(|function| function.name.as_str()).collect();
    declared.sort_unstable();
    assert_eq!(exported, declared);
    let source = std::fs::read_to_string(here("tests/c_abi/every_function.c")).unwrap();
    let unused: Vec<_> = declared.iter().filter(|name| !source.contains(&format!("{name}("))).collect();
    assert!(unused.is_empty(), "the C test does not call {unused:?}");
}

/// The README's command, with the folder of this build.
#[test]
fn the_examples_of_the_readme_compile_and_run() {
    let readme = std::fs::read_to_string(here("README.md")).unwrap();
    let line = |start: &str| readme.lines().find(|line| line.starts_with(start)).expect("the README has the command");
    let folder = tempfile::tempdir().unwrap();
    let root = here("../..");
    let shell = |line: &str| {
        let line = line.replace("target/release/libcandor_ffi.a", &library(".a").display().to_string());
        let line = line.replace("target/release/libcandor_ffi.so", &library(".so").display().to_string());
        let hello = folder.path().join("hello").display().to_string();
        let line = line.replace("-o hello && ./hello", &format!("-o {hello} && {hello}"));
        succeeded(Command::new("sh").args(["-c", &line]).current_dir(&root))
    };
    let digest = "sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
    assert_eq!(shell(line("cc -std")), format!("{digest}ed25519 verified\naes-256-gcm abc\n"));
    if there("python3") {
        assert_eq!(shell(line("python3 ")), format!("{digest}p256 verified\n-----BEGIN PUBLIC KEY-----\n"));
    }
}

#[test]
fn the_header_is_c_plus_plus_as_well() {
    if !there("c++") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.cc");
    std::fs::write(&source, "#include <candor.h>\nint main() { return candor_free(0); }\n").unwrap();
    let mut compiler = Command::new("c++");
    compiler.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]).arg(here("include"));
    succeeded(compiler.arg(&source));
}

#[test]
fn the_file_for_pkg_config_has_what_a_program_needs() {
    if !there("pkg-config") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(here("candor.pc.in")).unwrap();
    let text = text.replace("@PREFIX@", "/opt/candor").replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    std::fs::write(folder.path().join("candor.pc"), text).unwrap();
    let mut asked = Command::new("pkg-config");
    asked.args(["--cflags", "--libs", "candor"]).env("PKG_CONFIG_PATH", folder.path());
    assert_eq!(succeeded(&mut asked).trim(), "-I/opt/candor/include -L/opt/candor/lib -lcandor_ffi");
}
