#!/bin/sh
# run.sh [wasm]: the crate of bindings/rust, with what Debian has of Rust, and nothing from
# elsewhere. Native: its tests and samples; the C library from its three places. `wasm`: a program
# in WebAssembly shares its locks with JavaScript.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/rust${1+-$1}
crates=/usr/share/cargo/registry
mkdir -p "$work/crate"
cd "$work"

# Debian's compiler, if it is there: it is the oldest that the crate promises to work with.
PATH=/usr/bin:$PATH
export CARGO_HOME="$work/home" CARGO_TARGET_DIR="$work/target"
export LOCKWORD_LAYOUT="$root/docs/layout.md"
cargo() {
    command cargo --offline --config 'source.crates-io.replace-with="debian"' \
        --config "source.debian.directory=\"$crates\"" "$@"
}

. "$root/test/check.sh"
tested() { # tested COMMAND...: counts the tests of Rust that have passed
    quietly "$@" || return 1
    passed=$((passed + $(awk '/^test result: ok/ { n += $4 } END { print n + 0 }' log)))
}

# What the published crate has, with the C library as one file. Copied only where it differs, so
# that cargo builds anew only what has changed.
node "$root/tools/amalgamation.js" "$work/amalgamation" >/dev/null
mkdir -p crate/csrc
update() { # update FROM TO
    cmp -s "$1" "$2" || cp "$1" "$2"
}
(cd "$root/bindings/rust" && find . -type f ! -path './csrc/*' ! -path './target/*') |
    while read -r file; do
        mkdir -p "crate/$(dirname "$file")"
        update "$root/bindings/rust/$file" "crate/$file"
    done
for name in lockword.c lockword.h; do
    update "amalgamation/$name" "crate/csrc/$name"
done

if [ "${1-}" = wasm ]; then
    # No core for wasm32 comes with atomics. A core that was compiled without them cannot be linked
    # to a shared memory.
    sources=/usr/src/rustc-$(rustc --version | cut -d ' ' -f 2)/library/core/src
    builtins=$(find $crates -maxdepth 1 -name 'compiler_builtins-0.1.*' | tail -n 1)
    sysroot=$work/sysroot
    library=$sysroot/lib/rustlib/wasm32-unknown-unknown/lib
    features="-C target-feature=+atomics,+bulk-memory,+mutable-globals"
    if [ ! -e "$library/libcompiler_builtins.rlib" ]; then
        mkdir -p "$library"
        export RUSTC_BOOTSTRAP=1
        core_rlib="$library/libcore.rlib"
        compile="rustc --target wasm32-unknown-unknown $features -C opt-level=2 -C panic=abort
            --crate-type rlib --cap-lints allow"
        check "core, with atomics" quietly $compile --edition 2021 --crate-name core \
            "$sources/lib.rs" -o "$core_rlib"
        check "its builtins" quietly $compile --edition 2015 --crate-name compiler_builtins \
            --cfg 'feature="compiler-builtins"' --cfg 'feature="mem"' \
            --extern "core=$core_rlib" "$builtins/src/lib.rs" \
            -o "$library/libcompiler_builtins.rlib"
        unset RUSTC_BOOTSTRAP
    fi
    mkdir -p program/src
    update "$here/wasm/Cargo.toml" program/Cargo.toml
    update "$here/wasm/src/lib.rs" program/src/lib.rs
    node "$root/tools/core/wasm.js" "$work/archive" >/dev/null
    export LOCKWORD_LIB_DIR="$work/archive"
    export RUSTFLAGS="--sysroot $sysroot $features -C linker=wasm-ld -C panic=abort
        -C link-arg=--shared-memory -C link-arg=--import-memory
        -C link-arg=--max-memory=67108864 -C link-arg=--export=__stack_pointer"
    RUSTFLAGS=$(echo "$RUSTFLAGS" | tr '\n' ' ')
    check "a program in WebAssembly" quietly cargo build --release --target wasm32-unknown-unknown \
        --manifest-path program/Cargo.toml
    check "shares its locks with JavaScript" quietly node "$here/wasm/run.js" \
        target/wasm32-unknown-unknown/release/lockword_wasm_program.wasm
    summary
    exit
fi

version=$(node -p "require('$root/package.json').version")
check "the crate has the library's version" grep -qx "version = \"$version\"" crate/Cargo.toml

# src/sys.rs has room for these.
sizes='#include "lockword.h"
_Static_assert(sizeof(lw_loop) <= 512 && sizeof(lw_request) <= 512, "Room is too small");
_Static_assert(_Alignof(lw_loop) <= 16 && _Alignof(lw_request) <= 16, "Room is not aligned");
_Static_assert(sizeof(void *) != 8 || (sizeof(lw_region_mutex) == 32 &&
    sizeof(lw_region_once) == 16 && sizeof(lw_region_permits) == 24 &&
    sizeof(lw_region_rwtable) == 56 && sizeof(struct lw_region_info) == 160), "other sizes");
_Static_assert(LW_ONCE_RUN == -1 && LW_REGION_NAME_MAX == 55 && LW_REGION_KINDS == 15 &&
    LW_REGION_RWTABLE == 14, "other numbers");'
sizes() {
    echo "$sizes" | cc -x c -fsyntax-only -Icrate/csrc -
}
check "what C and Rust share has the same sizes" quietly sizes

# Where there is an installed library, pkg-config would find it first.
export PKG_CONFIG_PATH="$work/none" PKG_CONFIG_LIBDIR="$work/none"
cd crate
check "the crate, with the C library that it compiles" tested cargo test
for _ in 1 2 3; do
    check "again, its tasks" tested cargo test --test tasks
done

built() { # built Fresh|Compiling: what cargo says of the crate
    cargo build -v >log 2>&1 && grep -q "$1 lockword" log
}
if [ -e "$root/build/gcc/liblockword.a" ]; then
    mkdir -p "$work/archive"
    cp "$root/build/gcc/liblockword.a" "$work/archive"
    LOCKWORD_LIB_DIR="$work/archive"
    export LOCKWORD_LIB_DIR
    rm -rf "$work/csrc"
    mv csrc "$work/csrc" # as in a checkout
    check "with the archive in LOCKWORD_LIB_DIR" quietly cargo run --example count
    quietly cargo build
    check "which is not built again" built Fresh
    touch "$work/archive/liblockword.a"
    check "until the archive changes" built Compiling
    unset LOCKWORD_LIB_DIR
    stage="$work/with spaces"
    cmake --install "$root/build/gcc" --prefix "$stage" >"$work/install.log"
    stage=$(dirname "$(find "$stage" -name lockword.pc)")
    LD_LIBRARY_PATH=$(dirname "$stage")
    export LD_LIBRARY_PATH PKG_CONFIG_LIBDIR="$stage"
    check "with the library that pkg-config finds" quietly cargo run --example count
    check "also its regions" tested cargo test --test region
    mv "$work/csrc" csrc
fi

cd "$work/crate"
package() {
    PKG_CONFIG_LIBDIR=$work/none cargo package --no-verify --allow-dirty --list >"$work/listed" &&
        grep -qx csrc/lockword.c "$work/listed" && ! grep -q tests "$work/listed"
}
check "the package has the C library" quietly package

summary
