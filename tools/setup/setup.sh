#!/bin/sh
# setup.sh [bench|everywhere|site]: provides what the Makefile's commands need. As root on Debian it
# installs what is missing; anywhere else it says what to install, and fails, unless only such
# things are missing that tests leave out. Fast when nothing is missing.
set -eu
self=$(realpath "$0")
cd "$(dirname "$self")/../.."

# Whether npm has installed exactly what this folder's lock file names.
installed() {
    [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]
}

folders=". test/runtimes test/package"
if [ "${1-}" = site ] || [ "${1-}" = everywhere ]; then
    folders="$folders tools/site"
elif [ "${1-}" = bench ]; then
    folders="$folders bench/node"
fi
all_installed() {
    for dir in $folders; do
        installed "$dir" || return 1
    done
}

stamp=build/setup${1:+-$1}.stamp
fresh() {
    [ -e "$stamp" ] && [ "$stamp" -nt "$self" ] && all_installed
}
if fresh; then
    exit 0
fi

have() {
    command -v "$1" >/dev/null 2>&1
}

header() {
    [ -n "$(find /usr/include /usr/local/include -path "*/$1" -print -quit 2>/dev/null)" ]
}

crate() {
    ls -d /usr/share/cargo/registry/"$1"-[0-9]* >/dev/null 2>&1
}

rust_core() {
    ls -d /usr/src/rustc-*/library/core >/dev/null 2>&1
}

have_postgres() { # which Debian keeps out of PATH
    have initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

missing=
need() { # need PACKAGES CHECK...: they are missing if the check fails
    packages=$1
    shift
    "$@" || missing="$missing $packages"
}

need "gcc libc6-dev" have gcc
need g++ have g++
need make have make
need clang have clang
need clang-format have clang-format
need cppcheck have cppcheck
need cmake have cmake
need ninja-build have ninja
need pkg-config have pkg-config
need libcmocka-dev header cmocka.h
need relacy-dev header relacy/relacy.hpp
need "nodejs npm" have npm
need ca-certificates test -e /etc/ssl/certs/ca-certificates.crt
if [ "${1-}" = bench ]; then
    need libnsync-dev header nsync.h
    need libabsl-dev header absl/synchronization/mutex.h
    need libboost-dev header boost/interprocess/sync/interprocess_mutex.hpp
    need cargo have cargo
    need librust-parking-lot-dev crate parking_lot
    need librust-tokio-dev crate tokio
    need libuv1-dev header uv.h
    need libcjson-dev header cjson/cJSON.h
    need libcurl4-openssl-dev header curl/curl.h
    need etcd-server have etcd
    need redis-server have redis-server
    need postgresql have_postgres
elif [ "${1-}" = site ]; then
    need mandoc have mandoc
fi

optional=
want() { # want PACKAGE CHECK...: tests leave out what needs it
    package=$1
    shift
    "$@" || optional="$optional $package"
}
emulated() { # emulated PROCESSOR TRIPLET ARCHITECTURE: a C library for another processor, for clang
    want qemu-user have "qemu-$1"
    want "binutils-$2" have "$2-ld"
    want "libc6-dev-$3-cross" test -e "/usr/$2/lib/libc.a"
    want "libgcc-$gcc-dev-$3-cross" test -e "/usr/lib/gcc-cross/$2/$gcc/libgcc.a"
}
gcc=$(gcc -dumpversion 2>/dev/null ||
    apt-cache depends gcc 2>/dev/null | sed -n 's/.*Depends: gcc-\([0-9]*\)$/\1/p')
gcc=${gcc%%.*}
if [ "${1-}" = everywhere ]; then
    want g++-mingw-w64-x86-64-posix have x86_64-w64-mingw32-g++-posix
    want wine64 test -e /usr/lib/wine/wine64
    want debhelper have dh
    want dpkg-dev have dpkg-buildpackage
    want lld have wasm-ld
    want mandoc have mandoc
    # Debian's sources of Rust's core are for Debian's compiler.
    want rustc test -x /usr/bin/rustc
    want cargo test -x /usr/bin/cargo
    want rust-src rust_core
    want librust-compiler-builtins-dev crate compiler_builtins
    emulated arm arm-linux-gnueabihf armhf
    emulated riscv64 riscv64-linux-gnu riscv64
    emulated s390x s390x-linux-gnu s390x
elif [ -z "${1-}" ]; then
    want chromium have chromium
    want firefox-esr have firefox-esr
    want webkit2gtk-driver have WebKitWebDriver
    want xvfb have Xvfb
    want python3 have python3
    want rustc have rustc
    want cargo have cargo
    want librust-lock-api-dev crate lock_api
    want valgrind have valgrind
    want meson have meson
    want musl-tools have musl-gcc
    want libuv1-dev header uv.h
    want libcjson-dev header cjson/cJSON.h
    want libncurses-dev header curses.h
    want libcurl4-openssl-dev header curl/curl.h
    want etcd-server have etcd
    want iproute2 have ip
    want tmux have tmux
    if [ "$(uname -m)" = x86_64 ]; then
        want gcc-multilib header gnu/stubs-32.h
        emulated aarch64 aarch64-linux-gnu arm64
    fi
fi

may_install() {
    [ "$(id -u)" = 0 ] && have apt-get
}

export DEBIAN_FRONTEND=noninteractive
if [ -n "$missing$optional" ] && may_install; then
    apt-get update -qq
fi

if [ -n "$missing" ]; then
    if ! may_install; then
        echo "lockword needs these Debian packages, or what they contain:"
        echo
        echo "   $missing"
        echo
        if have apt-get; then
            echo "As root: apt-get install --no-install-recommends$missing"
        fi
        exit 1
    fi
    echo "Installing$missing"
    # shellcheck disable=SC2086 # a list
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

install_optional() {
    if ! may_install; then
        echo "Tests will leave out what needs one of these. As root on Debian:"
        echo "apt-get install --no-install-recommends$optional"
        return
    fi
    known=
    for package in $optional; do # one that this Debian does not have would keep out all
        apt-cache show "$package" >/dev/null 2>&1 && known="$known $package"
    done
    echo "Installing$known"
    # shellcheck disable=SC2086 # a list
    apt-get install -y -qq --no-install-recommends --no-remove \
        -o Dpkg::Options::=--force-unsafe-io $known >/dev/null ||
        echo "Tests will leave out what needs something that could not be installed."
}
if [ -n "$optional" ]; then
    install_optional & # npm works beside it
fi

installing=
for dir in $folders; do # at once: npm waits for the registry most of the time
    if ! installed "$dir"; then
        echo "Installing what $dir/package-lock.json names"
        npm ci --prefix "$dir" --no-audit --no-fund --loglevel=error &
        installing="$installing $!"
    fi
done
failed=
for process in $installing; do
    wait "$process" || failed=1
done
wait
if [ -n "$failed" ]; then
    echo "npm could not install all of that. The first time, it needs its registry: a network."
    exit 1
fi
mkdir -p build
touch "$stamp"
