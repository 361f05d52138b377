//! A library for C as C sees it: its header is what it exports, a program in C uses each function, and tools watch that program.
//!
//! AddressSanitizer looks at what the program in C does, and at what the library has libc do (`memcpy`, `free`). What the library reads and writes itself
//! it does not see, since that is not compiled with it; valgrind does.

mod header;

pub use header::Function;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What Rust's standard library needs of the system, as `rustc --print native-static-libs` lists it.
const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// What a program prints that has called every function and found each right.
pub const DONE: &str = "every function did what it should\n";

/// A library for C under test. Paths begin at the crate's folder.
pub struct Library {
    /// The crate's folder, `env!("CARGO_MANIFEST_DIR")`.
    pub folder: &'static str,
    /// The library's name without `lib`, which for pkg-config is that of its file.
    pub name: &'static str,
    /// The package that pkg-config knows.
    pub package: &'static str,
    /// The name of the header in `include/`.
    pub header: &'static str,
    /// The folder of the exported functions.
    pub sources: &'static str,
    /// Types of Rust in exported functions, beyond those of every library, and what stands for each in C, without spaces.
    pub types: &'static [(&'static str, &'static str)],
    /// The program that calls every function.
    pub program: &'static str,
}

impl Library {
    /// A path from the crate's folder.
    pub fn here(&self, path: &str) -> PathBuf {
        Path::new(self.folder).join(path)
    }

    /// The library that cargo has built for the running test, which lies beside it: the newest of this ending.
    pub fn built(&self, ending: &str) -> PathBuf {
        let program = std::env::current_exe().expect("this program");
        let beside = program.parent().expect("a folder");
        let begin = format!("lib{}", self.name);
        let is = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // `libcandor_opaque_ffi-0123.so`, and not that of another library whose name is longer.
            name.strip_prefix(&begin).and_then(|rest| rest.strip_suffix(ending)).is_some_and(|rest| {
                rest.is_empty()
                    || rest.strip_prefix('-').is_some_and(|hash| hash.bytes().all(|c| c.is_ascii_hexdigit()))
            })
        };
        let files = std::fs::read_dir(beside).expect("it can be listed").flatten().map(|entry| entry.path());
        let written = |path: &PathBuf| path.metadata().and_then(|about| about.modified()).expect("it has a time");
        files.filter(is).max_by_key(written).unwrap_or_else(|| panic!("no {begin}{ending} in {}", beside.display()))
    }

    /// What the header declares.
    pub fn declared(&self) -> Vec<Function> {
        header::declared(&self.header_text())
    }

    /// The constants that the header numbers, those that begin so.
    pub fn numbered(&self, prefix: &str) -> BTreeMap<String, u32> {
        header::numbered(&self.header_text(), prefix)
    }

    /// Compares the header with the exported functions: names, order and types of parameters. Says how many there are.
    pub fn assert_header_is_what_is_exported(&self) -> usize {
        let by_name = |mut functions: Vec<Function>| {
            functions.sort_by(|a, b| a.name.cmp(&b.name));
            functions
        };
        let exported = header::exported(&self.here(self.sources), self.types);
        let (declared, exported) = (by_name(self.declared()), by_name(exported));
        for (declared, exported) in declared.iter().zip(&exported) {
            assert_eq!(declared, exported);
        }
        assert_eq!(declared.len(), exported.len());
        declared.len()
    }

    /// Compiles a program in C against the header and a library.
    pub fn compile(&self, source: &str, to: &Path, words: &[&str], library: &Path) {
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(self.here("include"));
        compiler.arg("-I").arg(crate::from_root("crates/test-support/c"));
        compiler.args(words).arg(self.here(source)).arg(library).args(SYSTEM).arg("-o").arg(to);
        succeeded(&mut compiler);
    }

    /// Runs the program of every function under AddressSanitizer and UBSan. `arguments` writes the files that it takes into a folder.
    pub fn run_under_address_sanitizer(&self, arguments: impl FnOnce(&Path) -> Vec<PathBuf>) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let program = folder.path().join("every_function");
        let mut trial = Command::new("cc");
        trial.args(["-fsanitize=address", "-x", "c", "-", "-o"]).arg(folder.path().join("trial"));
        let linked = trial.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().and_then(|mut child| {
            child.stdin.take().expect("a pipe").write_all(b"int main(void) { return 0; }\n")?;
            child.wait()
        });
        if !linked.is_ok_and(|status| status.success()) {
            return skipped("this C compiler has no AddressSanitizer");
        }
        self.compile(self.program, &program, &["-fsanitize=address,undefined"], &self.built(".a"));
        assert_eq!(succeeded(Command::new(&program).args(arguments(folder.path()))), DONE);
    }

    /// The same under valgrind.
    pub fn run_under_valgrind(&self, arguments: impl FnOnce(&Path) -> Vec<PathBuf>) {
        if !there("valgrind") {
            return;
        }
        let folder = tempfile::tempdir().expect("a scratch directory");
        let program = folder.path().join("every_function");
        self.compile(self.program, &program, &[], &self.built(".a"));
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
        assert_eq!(succeeded(valgrind.arg(&program).args(arguments(folder.path()))), DONE);
    }

    /// Runs the program with the shared library, and looks that this exports the header and nothing else, and that the program calls all of it.
    pub fn run_with_the_shared_library(&self, arguments: impl FnOnce(&Path) -> Vec<PathBuf>) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let (program, shared) = (folder.path().join("every_function"), self.built(".so"));
        self.compile(self.program, &program, &[], &shared);
        let mut started = Command::new(&program);
        started.env("LD_LIBRARY_PATH", shared.parent().expect("a folder"));
        assert_eq!(succeeded(started.args(arguments(folder.path()))), DONE);

        let mut nm = Command::new("nm");
        let listed = succeeded(nm.args(["--dynamic", "--defined-only", "--format=posix"]).arg(&shared));
        let mut exported: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        exported.sort_unstable();
        let declared = self.declared();
        let mut declared: Vec<&str> = declared.iter().map(|function| function.name.as_str()).collect();
        declared.sort_unstable();
        assert_eq!(exported, declared);
        let source = std::fs::read_to_string(self.here(self.program)).expect("the program");
        let unused: Vec<_> = declared.iter().filter(|name| !source.contains(&format!("{name}("))).collect();
        assert!(unused.is_empty(), "the C test does not call {unused:?}");
    }

    /// Runs the README's line that begins so, from the root of the repository, with the libraries of this build instead of those in `target/release`. Where it
    /// writes a program, `-o NAME && ./NAME`, that goes to a scratch directory. Returns what it prints.
    pub fn run_line_of_readme(&self, start: &str) -> String {
        let readme = std::fs::read_to_string(self.here("README.md")).expect("the README");
        let line = readme.lines().find(|line| line.starts_with(start)).expect("the README has the command");
        let folder = tempfile::tempdir().expect("a scratch directory");
        let mut line = line.to_owned();
        for ending in [".a", ".so"] {
            let built = self.built(ending).display().to_string();
            line = line.replace(&format!("target/release/lib{}{ending}", self.name), &built);
        }
        if let Some((before, program)) = line.split_once(" -o ") {
            let (name, run) = program.split_once(" && ./").expect("-o NAME && ./NAME");
            assert!(run.starts_with(name), "{name} is compiled, {run} is started");
            let at = folder.path().display();
            line = format!("{before} -o {at}/{name} && {at}/{run}");
        }
        succeeded(Command::new("sh").args(["-c", &line]).current_dir(self.here("../..")))
    }

    /// Compiles the header as C++.
    pub fn assert_header_is_c_plus_plus(&self) {
        if !there("c++") {
            return;
        }
        let folder = tempfile::tempdir().expect("a scratch directory");
        let source = folder.path().join("a.cc");
        std::fs::write(&source, format!("#include <{}>\nint main() {{ return 0; }}\n", self.header))
            .expect("the folder is the test's own");
        let mut compiler = Command::new("c++");
        compiler.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]).arg(self.here("include"));
        succeeded(compiler.arg(&source));
    }

    /// Asks pkg-config what a program needs, as if the library were in `/opt/candor`.
    pub fn assert_pkg_config_says_what_is_needed(&self, version: &str) {
        if !there("pkg-config") {
            return;
        }
        let folder = tempfile::tempdir().expect("a scratch directory");
        let package = self.package;
        let text = std::fs::read_to_string(self.here(&format!("{package}.pc.in"))).expect("the file for pkg-config");
        let text = text.replace("@PREFIX@", "/opt/candor").replace("@VERSION@", version);
        std::fs::write(folder.path().join(format!("{package}.pc")), text).expect("the folder is the test's own");
        let mut asked = Command::new("pkg-config");
        asked.args(["--cflags", "--libs", package]).env("PKG_CONFIG_PATH", folder.path());
        let expected = format!("-I/opt/candor/include -L/opt/candor/lib -l{}", self.name);
        assert_eq!(succeeded(&mut asked).trim(), expected);
    }

    fn header_text(&self) -> String {
        std::fs::read_to_string(self.here("include").join(self.header)).expect("the header")
    }
}

/// Runs a command that must succeed, and returns what it prints.
pub fn succeeded(command: &mut Command) -> String {
    let output: Output = command.output().unwrap_or_else(|error| panic!("can't start {command:?}: {error}"));
    let [said, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{said}{errors}", output.status);
    said
}

/// Whether a program is there; says on standard error that a test is skipped if it is not.
pub fn there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skipped(&format!("{program} is missing"));
    }
    found
}

/// Says on standard error that a test is skipped: directly, since libtest keeps what a passing test prints by `eprintln!`, and then nobody learns of it.
pub fn skipped(why: &str) {
    writeln!(std::io::stderr(), "skipped: {why}").expect("standard error can be written");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs itself a second time, as libtest runs a test that passes.
    #[test]
    fn a_skip_is_said_though_the_test_passes() {
        const AGAIN: &str = "CANDOR_TEST_SKIPS";
        if std::env::var_os(AGAIN).is_some() {
            println!("what libtest keeps");
            return skipped("on purpose");
        }
        let mut again = Command::new(std::env::current_exe().expect("this program"));
        again.args(["--exact", "c_abi::tests::a_skip_is_said_though_the_test_passes"]).env(AGAIN, "1");
        let output = again.output().expect("it starts");
        let [said, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success() && said.contains("1 passed") && !said.contains("what libtest keeps"), "{said}");
        assert_eq!(errors, "skipped: on purpose\n");
    }
}
