//! OpenSSL 4 and Tongsuo, a fork of OpenSSL 3.5 with more of China's standards, from the sources inside the Rust packages `openssl-src` and
//! `tongsuo-src`, as shared libraries: so that they stand beside the OpenSSL that the system has.

use super::cargo_package::Package;
use super::{Extent, compiler, counted_step, make_directory, quiet_step, today, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::path::Path;

/// One of the two.
pub(super) struct OpenSsl {
    /// As peers are named here, and the folder below `target/peers`.
    name: &'static str,
    /// For people.
    title: &'static str,
    /// The Rust package and its version.
    package: (&'static str, &'static str),
    /// The folder of the source in it.
    source: &'static str,
    /// As distributions build it, without what only its own tests and its command line need. The 64-bit code for the NIST curves, and Tongsuo's
    /// for SM2's, is off unless asked for; a peer is measured at its best. The packages lack the scripts that link modules and shared
    /// libraries: the legacy algorithms come inside the library, and [`LINK`] does the rest.
    options: &'static [&'static str],
    /// The file that programs look for.
    library: &'static str,
}

pub(super) const OPENSSL_4: OpenSsl = OpenSsl {
    name: "openssl-4",
    title: "OpenSSL",
    package: ("openssl-src", "400.0.2"),
    source: "openssl",
    options: &["shared", "no-module", "enable-ec_nistp_64_gcc_128", "no-tests", "no-docs", "no-apps"],
    library: "libcrypto.so.4",
};

pub(super) const TONGSUO: OpenSsl = OpenSsl {
    name: "tongsuo",
    title: "Tongsuo",
    package: ("tongsuo-src", "850.1.1"),
    source: "tongsuo",
    options: &["shared", "no-module", "enable-ec_nistp_64_gcc_128", "enable-ec_sm2p_64_gcc_128", "no-tests", "no-apps"],
    library: "libcrypto.so.3",
};

/// OpenSSL's own linker flags on Linux: calls inside the library stay inside, and nothing unloads it.
const LINK: [&str; 3] = ["-shared", "-Wl,-Bsymbolic", "-Wl,-znodelete"];

impl OpenSsl {
    pub(super) fn build(&self, peers: &Path, extent: Extent) -> Result<(), Failure> {
        let Self { name, title, package: (package, version), source, options, library } = *self;
        let project = peers.join(format!("{name}-source"));
        let package = Package::fetch(&project, package, version)?;
        let version = package.library_version("")?.to_owned();
        let source = package.unpack(&project)?.join(source);
        let build = peers.join(name);
        make_directory(&build)?;
        let build = build.canonicalize().map_err(|error| format!("{}: {error}", build.display()))?;
        let source = source.canonicalize().map_err(|error| format!("{}: {error}", source.display()))?;

        let mut configure = program("perl");
        configure.arg(source.join("Configure")).args(options).current_dir(&build);
        // Its configuration file and modules would be looked for here; there are none, and none are needed.
        configure.arg(format!("--prefix={}", build.join("nowhere").display()));
        quiet_step(&format!("configuring {title}"), configure)?;
        if extent == Extent::Check {
            let mut goals = program("make");
            goals.args(["--dry-run", "build_generated", "libcrypto.a"]).current_dir(&build);
            return quiet_step(&format!("looking for {title}'s libcrypto"), goals).map(drop);
        }
        let make = |goal: &str| {
            let mut make = program("make");
            make.args(["-j2", goal]).current_dir(&build);
            make
        };
        quiet_step(&format!("generating {title}'s assembly and headers"), make("build_generated"))?;
        let mut plan = make("libcrypto.a");
        plan.arg("--dry-run");
        let said = quiet_step("counting what is to be compiled", plan)?;
        let objects = said.lines().filter(|line| compiles(line)).count();
        counted_step(&format!("compiling {title}'s libcrypto"), make("libcrypto.a"), objects, compiles)?;
        let mut link = program("cc");
        link.args(LINK).arg(format!("-Wl,-soname,{library}")).args(["-o", library]);
        link.args(["-Wl,--whole-archive", "libcrypto.a", "-Wl,--no-whole-archive"]);
        link.args(["-ldl", "-pthread"]).current_dir(&build);
        quiet_step(&format!("linking {library}"), link)?;

        // The library tells its compiler's flags itself, but not its options nor where the source is from.
        let told = format!("{}; {}; Configure {}; built {}", package.id(), compiler(), options.join(" "), today());
        write_provenance(&build, &[("commit", &told)])?;
        println!("{title} {version} is in {}", build.display());
        Ok(())
    }
}

/// Whether a line of make's compiles an object.
fn compiles(line: &str) -> bool {
    line.contains(" -c ")
}
