#!/bin/sh
# run.sh: installs lockword as a packager does, and builds and runs a user's program in every way that we promise: pkg-config and
# CMake, static and shared, C11 and C++17, moved to another place, and from the sources by FetchContent.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/test-install
rm -rf "$work"
mkdir -p "$work"
cd "$work"

passed=0
failed=0
check() { # check LABEL COMMAND...
    label=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok: $label"
    else
        failed=$((failed + 1))
        echo "not ok: $label"
    fi
}

make -s -C "$root" install DESTDIR="$work/stage" PREFIX=/opt/lockword
mv "$work/stage/opt/lockword" "$work/moved"
libdir=$(dirname "$(find "$work/moved" -name liblockword.so)")
export PKG_CONFIG_PATH="$libdir/pkgconfig"
export LD_LIBRARY_PATH="$libdir"
strict="-Wall -Wextra -Wconversion -Wpedantic -Werror"

program() { # program NAME LIBRARIES COMPILER...: compiles, links and runs
    name=$1
    libraries=$2
    shift 2
    # shellcheck disable=SC2046,SC2086 # lists of flags
    "$@" $strict $(pkg-config --cflags lockword) "$here/consumer.c" -o "$name" $libraries -pthread && "./$name"
}

for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    check "pkg-config, shared, C11, $cc" program "shared-c-$cc" "$(pkg-config --libs lockword)" $cc -std=c11
    check "pkg-config, shared, C++17, $cc" program "shared-cpp-$cc" "$(pkg-config --libs lockword) -lstdc++" $cc -x c++ -std=c++17
    check "static, C11, $cc" program "static-c-$cc" "$libdir/liblockword.a" $cc -std=c11
done

project() { # project NAME OPTION...: somebody's CMake project
    name=$1
    shift
    cmake -S "$here" -B "$name" "$@" >"$name.log" && cmake --build "$name" >>"$name.log" &&
        ctest --test-dir "$name" >>"$name.log" || { cat "$name.log" && return 1; }
}

check "find_package, static" project package-static -DCMAKE_PREFIX_PATH="$work/moved"
check "find_package, shared" project package-shared -DCMAKE_PREFIX_PATH="$work/moved" -DBUILD_SHARED_LIBS=ON
check "FetchContent" project fetched -DLOCKWORD_SOURCE="$root"

public() {
    names=$(nm -D --defined-only "$libdir/liblockword.so" | awk '{ print $3 }' | grep -v '^lw_')
    [ -z "$names" ] || { echo "$names" && return 1; }
}
check "the shared library shows only lw_ names" public

echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
