//! Compiles three copies of one C kernel, for the self-test of code layout.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    compile_layout_kernels(&out);
    println!("cargo:rerun-if-changed=build.rs");
}

/// The same C file three times: two static copies under different names and a shared object, all with the same flags.
fn compile_layout_kernels(out: &Path) {
    let source = "src/ffi/layout.c";
    println!("cargo:rerun-if-changed={source}");
    let build = || {
        let mut build = cc::Build::new();
        // The level is fixed: what is compared is layout, in debug builds as well.
        build.opt_level(2).pic(true).debug(false).warnings(true);
        build
    };
    for copy in ["candor_layout_a", "candor_layout_b"] {
        build().file(source).define("CANDOR_KERNEL", copy).compile(copy);
    }
    let object = out.join("candor_layout.so");
    let compiler = build().define("CANDOR_KERNEL", "candor_layout_shared").get_compiler();
    let made = compiler.to_command().arg("-shared").arg("-o").arg(&object).arg(source).status();
    if !made.is_ok_and(|status| status.success()) {
        // Not every target can: an empty file makes the self-test refuse that one subject.
        println!("cargo:warning=no shared object for the layout self-test: the C compiler refused -shared");
        fs::write(&object, []).expect("OUT_DIR is writable");
    }
    let flags: Vec<_> = compiler.args().iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let flags = flags.into_iter().filter(|flag| !flag.contains("CANDOR_KERNEL")).collect::<Vec<_>>().join(" ");
    let facts = BTreeMap::from([("CC", compiler.path().display().to_string()), ("FLAGS", flags)]);
    for (name, value) in facts {
        println!("cargo:rustc-env=CANDOR_LAYOUT_{name}={value}");
    }
}
