#!/bin/sh
# run.sh: the one-file build. lockword.c compiles alone, without a warning, by each compiler and in
# each version of C; the header also in C++; and the C tests pass that need nothing but these two.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/test-amalgamation
rm -rf "$work"
mkdir -p "$work"
node "$root/tools/amalgamation.js" "$work"
cd "$work"
. "$root/test/check.sh"
strict="-Wall -Wextra -Wconversion -Wpedantic -Wshadow -Wundef -Wcast-qual -Werror"

for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    # The tests below take gcc's objects.
    makes() { [ $cc = gcc ] && echo "-O1 -c -o $1" || echo -fsyntax-only; }
    # shellcheck disable=SC2046,SC2086 # lists
    check "lockword.c, c11, $cc" $cc -std=c11 $strict $(makes gcc-c11.o) lockword.c
    for std in c17 c2x; do
        # shellcheck disable=SC2086 # a list
        check "lockword.c, $std, $cc" $cc -std=$std $strict -fsyntax-only lockword.c
    done
    # Where the optimiser inlines less, it warns of other things.
    # shellcheck disable=SC2086 # a list
    check "lockword.c, for size, $cc" $cc -std=c11 $strict -Os -c lockword.c -o size.o
    # shellcheck disable=SC2046,SC2086 # lists
    check "lockword.c, as on any POSIX system, $cc" $cc -std=c11 $strict -DLOCKWORD_PORTABLE \
        $(makes gcc-portable.o) lockword.c
done

# The first program of README.md, with these two files alone.
mkdir -p first
node -e "import('$root/test/docs/pages.js').then(({ programsOf }) =>
    console.log(programsOf('README.md').find(({ run }) => run?.startsWith('c,')).files[0].text))" |
    sed 's|<lockword/mutex.h>|"lockword.h"|' >first/main.c
cp lockword.c lockword.h first
first() { # first RUNNER COMPILER LIBRARIES
    # shellcheck disable=SC2086 # lists
    (cd first && $2 main.c lockword.c $3 -o first.exe &&
        test "$($1 ./first.exe | tr -d '\r')" = "400000 of 400000")
}
check "README.md's program, one file" first "" cc -pthread
if command -v x86_64-w64-mingw32-gcc-posix >/dev/null; then
    if wine=$(PATH=$PATH:/usr/lib/wine command -v wine64); then
        export WINEDEBUG=-all WINEPREFIX="$root/build/wine"
        check "README.md's program, one file, on Windows" first "$wine" \
            "x86_64-w64-mingw32-gcc-posix -static" "-lsynchronization -pthread"
    else
        echo "left out: to run it on Windows: there is no Wine"
    fi
    # shellcheck disable=SC2086 # a list
    check "lockword.c, Windows" x86_64-w64-mingw32-gcc-posix -std=c11 $strict -O1 -c lockword.c \
        -o windows.o
    check "a program for Windows" x86_64-w64-mingw32-gcc-posix -I. \
        -include lockword.h -xc - -xnone windows.o -o windows.exe -lsynchronization <<'END'
static lw_mutex mutex;
int main(void) { return lw_mutex_lock(&mutex) || lw_mutex_unlock(&mutex); }
END
else
    echo "left out: Windows: there is no mingw-w64"
fi
if clang --target=wasm32 -fsyntax-only -x c /dev/null 2>/dev/null; then
    # shellcheck disable=SC2086 # a list
    check "lockword.c, WebAssembly" clang --target=wasm32 -std=c11 $strict -O1 -matomics \
        -mbulk-memory -c lockword.c -o wasm.o
else
    echo "left out: WebAssembly: there is no clang that compiles for it"
fi

# The headers of the C tests, and of a C++ program, are all lockword.h.
(cd "$root/include" && find lockword -name '*.h') | while read -r header; do
    mkdir -p "headers/$(dirname "$header")"
    printf '#include <lockword.h>\n' >"headers/$header"
done
for header in lockword region; do
    printf '#include <lockword.hpp>\n' >headers/lockword/$header.hpp
done

program() { # program NAME COMPILER...: somebody's program in C++
    name=$1
    shift
    # shellcheck disable=SC2086 # a list
    "$@" $strict -I. -Iheaders -o "$name" -pthread && "./$name"
}
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    check "lockword.h, C++17, $cxx" program "h-$cxx" $cxx -std=c++17 -x c++ \
        "$root/test/install/consumer.c" -x none gcc-c11.o
    for consumer in consumer.cpp region.cpp; do
        check "$consumer, C++20, $cxx" program "hpp-$cxx" $cxx -std=c++20 \
            "$root/test/install/$consumer" gcc-c11.o
    done
done
check "lockword.hpp, as on any POSIX system" program hpp-portable g++ -std=c++17 \
    -DLOCKWORD_PORTABLE "$root/test/install/consumer.cpp" gcc-portable.o

c_test() { # c_test NAME OBJECT FLAG...: says how many of its cases passed
    name=$1
    object=$2
    shift 2
    # shellcheck disable=SC2046 # lists of flags
    gcc -std=gnu11 -I. -Iheaders "$@" "$root/test/c/$name.c" "$root/test/c/check.c" \
        "$root/test/c/check-linux.c" "$object" \
        $(pkg-config --cflags --libs cmocka) -o "$name" -pthread && (cd "$root" && "$work/$name")
}
# The mutex's test replaces what the library calls.
primitives=$(sed -n 's/^| `\([a-z]*\)` | [0-9]* | 4 |$/\1/p' "$root/docs/layout.md" | grep -vx mutex)
for name in any loop $primitives; do
    check "test/c/$name.c" c_test $name gcc-c11.o
done
for name in cond event sem; do
    check "test/c/$name.c, as on any POSIX system" c_test $name gcc-portable.o -DLOCKWORD_PORTABLE
done

summary
