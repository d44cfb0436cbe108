#!/bin/sh
# windows.sh: what run.sh does, for Windows: installs lockword by mingw-w64, and builds a user's
# programs with the DLL and with the static library. Wine runs them.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/test-install-windows
toolchain=-DCMAKE_TOOLCHAIN_FILE=$root/cmake/windows.cmake
rm -rf "$work"
mkdir -p "$work"
cd "$work"
export WINEDEBUG=-all WINEPREFIX="$root/build/wine"
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64)
. "$root/test/check.sh"

quietly cmake -S "$root" -B library "$toolchain" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX=/opt/lockword
quietly cmake --build library
DESTDIR=$work/stage quietly cmake --install library
mv stage/opt/lockword moved
libdir=$work/moved/lib
dll=$work/moved/bin/liblockword.dll
export PKG_CONFIG_PATH="$libdir/pkgconfig"

# Without what a thread-local variable is elsewhere: a DLL exports none.
"$here/declared.sh" moved/include 'loop\|region' | grep -v lw_self_cached >declared
exports() {
    x86_64-w64-mingw32-nm "$libdir/liblockword.dll.a" 2>/dev/null |
        awk '$2 == "T" { print $3 }' | sort >exported
    diff declared exported
}
check "the DLL exports the functions that the headers declare, and nothing else" exports
imports() {
    x86_64-w64-mingw32-objdump -p "$dll" | awk '/DLL Name:/ { print tolower($3) }' >imported
    [ -s imported ] && ! grep -v '^kernel32\|^msvcrt\|^ucrtbase\|^api-ms-win-' imported
}
check "the DLL needs no DLLs but the system's" imports

# The compiler's libraries go into the program. Beside the program lies the DLL, or nothing.
program() { # program NAME LIBRARIES COMPILER...: compiles, links and runs
    name=$1
    libraries=$2
    shift 2
    mkdir -p "$name"
    case $libraries in *-llockword*) cp "$dll" "$name" ;; esac
    # shellcheck disable=SC2046,SC2086 # lists of flags
    "$@" -O2 -Wall -Wextra -Wconversion -Wpedantic -Werror $(pkg-config --cflags lockword) \
        "$here/$consumer" -o "$name/program.exe" $libraries -static-libgcc -static-libstdc++ \
        -Wl,-Bstatic -lstdc++ -lpthread && "$wine" "$name/program.exe"
}
shared=$(pkg-config --libs lockword)
static="$libdir/liblockword.a -lsynchronization"
for consumer in consumer.c consumer.cpp; do
    case $consumer in
    *.c) compiler="x86_64-w64-mingw32-gcc-posix -std=c11" ;;
    *) compiler="x86_64-w64-mingw32-g++-posix -std=c++17" ;;
    esac
    # shellcheck disable=SC2086 # a list
    check "pkg-config, DLL, $consumer" program "shared-$consumer" "$shared" $compiler
    # shellcheck disable=SC2086 # a list
    check "static, $consumer" program "static-$consumer" "$static" $compiler
done
missing() { # the programs that are said to use the DLL do
    rm shared-consumer.c/liblockword.dll
    ! "$wine" shared-consumer.c/program.exe 2>/dev/null
}
check "a program that was linked with the DLL does not run without it" missing

project() { # project NAME OPTION...: somebody's CMake project
    name=$1
    shift
    quietly cmake -S "$here" -B "$name" "$toolchain" -DCMAKE_EXE_LINKER_FLAGS=-static \
        -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$work/$name" "$@" &&
        quietly cmake --build "$name" &&
        case $name in package-shared) cp "$dll" "$name" ;; esac &&
        quietly ctest --test-dir "$name"
}
package=-Dlockword_DIR=$libdir/cmake/lockword
check "find_package, static" project package-static "$package"
check "find_package, DLL" project package-shared "$package" -DBUILD_SHARED_LIBS=ON
check "FetchContent, DLL" project fetched -DLOCKWORD_SOURCE="$root" -DBUILD_SHARED_LIBS=ON

summary
