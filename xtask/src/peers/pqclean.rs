//! PQClean's C: Classic McEliece on AVX2, and HQC of round 4, from the source inside the Rust packages `pqcrypto-…`. Each becomes a shared
//! library, so that no build of candor compiles them.
//!
//! HQC is compiled at every level of optimisation, and each of those with four ways of multiplying in GF(2⁸): the matrix of document 004. The
//! packages have left out HQC on AVX2. It was finished in one commit of PQClean's; where `CANDOR_PQCLEAN` names a git repository that has that
//! commit, it is built as well.

use super::cargo_package::Package;
use super::debian::entries;
use super::{Extent, compiler, expect_in, make_directory, quiet_step, randomness, today, write, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::{Path, PathBuf};

const MCELIECE: (&str, &str) = ("pqcrypto-classicmceliece", "0.2.1");
const HQC: (&str, &str) = ("pqcrypto-hqc", "0.2.2");
const HQC_LEVELS: [&str; 3] = ["hqc-128", "hqc-192", "hqc-256"];

/// As the package builds it.
const AVX2: [&str; 7] = ["-O3", "-mavx2", "-mbmi2", "-mbmi", "-maes", "-mpopcnt", "-mpclmul"];

/// The commit that has round-4 HQC on AVX2, and the SHA-1 of its folders.
const COMMIT: &str = "31bf2fbbf299dc1da6d7ea40cc1d6edebb207295";
const REPOSITORY: &str = "CANDOR_PQCLEAN";
/// What keeps that commit from compiling, in a function that nothing calls: a line's end inside a string.
const BROKEN: &str = "printf(\"\n           \")";
/// And where it draws randomness: from a generator that its test program seeds.
const OWN_RANDOMNESS: &str = "shake256_inc_squeeze(output, outlen, &shake_prng_state)";

/// The functions that replace parts of PQClean's `gf.c`.
const FIELD: &str = include_str!("shims/hqc_field.h");
const OLD_REDUCTION: &str = "static uint16_t gf_reduce(uint64_t x, size_t deg_x) {";

/// A way to multiply in GF(2⁸).
struct Field {
    /// In the variant's name.
    name: &'static str,
    what: &'static str,
    /// The function of [`FIELD`] in place of PQClean's reduction.
    reduction: Option<&'static str>,
    /// Whether a product is one carry-less multiplication.
    clmul: bool,
}

const FIELDS: [Field; 4] = [
    Field { name: "", what: "PQClean's loop over the taps", reduction: None, clmul: false },
    Field { name: "-taps", what: "two folds by fixed taps", reduction: Some("by_folds"), clmul: false },
    Field { name: "-new", what: "document 004's reduction", reduction: Some("by_feedback"), clmul: false },
    Field {
        name: "-new-clmul",
        what: "document 004's reduction after PCLMULQDQ",
        reduction: Some("by_feedback"),
        clmul: true,
    },
];

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let source = peers.join("pqclean-source");
    let mceliece = Source::fetch(&source, MCELIECE)?;
    let hqc = Source::fetch(&source, HQC)?;
    let sets = entries(&mceliece.kems(), |name| name.starts_with("mceliece"))?;
    if sets.len() != 10 {
        return Err(format!("{} {} has {} sets of Classic McEliece, not 10", MCELIECE.0, MCELIECE.1, sets.len()));
    }
    for level in HQC_LEVELS {
        changed(&hqc, level, &FIELDS[3])?;
    }
    if extent == Extent::Check {
        return Ok(());
    }
    let parts: Vec<Part> = sets.iter().map(|set| Part::of(&set.join("avx2"), None)).collect::<Result<_, _>>()?;
    let library =
        Library { name: "pqclean-mceliece-avx2", variant: "avx2", arm: "AVX2, fixed when it was built", what: "" };
    library.build(peers, &mceliece.common(), &AVX2, &parts, MCELIECE.1, &mceliece.id)?;

    for level in 0..4 {
        for field in &FIELDS {
            let variant = format!("O{level}{}", field.name);
            let name = format!("pqclean-hqc-{variant}");
            let parts: Vec<Part> = HQC_LEVELS
                .into_iter()
                .map(|set| Part::of(&hqc.kems().join(set).join("clean"), changed(&hqc, set, field)?))
                .collect::<Result<_, _>>()?;
            let optimise = format!("-O{level}");
            let flags: &[&str] = if field.clmul { &[&optimise, "-mpclmul"] } else { &[&optimise] };
            let arm = if field.clmul { "PCLMULQDQ in GF(2^8), the rest portable C" } else { "portable C" };
            let library = Library { name: &name, variant: &variant, arm, what: field.what };
            library.build(peers, &hqc.common(), flags, &parts, HQC.1, &hqc.id)?;
        }
    }
    match std::env::var_os(REPOSITORY) {
        Some(repository) => hqc_on_avx2(peers, Path::new(&repository)),
        None => {
            println!(
                "without round-4 HQC on AVX2, which no package has: {REPOSITORY} may name a git repository with PQClean's {COMMIT}"
            );
            Ok(())
        }
    }
}

/// Round-4 HQC on AVX2, from a git repository.
fn hqc_on_avx2(peers: &Path, repository: &Path) -> Result<(), Failure> {
    let source = peers.join("pqclean-source/git");
    let _ = fs::remove_dir_all(&source);
    make_directory(&source)?;
    // git names content by its digest: what is archived is that commit's.
    let archive = source.join("archive.tar");
    let mut export = program("git");
    export.arg("-C").arg(repository).args(["archive", "--output"]).arg(&archive).arg(COMMIT).arg("common");
    export.args(HQC_LEVELS.map(|level| format!("crypto_kem/{level}/avx2")));
    quiet_step("taking HQC on AVX2 out of the git repository", export)?;
    let mut unpack = program("tar");
    unpack.arg("xf").arg(&archive).arg("-C").arg(&source);
    quiet_step("unpacking it", unpack)?;
    let part = |level| {
        let folder = source.join("crypto_kem").join(level).join("avx2");
        let with = |name, old: &str, new: &str| {
            let file = folder.join(name);
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            expect_in(&format!("PQClean's {name} on AVX2"), &text, &[old])?;
            Ok::<_, Failure>((name, text.replace(old, new)))
        };
        let compiles = with("reed_solomon.c", BROKEN, "printf(\"\\n\")")?;
        let given = with(
            "shake_prng.c",
            OWN_RANDOMNESS,
            "int PQCLEAN_randombytes();\n    PQCLEAN_randombytes(output, (__SIZE_TYPE__)outlen)",
        )?;
        Part::of(&folder, [compiles, given])
    };
    let parts: Vec<Part> = HQC_LEVELS.into_iter().map(part).collect::<Result<_, _>>()?;
    let arm = "AVX2 and PCLMULQDQ, fixed when it was built";
    let library = Library { name: "pqclean-hqc-avx2", variant: "avx2", arm, what: "" };
    let id = format!("PQClean, commit {COMMIT}");
    library.build(peers, &source.join("common"), &["-O3", "-mavx2", "-mbmi", "-mpclmul"], &parts, &COMMIT[..8], &id)
}

/// PQClean inside a package.
struct Source {
    folder: PathBuf,
    id: String,
}

impl Source {
    fn fetch(at: &Path, (name, version): (&str, &str)) -> Result<Self, Failure> {
        let package = Package::fetch(&at.join(name), name, version)?;
        let folder = package.unpack(&at.join(name))?.join("pqclean");
        Ok(Self { folder, id: package.id() })
    }

    fn kems(&self) -> PathBuf {
        self.folder.join("crypto_kem")
    }

    fn common(&self) -> PathBuf {
        self.folder.join("common")
    }
}

/// `gf.c` of an HQC with another way to multiply; nothing where it stays as it is.
fn changed(hqc: &Source, level: &str, field: &Field) -> Result<Option<(&'static str, String)>, Failure> {
    let Some(reduction) = field.reduction else { return Ok(None) };
    let file = hqc.kems().join(level).join("clean/gf.c");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let product =
        format!("uint16_t PQCLEAN_{}_CLEAN_gf_mul(uint16_t a, uint16_t b) {{", level.to_uppercase().replace('-', ""));
    expect_in("PQClean's gf.c", &text, &[OLD_REDUCTION, &product])?;
    let mut text = text.replace(
        OLD_REDUCTION,
        &format!("#define gf_reduce(x, degree) {reduction}(x)\n__attribute__((unused)) static uint16_t by_loop(uint64_t x, size_t deg_x) {{"),
    );
    if field.clmul {
        let old = "__attribute__((unused)) static uint16_t by_table(uint16_t a, uint16_t b) {";
        text = text.replace(&product, &format!("{product}\n    return by_clmul(a, b);\n}}\n{old}"));
    }
    Ok(Some(("gf.c", format!("{FIELD}\n{text}"))))
}

/// One scheme's C.
struct Part {
    folder: PathBuf,
    /// Files with other contents.
    changed: Vec<(&'static str, String)>,
}

impl Part {
    fn of(folder: &Path, changed: impl IntoIterator<Item = (&'static str, String)>) -> Result<Self, Failure> {
        match folder.is_dir() {
            true => Ok(Self { folder: folder.to_owned(), changed: changed.into_iter().collect() }),
            false => Err(format!("the source has no {}", folder.display())),
        }
    }
}

/// A shared library to be.
struct Library<'a> {
    /// Of its folder.
    name: &'a str,
    variant: &'a str,
    arm: &'a str,
    /// What it does otherwise than its authors.
    what: &'a str,
}

impl Library<'_> {
    /// Compiles the parts and what they share, and links them.
    fn build(
        &self,
        peers: &Path,
        common: &Path,
        flags: &[&str],
        parts: &[Part],
        version: &str,
        id: &str,
    ) -> Result<(), Failure> {
        let at = peers.join(self.name);
        let objects = at.join("objects");
        let _ = fs::remove_dir_all(&at);
        make_directory(&objects)?;
        let stem = self.name.rsplit_once('-').map_or(self.name, |(stem, _)| stem);
        let family = if stem.starts_with("pqclean-hqc") { "hqc" } else { "mceliece" };
        let mut all = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let to = objects.join(number.to_string());
            make_directory(&to)?;
            let mut files = entries(&part.folder, |name| name.ends_with(".c") || name.ends_with(".S"))?;
            for (name, text) in &part.changed {
                files.retain(|file| !file.ends_with(name));
                write(&to.join(name), text)?;
                files.push(to.join(name));
            }
            compile(&part.folder, common, flags, &files, &to)?;
            all.push(merge(&to)?);
        }
        let shared = objects.join("common");
        make_directory(&shared)?;
        let mut files: Vec<PathBuf> = ["fips202.c", "aes.c", "sha2.c"].map(|file| common.join(file)).into();
        files.push(randomness::source(&at)?);
        compile(common, common, flags, &files, &shared)?;
        all.extend(entries(&shared, |name| name.ends_with(".o"))?);

        let file = format!("libcandor-pqclean-{family}.so.1");
        let mut link = program("cc");
        link.args(["-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-o"]).arg(at.join(&file));
        link.args(all);
        quiet_step(&format!("linking {file} in {}", self.name), link)?;
        let changed =
            if self.what.is_empty() { String::new() } else { format!("; products in GF(2^8) by {}", self.what) };
        let told = format!("{}, {}{changed}, on {}", compiler(), flags.join(" "), today());
        let fields =
            [("variant", self.variant), ("version", version), ("commit", id), ("build", &told), ("arm", self.arm)];
        write_provenance(&at, &fields)?;
        println!("{} is in {}", self.name, at.display());
        Ok(())
    }
}

/// Makes one object of those in a folder, in which only what belongs to PQClean's interface can be seen: its sets on AVX2 have variables and functions of
/// the same names.
fn merge(folder: &Path) -> Result<PathBuf, Failure> {
    let merged = folder.with_extension("o");
    let mut link = program("cc");
    link.args(["-r", "-nostdlib", "-o"]).arg(&merged).args(entries(folder, |name| name.ends_with(".o"))?);
    quiet_step("merging its objects", link)?;
    let mut hide = program("objcopy");
    hide.args(["--wildcard", "--keep-global-symbol=PQCLEAN_*"]).arg(&merged);
    quiet_step("hiding their names", hide)?;
    Ok(merged)
}

/// Compiles files to objects in `to`.
fn compile(include: &Path, common: &Path, flags: &[&str], files: &[PathBuf], to: &Path) -> Result<(), Failure> {
    let mut compile = program("cc");
    compile
        .args(flags)
        .args(["-fPIC", "-w", "-c", "-I"])
        .arg(include)
        .arg("-I")
        .arg(common)
        .args(files)
        .current_dir(to);
    quiet_step(
        &format!("compiling {}", include.strip_prefix(common.parent().unwrap_or(common)).unwrap_or(include).display()),
        compile,
    )
    .map(drop)
}
