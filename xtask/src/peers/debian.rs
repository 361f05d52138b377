//! Debian's source packages and libraries, fetched without touching the system: apt with lists and caches of its own, which
//! checks signatures as it always does.

use super::{make_directory, quiet_step, write};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Lists this young are not fetched again.
const FRESH: Duration = Duration::from_secs(3600);

/// A release of Debian besides the system's own.
#[derive(Clone, Copy)]
pub(crate) struct Release<'a> {
    /// `trixie`.
    pub(crate) suite: &'a str,
    /// The only architecture that is wanted of it.
    pub(crate) architecture: &'a str,
    /// Whether its source packages are wanted too.
    pub(crate) with_sources: bool,
}

/// apt, working in a folder.
pub(crate) struct Apt<'a> {
    at: &'a Path,
    /// Its lists and caches, beside `at`: the recipes of one folder share them.
    state: PathBuf,
    foreign: Vec<&'a str>,
}

impl<'a> Apt<'a> {
    /// apt in the folder `at`, with fresh lists of the system's own Debian sources.
    pub(crate) fn at(at: &'a Path) -> Result<Self, Failure> {
        Self::with(at, None, &[])
    }

    /// The same with one more release from the same archive, and with packages of other architectures beside the system's.
    pub(crate) fn with(at: &'a Path, release: Option<Release<'_>>, foreign: &[&'a str]) -> Result<Self, Failure> {
        let state = at.parent().unwrap_or(at).join("apt");
        for folder in ["lists/partial", "cache/archives/partial"] {
            make_directory(&state.join(folder))?;
        }
        let apt = Self { at, state, foreign: foreign.to_vec() };
        let (file, wanted) = (apt.state.join("debian.sources"), sources(&system_sources(), release)?);
        if !apt.is_fresh(&wanted) {
            write(&file, &wanted)?;
            let mut update = apt.command("apt-get");
            update.arg("update");
            if let Err(why) = quiet_step("fetching Debian's lists", update) {
                let _ = fs::remove_file(&file);
                return Err(why);
            }
        }
        Ok(apt)
    }

    /// Whether the lists of these sources were fetched within the last hour.
    fn is_fresh(&self, sources: &str) -> bool {
        let file = self.state.join("debian.sources");
        let age = fs::metadata(&file).ok().and_then(|data| data.modified().ok()).and_then(|time| time.elapsed().ok());
        age.is_some_and(|age| age < FRESH) && fs::read_to_string(&file).is_ok_and(|text| text == sources)
    }

    /// One of apt's tools.
    pub(crate) fn command(&self, tool: &str) -> Command {
        let mut command = program(tool);
        for (option, path) in [
            ("Dir::Etc::sourcelist", self.state.join("debian.sources")),
            ("Dir::Etc::sourceparts", PathBuf::from("/dev/null")),
            ("Dir::State::lists", self.state.join("lists")),
            ("Dir::Cache", self.state.join("cache")),
        ] {
            command.arg("-o").arg(format!("{option}={}", path.display()));
        }
        for architecture in &self.foreign {
            command.args(["-o", &format!("APT::Architectures::={architecture}")]);
        }
        // The folder may not be open to the user that apt would otherwise fetch as.
        command.args(["-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2"]).current_dir(self.at);
        command
    }

    /// Fetches a source package (`tor`, `gf2x=1.3.0-2`) into the folder.
    pub(super) fn source(&self, package: &str) -> Result<(), Failure> {
        let mut source = self.command("apt-get");
        source.args(["source", "--download-only", package]);
        quiet_step(&format!("fetching the source package {package}"), source).map(drop)
    }

    /// Fetches and unpacks a package and those of its libraries that the system lacks, down to the last. Says its version.
    pub(crate) fn unpack_with_libraries(&self, package: &str, root: &Path) -> Result<String, Failure> {
        let mut depends = self.command("apt-cache");
        depends.args(["depends", "--recurse", "--important", package]);
        let said = quiet_step(&format!("asking what {package} depends on"), depends)?;
        let missing = libraries(&said).into_iter().filter(|name| name != package && !crate::install::installed(name));
        for library in missing {
            self.unpack(&library, root)?;
        }
        self.unpack(package, root)?;
        let mut policy = self.command("apt-cache");
        policy.args(["policy", package]);
        let said = quiet_step(&format!("asking for the version of {package}"), policy)?;
        let version = said.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        version.map(str::to_owned).ok_or_else(|| format!("apt knows no version of {package}"))
    }

    /// Fetches a binary package (`libgf2x3=1.3.0-2`, `libgf2x3:arm64`) into the folder and unpacks it below `root`.
    pub(crate) fn unpack(&self, package: &str, root: &Path) -> Result<(), Failure> {
        let mut download = self.command("apt-get");
        download.args(["download", package]);
        quiet_step(&format!("fetching {package}"), download)?;
        let package = package.split(['=', '/']).next().unwrap_or(package);
        let (name, architecture) = package.split_once(':').unwrap_or((package, ""));
        let (start, end) = (format!("{name}_"), format!("{architecture}.deb"));
        let found = entries(self.at, |file| file.starts_with(&start) && file.ends_with(&end))?;
        let file = found.last().ok_or_else(|| format!("apt fetched no {start}…{end}"))?;
        let mut unpack = program("dpkg");
        unpack.arg("-x").arg(file).arg(root);
        quiet_step(&format!("unpacking {}", file.display()), unpack).map(drop)
    }
}

/// The libraries among the packages that `apt-cache depends --recurse` lists: each stands alone at the margin.
fn libraries(depends: &str) -> Vec<String> {
    let at_the_margin = depends.lines().filter(|line| !line.starts_with([' ', '<', '|']));
    at_the_margin.filter(|name| name.starts_with("lib") || *name == "zlib1g").map(str::to_owned).collect()
}

/// The files that name the system's package sources.
fn system_sources() -> Vec<(String, String)> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    files.extend(entries(Path::new("/etc/apt/sources.list.d"), |_| true).unwrap_or_default());
    let read = |file: PathBuf| Some((file.display().to_string(), fs::read_to_string(file).ok()?));
    files.into_iter().filter_map(read).collect()
}

/// One of the system's package sources.
struct Source {
    uris: String,
    suites: String,
    components: String,
    /// A keyring's path, or nothing where apt's own keys serve.
    signed_by: Option<String>,
}

impl Source {
    /// Whether the source is an archive of Debian. Mirrors have any host name; what they share is the archive's layout.
    fn is_debian(&self) -> bool {
        let signed = self.signed_by.as_deref().is_some_and(|keys| keys.contains("debian-archive-keyring"));
        signed || self.uris.split_whitespace().any(|uri| matches!(folder(uri), "debian" | "debian-security"))
    }

    /// The stanza for apt, with source packages.
    fn stanza(&self) -> String {
        let keys = self.signed_by.as_ref().map_or_else(String::new, |keys| format!("Signed-By: {keys}\n"));
        let Self { uris, suites, components, .. } = self;
        format!("Types: deb deb-src\nURIs: {uris}\nSuites: {suites}\nComponents: {components}\n{keys}")
    }

    /// A stanza of a `.sources` file, if it is in use and lists binary packages.
    fn from_stanza(stanza: &str) -> Option<Self> {
        let field = |name: &str| {
            let value = stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(|value| value.trim().to_owned())
        };
        let in_use = field("Enabled").as_deref() != Some("no");
        let binary = field("Types")?.split_whitespace().any(|kind| kind == "deb");
        (in_use && binary).then_some(())?;
        let components = field("Components").unwrap_or_default();
        Some(Self { uris: field("URIs")?, suites: field("Suites")?, components, signed_by: field("Signed-By") })
    }

    /// A line of a `.list` file: `deb [options] URI suite component…`.
    fn from_line(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("deb ")?.trim_start();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
        let mut words = rest.split_whitespace();
        let (uris, suites) = (words.next()?.to_owned(), words.next()?.to_owned());
        let components = words.collect::<Vec<_>>().join(" ");
        Some(Self { uris, suites, components, signed_by: signed_by.map(str::to_owned) })
    }
}

/// The last folder of a URI.
fn folder(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// The system's Debian sources with source packages, and the further release from the same archive.
fn sources(files: &[(String, String)], release: Option<Release<'_>>) -> Result<String, Failure> {
    let mut found = Vec::new();
    for (name, text) in files {
        if name.ends_with(".sources") {
            found.extend(text.split("\n\n").filter_map(Source::from_stanza));
        } else if name.ends_with(".list") {
            found.extend(text.lines().filter_map(Source::from_line));
        }
    }
    found.retain(Source::is_debian);
    let archive = found.iter().find(|source| source.uris.split_whitespace().any(|uri| folder(uri) == "debian"));
    let archive = archive.or(found.first()).ok_or(
        "this system has no Debian package sources; the peer is built from Debian's source package, so build it on Debian",
    )?;
    let mut stanzas: Vec<String> = found.iter().map(Source::stanza).collect();
    if let Some(Release { suite, architecture, with_sources }) = release {
        let types = if with_sources { "deb deb-src" } else { "deb" };
        let Source { uris, signed_by, .. } = archive;
        let keys = signed_by.as_ref().map_or_else(String::new, |keys| format!("Signed-By: {keys}\n"));
        stanzas.push(format!(
            "Types: {types}\nURIs: {uris}\nSuites: {suite}\nComponents: main\nArchitectures: {architecture}\n{keys}"
        ));
    }
    Ok(stanzas.join("\n"))
}

/// Entries of a folder whose name `take` wants, sorted.
pub(crate) fn entries(folder: &Path, take: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = listed.flatten().map(|entry| entry.path());
    let mut wanted: Vec<_> =
        paths.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(&take)).collect();
    wanted.sort();
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `.sources` file with Debian and something else, and a `.list` file with a mirror of Debian and something else.
    fn files() -> [(String, String); 2] {
        let stanzas = "Types: deb\n# a comment\nURIs: http://one.example/debian\nSuites: bookworm\nComponents: main\n\
            Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n\
            Types: deb\nURIs: https://two.example/node\nSuites: nodistro\nComponents: main\n";
        let lines = "deb [arch=amd64 signed-by=/k.gpg] http://three.example/debian trixie main contrib\n\
            deb-src http://three.example/debian trixie main\ndeb https://four.example/apt stable main\n";
        [("a.sources".to_owned(), stanzas.to_owned()), ("sources.list".to_owned(), lines.to_owned())]
    }

    #[test]
    fn both_forms_of_package_sources_are_understood() {
        let made = sources(&files(), None).unwrap();
        assert_eq!(made.matches("Types: deb deb-src").count(), 2, "{made}");
        assert!(made.contains(
            "URIs: http://three.example/debian\nSuites: trixie\nComponents: main contrib\nSigned-By: /k.gpg"
        ));
        assert!(!made.contains("two.example") && !made.contains("four.example"), "{made}");
        assert!(sources(&[], None).is_err());
    }

    #[test]
    fn libraries_are_taken_from_the_margin() {
        let said = "tor\n  Depends: libevent-2.1-7\n |Depends: adduser\n  PreDepends: <dpkg>\nlibevent-2.1-7\n  Depends: libc6\n<virtual>\n\
            adduser\nlibc6\nzlib1g\n";
        assert_eq!(libraries(said), ["libevent-2.1-7", "libc6", "zlib1g"]);
    }

    #[test]
    fn another_release_comes_from_the_same_archive() {
        let release = Release { suite: "trixie", architecture: "riscv64", with_sources: false };
        let made = sources(&files()[..1], Some(release)).unwrap();
        let last = made.split("\n\n").last().unwrap();
        assert!(last.contains("URIs: http://one.example/debian\nSuites: trixie\n"), "{made}");
        assert!(
            last.contains("Architectures: riscv64\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg"),
            "{made}"
        );
        assert!(last.starts_with("Types: deb\n"), "{made}");
        let made = sources(&files()[..1], Some(Release { with_sources: true, ..release })).unwrap();
        assert!(made.split("\n\n").last().unwrap().starts_with("Types: deb deb-src\n"), "{made}");
    }

    #[test]
    fn a_source_that_is_switched_off_is_left_out() {
        let off = files()[0].1.replacen("Types: deb\n", "Types: deb\nEnabled: no\n", 1);
        assert!(sources(&[("a.sources".to_owned(), off)], None).is_err());
    }
}
