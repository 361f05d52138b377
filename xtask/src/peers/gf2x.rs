//! gf2x, the library of binary polynomials, three times: as Debian builds it, tuned on this machine, and the tuned one's inlined
//! routines behind a small shim. NTL on the tuned one follows in `ntl.rs`.
//!
//! Debian's library is configured without hardware code, since a distribution serves every CPU: it is the baseline of a
//! portable kernel, and never the one to beat. What is to beat is the same source compiled for this CPU with its low-level
//! routines and its Karatsuba and Toom-Cook thresholds tuned here, which takes about ten minutes.
//!
//! Beside each library stands a file `PROVENANCE`, from which the subjects take what they say of it. gf2x is under the GPL and
//! stays in `target/peers`: no product links it.

use super::debian::{Apt, entries};
use super::{
    Extent, check_digest, compiler, cpu, expect_in, make_directory, ntl, quiet_step, quiet_step_both, today, write,
    write_provenance,
};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "1.3.0";
const DEBIAN: &str = "1.3.0-2";
const DIGEST: &str = "9472cd651972a1de38e3c4c47697a86e0ecf19d7d33454d4bc2a62bc85841b59";
/// `-fcommon`: without it tunetoom does not link with gcc 10 and later. `-fPIC`: the same objects go into shared objects.
pub(super) const CFLAGS: &str = "-O3 -march=native -fPIC -fcommon";
/// Words up to which Toom-Cook is tuned: above the largest size that we measure.
const TOOM_LIMIT: &str = "1200";
/// The largest size that we measure, in words: there the FFT is tried against Toom-Cook.
const LARGEST: &str = "901";

const SHIM: &str = include_str!("shims/gf2x.c");

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let at = peers.join("gf2x");
    make_directory(&at)?;
    let apt = Apt::at(&at)?;
    apt.source(&format!("gf2x={DEBIAN}"))?;
    check_digest(&at.join(format!("gf2x_{VERSION}.orig.tar.gz")), DIGEST)?;

    portable(&apt, &at)?;
    let source = configure(&at)?;
    if extent == Extent::Check {
        expect_tuners(&source)?;
        return ntl::check(&apt, &at);
    }
    let tuning = tune(&source)?;
    tuned(&at, &source, &tuning)?;
    inlined(&at, &source, &tuning)?;
    println!("gf2x {VERSION} is in {}", at.display());
    ntl::build(&apt, &at, &tuning)
}

/// Debian's binary, and the proof in Debian's own rules that it has no hardware code.
fn portable(apt: &Apt<'_>, at: &Path) -> Result<(), Failure> {
    let package = format!("libgf2x3={DEBIAN}");
    let root = at.join("build/debian");
    make_directory(&root)?;
    apt.unpack(&package, &root)?;
    untar(at, &format!("gf2x_{DEBIAN}.debian.tar.xz"), &root)?;
    let rules = fs::read_to_string(root.join("debian/rules")).unwrap_or_default();
    if !rules.contains("--disable-hardware-specific-code") {
        return Err(
            "Debian's rules no longer say --disable-hardware-specific-code: what is its library then?".to_owned()
        );
    }
    let libraries = entries(&root.join("usr/lib"), |name| name.ends_with("-linux-gnu"))?;
    let library = libraries.first().map(|folder| folder.join("libgf2x.so.3"));
    let to = at.join("portable");
    install(library.ok_or("Debian's package holds no library")?, &to.join("libgf2x.so.3"))?;
    write_provenance(
        &to,
        &[
            ("variant", "portable"),
            ("version", VERSION),
            ("commit", &format!("Debian {package}")),
            ("build", "Debian's own binary: gcc -O2, ./configure --disable-hardware-specific-code"),
            ("arm", "portable: configured without hardware code"),
            ("leaves-unused", "PCLMULQDQ: Debian configures it with --disable-hardware-specific-code"),
        ],
    )
}

/// The result of tuning, in words for the provenance.
pub(super) struct Tuning {
    /// Thresholds, and which low-level routine each size got.
    pub(super) found: String,
    /// Where, when, how.
    pub(super) line: String,
}

/// Unpacks and configures the source, and says where it is.
fn configure(at: &Path) -> Result<PathBuf, Failure> {
    let build = at.join("build/tuned");
    let _ = fs::remove_dir_all(&build);
    make_directory(&build)?;
    untar(at, &format!("gf2x_{VERSION}.orig.tar.gz"), &build)?;
    let source = build.join(format!("gf2x-{VERSION}"));
    let mut configure = program("sh");
    // Static only: the shared objects below are linked from the same archive.
    configure.args(["./configure", "--disable-shared", &format!("CFLAGS={CFLAGS}")]).current_dir(&source);
    quiet_step("configuring gf2x for this CPU", configure)?;
    Ok(source)
}

/// The goals of make and the words of the tuner that [`tune`] and [`chosen`] rely on.
fn expect_tuners(source: &Path) -> Result<(), Failure> {
    let read = |name: &str| {
        let file = source.join(name);
        fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
    };
    let goals =
        ["tune-lowlevel:", "tune-toom:", "tunetoom$(EXEEXT):", "tunefft$(EXEEXT):", "modify-thresholds$(EXEEXT):"];
    expect_in("gf2x's src/Makefile", &read("src/Makefile")?, &goals)?;
    expect_in(
        "gf2x's tune-lowlevel.pl",
        &read("src/tune-lowlevel.pl")?,
        &["**BEST**", "Summary of tune-lowlevel results"],
    )
}

/// Compiles and tunes the source, and says what was found.
fn tune(source: &Path) -> Result<Tuning, Failure> {
    quiet_step("compiling gf2x", make(source, &["-j2"]))?;

    let tuning = source.join("src");
    // make passes the tuner's summary on to standard error.
    let low_level =
        quiet_step_both("tuning the low-level routines (two minutes)", pinned(make(&tuning, &["tune-lowlevel"])))?;
    quiet_step("compiling the tuners", make(&tuning, &["tunetoom", "modify-thresholds"]))?;
    // The steps of `make tune-toom`, with a limit and a step that make it minutes instead of hours; make then finds the
    // result there and takes it over.
    let mut toom = program("./tunetoom");
    toom.args(["-s", "1.05", TOOM_LIMIT, TOOM_LIMIT, "-o", "tunetoom.res"]).current_dir(&tuning);
    quiet_step("tuning Karatsuba and Toom-Cook (minutes)", pinned(toom))?;
    quiet_step("compiling with what was found", make(&tuning, &["tune-toom"]))?;
    let fft = fft(&tuning)?;
    let thresholds = fs::read_to_string(source.join("gf2x/gf2x-thresholds.h"))
        .map_err(|error| format!("gf2x wrote no thresholds: {error}"))?;
    let routines = chosen(&low_level);
    if routines.is_empty() {
        return Err("tune-lowlevel did not report which routines it chose".to_owned());
    }
    let found = format!("{}; {routines}", thresholds_of(&thresholds));
    let line = format!("{} on {}: tune-lowlevel, tune-toom to {TOOM_LIMIT} words, {fft}", today(), cpu());
    println!("tuned: {found}");
    Ok(Tuning { found, line })
}

/// Whether the FFT can matter at our sizes. Tuning all of it takes hours, since tunefft goes in steps of a word or two from 501
/// words on; so it is asked at our largest size only, and its answer goes into the provenance.
fn fft(tuning: &Path) -> Result<String, Failure> {
    // tunefft uses MIN, which its headers no longer bring.
    let flags = format!("CFLAGS={CFLAGS} -include sys/param.h");
    quiet_step("compiling the FFT's tuner", make(tuning, &[&flags, "tunefft"]))?;
    let mut fft = program("./tunefft");
    fft.args(["-k0", "81", LARGEST, LARGEST, "-o", "tunefft.once"]).current_dir(tuning);
    let said = quiet_step("trying the FFT at our largest size", pinned(fft))?;
    let line = said.lines().find(|line| line.contains("TC:")).ok_or("tunefft printed no times")?;
    println!("{line}");
    match line.ends_with(" TC") {
        true => Ok(format!("tune-fft not run: at {LARGEST} words tunefft finds Toom-Cook faster ({line})")),
        false => Err(format!(
            "the FFT is faster at {LARGEST} words on this machine ({line}), but this recipe does not tune it; extend the recipe"
        )),
    }
}

/// The tuned library as a shared object.
fn tuned(at: &Path, source: &Path, tuning: &Tuning) -> Result<(), Failure> {
    let to = at.join("tuned");
    make_directory(&to)?;
    let mut link = program("cc");
    link.args(["-shared", "-Wl,-soname,libgf2x.so.3", "-o"]).arg(to.join("libgf2x.so.3"));
    link.arg("-Wl,--whole-archive").arg(source.join(".libs/libgf2x.a")).arg("-Wl,--no-whole-archive");
    quiet_step("linking the tuned library", link)?;
    write_tuned_provenance(&to, "tuned", "", tuning)
}

/// Loops over the tuned library's inlined routines.
fn inlined(at: &Path, source: &Path, tuning: &Tuning) -> Result<(), Failure> {
    let to = at.join("inlined");
    make_directory(&to)?;
    let shim = at.join("build/gf2x-inlined.c");
    write(&shim, SHIM)?;
    let mut compile = program("cc");
    compile.args(CFLAGS.split(' ')).args(["-mpclmul", "-shared", "-o"]).arg(to.join("libgf2x-inlined.so.1"));
    compile.arg("-I").arg(source).arg(&shim);
    quiet_step("compiling the shim over the inlined routines", compile)?;
    write_tuned_provenance(
        &to,
        "inlined",
        "; loops over gf2x_mul1 to gf2x_mul9 of gf2x-small.h, one barrier a ring",
        tuning,
    )
}

fn write_tuned_provenance(to: &Path, variant: &str, more: &str, tuning: &Tuning) -> Result<(), Failure> {
    write_provenance(
        to,
        &[
            ("variant", variant),
            ("version", VERSION),
            ("commit", &format!("Debian source gf2x {DEBIAN}, gf2x_{VERSION}.orig.tar.gz sha256:{DIGEST}")),
            ("build", &format!("{}, {CFLAGS}{more}", compiler())),
            ("arm", &format!("PCLMULQDQ, fixed when it was built; {}", tuning.found)),
            ("tuning", &tuning.line),
        ],
    )
}

/// The thresholds that decide at the sizes that we measure.
fn thresholds_of(header: &str) -> String {
    let named = |name: &str| {
        let rest = header.lines().find_map(|line| line.strip_prefix(&format!("#define GF2X_MUL_{name}_THRESHOLD")));
        format!("{name} {}", rest.map_or("?", str::trim))
    };
    ["KARA", "TOOMW", "TOOM", "TOOM4", "TOOMU"].map(named).join(", ")
}

/// Which routine each size got: the lines `mul5 -> mul5clk2.c [ 9.4 ns ] **BEST**` of tune-lowlevel.
fn chosen(said: &str) -> String {
    let best = said.lines().filter(|line| line.contains("**BEST**")).filter_map(|line| {
        let (_, rest) = line.split_once("-> ")?;
        rest.split_once(".c").map(|(name, _)| name)
    });
    best.collect::<Vec<_>>().join(" ")
}

pub(super) fn make(folder: &Path, words: &[&str]) -> Command {
    let mut make = program("make");
    make.args(words).current_dir(folder);
    make
}

/// The command on the first CPU, so that the scheduler does not move it while it measures.
fn pinned(command: Command) -> Command {
    let mut pinned = program("taskset");
    pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        pinned.current_dir(folder);
    }
    pinned
}

pub(super) fn untar(at: &Path, archive: &str, to: &Path) -> Result<(), Failure> {
    let mut unpack = program("tar");
    unpack.arg("xf").arg(at.join(archive)).arg("-C").arg(to);
    quiet_step(&format!("unpacking {archive}"), unpack).map(drop)
}

fn install(from: PathBuf, to: &Path) -> Result<(), Failure> {
    make_directory(to.parent().unwrap_or(to))?;
    fs::copy(&from, to).map(drop).map_err(|error| format!("cannot copy {}: {error}", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As candor's loop has it (`crates/subjects/src/ours/gf2.rs`): a barrier behind each product keeps a compiler from working on two at once.
    #[test]
    fn the_inlined_loops_have_one_barrier_a_ring() {
        let body = SHIM.split_once("while (count) {").expect("it goes from ring to ring").1;
        let (ring, behind) = body.split_once("product;").expect("it multiplies");
        let barrier = "__asm__ volatile";
        assert!(ring.contains("for (") && !ring.contains(barrier), "{ring}");
        let (end_of_ring, rest) = behind.split_once(barrier).expect("there is a barrier");
        assert_eq!(end_of_ring.matches('}').count(), 1, "behind the loop over the pairs: {end_of_ring}");
        assert!(!rest.contains(barrier), "{rest}");
    }

    #[test]
    fn the_thresholds_are_read_from_the_header() {
        let header = "#define GF2X_MUL_KARA_THRESHOLD\t10\n#define GF2X_MUL_TOOMW_THRESHOLD\t\t35\n";
        assert!(thresholds_of(header).starts_with("KARA 10, TOOMW 35, TOOM ?"), "{}", thresholds_of(header));
    }

    #[test]
    fn the_best_routines_are_read_from_the_tuner() {
        let said = "mul2 -> mul2cl.c [ 3.1 ns ] **BEST**\nmul2 -> mul2k.c [ 3.8 ns ]\n\
                    mul3 -> mul3cl.c [ 5.8 ns ] **BEST** (previous) -> no change\n";
        assert_eq!(chosen(said), "mul2cl mul3cl");
    }

    #[test]
    fn pinning_keeps_the_folder_and_the_words() {
        let command = pinned(make(Path::new("/tmp"), &["tune-lowlevel"]));
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words, ["-c", "0", "make", "tune-lowlevel"]);
        assert_eq!(command.get_current_dir(), Some(Path::new("/tmp")));
    }
}
