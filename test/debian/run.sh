#!/bin/sh
# run.sh: the Debian package. dpkg-buildpackage builds it from a copy of the sources, and what its
# packages contain works.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/debian
rm -rf "$work"
version=$(node -p "require('$root/package.json').version")
source=$work/lockword-$version
mkdir -p "$source"
cd "$work"

. "$root/test/check.sh"

(cd "$root" && git ls-files --cached --others --exclude-standard -z |
    xargs -0 ls -d 2>/dev/null | tar -c -T - -f -) | tar -x -f - -C "$source"
check "the package has the library's version" \
    test "$(cd "$source" && dpkg-parsechangelog -S Version)" = "$version"
build() ( # in its folder, by the system's compiler
    cd "$source" && env -u CC -u CFLAGS DEB_BUILD_OPTIONS="nocheck parallel=2" \
        dpkg-buildpackage -us -uc
)
check "dpkg-buildpackage" quietly build

[ "$failed" = 0 ] || summary

installed=$work/installed
unpack() {
    set -- ./*.deb
    test $# -ge 3 || return 1
    for package; do
        dpkg-deb -x "$package" "$installed" || return 1
    done
}
check "its packages unpack" quietly unpack
libdir=$(dirname "$(find "$installed" -name liblockword.a)")
depends() { # depends PACKAGE ON
    dpkg-deb -f "$(ls "$1"_*.deb)" Depends | grep -q "$2"
}
check "liblockword-dev has its library" quietly depends liblockword-dev \
    "liblockword0.2 (= $version)"
check "the command needs no library of this package" quietly depends lockword libncurses
command() {
    "$installed/usr/bin/lockword" run --region "$work/region" name true
}
check "the command runs" quietly command
program() { # program NAME FLAG...
    name=$1
    shift
    gcc -std=c11 -I"$installed/usr/include" "$root/test/install/consumer.c" -o "$name" "$@" \
        -pthread && LD_LIBRARY_PATH=$libdir "./$name"
}
check "a program with the shared library" quietly program shared -L"$libdir" -llockword
check "a program with the static library" quietly program static "$libdir/liblockword.a"
flags() {
    # shellcheck disable=SC2046 # a list of flags
    PKG_CONFIG_PATH=$libdir/pkgconfig program flags $(PKG_CONFIG_PATH=$libdir/pkgconfig \
        pkg-config --cflags --libs lockword)
}
check "a program with pkg-config's flags" quietly flags

summary
