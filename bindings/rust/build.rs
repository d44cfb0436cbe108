//! Finds the C library, or compiles it. README.md, 'Building', says where it looks, in which order.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=LOCKWORD_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_LIBDIR");
    println!("cargo:rerun-if-env-changed=CC");
    println!("cargo:rerun-if-changed=build.rs");
    if let Some(folder) = env::var_os("LOCKWORD_LIB_DIR") {
        let folder = Path::new(&folder);
        println!("cargo:rerun-if-changed={}", folder.join("liblockword.a").display());
        return link_static(folder);
    }
    let source = Path::new("csrc/lockword.c");
    let is_wasm = env::var("CARGO_CFG_TARGET_FAMILY").as_deref() == Ok("wasm");
    if !is_wasm && env::var("HOST") == env::var("TARGET") && link_installed() {
        return;
    }
    if is_wasm || !source.exists() {
        panic!(
            "lockword: set LOCKWORD_LIB_DIR to the folder of liblockword.a (for wasm32, that of \
             the npm package: node_modules/lockword/wasm), or install the C library so that \
             `pkg-config lockword` finds it, or, in a checkout of lockword, write it into the \
             crate's folder by `node tools/amalgamation.js bindings/rust/csrc`"
        );
    }
    compile(source);
}

fn link_static(folder: &Path) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static=lockword");
}

/// Links what pkg-config finds: any 0.2, since a minor version may change what the crate relies on.
fn link_installed() -> bool {
    let mut command = Command::new("pkg-config");
    command.args(["--libs-only-L", "--keep-system-libs", "lockword >= 0.2", "lockword < 0.3"]);
    let output = match command.output() {
        Ok(output) if output.status.success() => output,
        _ => return false,
    };
    for flag in words(&String::from_utf8_lossy(&output.stdout)) {
        println!("cargo:rustc-link-search=native={}", flag.trim_start_matches("-L"));
    }
    println!("cargo:rustc-link-lib=lockword");
    true
}

/// The words of what pkg-config prints, which puts a backslash before a space in a path.
fn words(printed: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = printed.chars();
    while let Some(character) = characters.next() {
        let last = words.len() - 1;
        match character {
            '\\' => words[last].extend(characters.next()),
            _ if character.is_whitespace() => words.push(String::new()),
            _ => words[last].push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Compiles the one-file build of the library by the system's C compiler.
fn compile(source: &Path) {
    println!("cargo:rerun-if-changed=csrc"); // cargo builds anew each time if it is missing
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let object = folder.join("lockword.o");
    let archive = folder.join("liblockword.a");
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut words = cc.split_whitespace();
    let mut compiler = Command::new(words.next().unwrap_or("cc"));
    run(compiler
        .args(words)
        .args(["-std=c11", "-O2", "-fPIC", "-c"])
        .arg(source)
        .arg("-o")
        .arg(&object));
    let _ = std::fs::remove_file(&archive); // `ar` would add to it
    run(Command::new("ar").arg("rcs").arg(&archive).arg(&object));
    link_static(&folder);
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("lockword: {:?} failed: {}", command, status),
        Err(error) => panic!("lockword: {:?} cannot run: {}", command, error),
    }
}
