#!/bin/sh
# run.sh: installs lockword as a packager does, and builds and runs a user's program in every way
# that we promise: pkg-config and CMake, static and shared, C11 and C++17, moved to another place,
# from the sources by FetchContent, and from other languages.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/test-install
rm -rf "$work"
mkdir -p "$work"
cd "$work"

. "$root/test/check.sh"

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
    "$@" $strict $(pkg-config --cflags lockword) "$here/$consumer" -o "$name" $libraries -pthread &&
        "./$name"
}

if pkg-config --exists libcjson ncursesw libcurl; then
    check "the command" "$work/moved/bin/lockword" run --region "$work/region" name true
    lease_user() {
        # shellcheck disable=SC2046,SC2086 # lists of flags
        gcc -std=c11 $strict "$root/test/command/lease.c" -o lease-user \
            $(pkg-config --cflags --libs lockword-lease) && ./lease-user
    }
    check "liblockword-lease, C11, gcc" lease_user
fi

consumer=consumer.c

for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    check "pkg-config, shared, C11, $cc" program "shared-c-$cc" "$(pkg-config --libs lockword)" \
        $cc -std=c11
    check "pkg-config, shared, C++17, $cc" program "shared-cpp-$cc" \
        "$(pkg-config --libs lockword) -lstdc++" $cc -x c++ -std=c++17
    check "static, C11, $cc" program "static-c-$cc" "$libdir/liblockword.a" $cc -std=c11
done

for cc in g++ clang++; do
    command -v $cc >/dev/null || continue
    for consumer in consumer.cpp region.cpp; do
        # C++20: test/amalgamation
        for std in c++17 "c++17 -fno-exceptions"; do
            # shellcheck disable=SC2086 # a list of flags
            check "$consumer, $std, $cc" program "hpp-$cc" "$libdir/liblockword.a" $cc -std=$std
        done
        # What runs is as in C++20.
        # shellcheck disable=SC2046,SC2086 # lists of flags
        check "$consumer, c++2b, $cc" $cc -std=c++2b $strict $(pkg-config --cflags lockword) \
            -fsyntax-only "$here/$consumer"
    done
done

# Every header alone, under the warnings of strict users.
mkdir alone
(cd "$root/include" && find lockword -name '*.h*') | while read -r header; do
    printf '#include <%s>\ntypedef int something;\n' "$header" >"alone/$(echo "$header" | tr / -).c"
done
mkdir cpp
mv alone/*.hpp.c cpp
common="-Wall -Wextra -Werror -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wcast-qual -Wcast-align -Wundef
    -Wredundant-decls -Wmissing-declarations -Wformat=2 -Wdouble-promotion -Wfloat-equal -Wwrite-strings"
c_only="-Wstrict-prototypes -Wmissing-prototypes -Wbad-function-cast -Wold-style-definition -Wnested-externs"
cpp_only="-Wold-style-cast -Wextra-semi -Wzero-as-null-pointer-constant -Wnon-virtual-dtor"
gcc_only="-Wnull-dereference -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wswitch-default"
clang_only="-Wshadow-all -Wcovered-switch-default -Wused-but-marked-unused -Wreserved-identifier -Wcomma -Wassign-enum
    -Wextra-semi-stmt -Wunreachable-code-aggressive -Wmissing-variable-declarations -Wunused-macros -Wdocumentation"
alone() { # alone COMPILER STANDARD FLAG...
    cc=$1
    std=$2
    shift 2
    language=c
    only=$c_only
    for_cpp=
    case $std in c++*) language=c++ only=$cpp_only for_cpp=cpp/*.c ;; esac
    case $cc in gcc) only="$only $gcc_only" ;; *) only="$only $clang_only" ;; esac
    # shellcheck disable=SC2086 # lists of flags
    $cc -x $language "-std=$std" $common $only "$@" -O1 -fsyntax-only -I "$root/include" alone/*.c \
        $for_cpp
}
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    for std in c11 c++2b; do
        check "every header alone, $std, $cc" alone $cc $std
    done
    check "every header alone, c++17, $cc, with what it says to ThreadSanitizer" alone $cc c++17 \
        -fsanitize=thread
done

left_out() { # left_out LABEL PROGRAM: says so if there is no such program
    command -v "$2" >/dev/null && return 1
    echo "left out: $1: $2 is not installed"
}

project() { # project NAME OPTION...: somebody's CMake project
    name=$1
    shift
    quietly cmake -S "$here" -B "$name" "$@" && quietly cmake --build "$name" &&
        quietly ctest --test-dir "$name"
}

check "find_package, static" project package-static -DCMAKE_PREFIX_PATH="$work/moved"
check "find_package, shared" project package-shared -DCMAKE_PREFIX_PATH="$work/moved" \
    -DBUILD_SHARED_LIBS=ON
no_component() {
    ! cmake -S "$here" -B none -DCMAKE_PREFIX_PATH="$work/moved" -DCOMPONENT=lease >log 2>&1 &&
        tr -s '\n ' ' ' <log | grep -q "it has no component lease: static and shared are all"
}
check "find_package, no such component" no_component
check "FetchContent" project fetched -DLOCKWORD_SOURCE="$root"
check "FetchContent, shared, into a project that hides, and unites sources" project united \
    -DLOCKWORD_SOURCE="$root" -DBUILD_SHARED_LIBS=ON -DCMAKE_C_VISIBILITY_PRESET=hidden \
    -DCMAKE_UNITY_BUILD=ON

# As where threads are in a library of their own: on the BSDs, and in glibc before 2.34.
threads_library() {
    quietly cmake -G Ninja -S "$root" -B threads -DLOCKWORD_COMMAND=OFF -DCMAKE_HAVE_LIBC_PTHREAD=0 &&
        ninja -C threads -t commands liblockword.so >log && grep -q -e '-shared.* -lpthread' log
}
check "the shared library links that of threads" threads_library
# There, a user's program sees what the library was compiled for.
other_system() {
    quietly cmake -S "$root" -B other -DCMAKE_SYSTEM_NAME=NetBSD &&
        quietly cmake --build other && grep -q -e '-DLOCKWORD_PORTABLE' other/lockword.pc
}
check "the sources, on a system without a file of its own" other_system

meson_project() { # the sources, as a subproject
    mkdir -p meson/subprojects
    ln -s "$root" meson/subprojects/lockword
    cp "$here/consumer.c" meson
    cat >meson/meson.build <<'END'
project('consumer', 'c', default_options: ['c_std=c11'])
lockword = import('cmake').subproject('lockword').dependency('lockword_static')
test('consumer', executable('consumer', 'consumer.c',
  dependencies: [lockword, dependency('threads')]))
END
    quietly meson setup meson/build meson && quietly meson test -C meson/build
}
left_out "Meson" meson || check "Meson, the sources" meson_project

"$here/declared.sh" "$work/moved/include" >declared
# shown KIND NM-OPTION... FILE: its symbols are what the headers declare; but for what the C library
# adds on some machines
shown() {
    kind=$1
    shift
    nm --defined-only --extern-only "$@" | awk 'NF == 3 { print $3 }' | sort -u >"symbols-$kind"
    diff declared "symbols-$kind"
}
check "the shared library shows what the headers declare, and nothing else" shown shared \
    -D "$libdir/liblockword.so"

# A program links what it uses: one with a mutex has nothing of regions.
mutex_alone() {
    printf '#include <lockword/mutex.h>\nint main(void)\n{\n    static lw_mutex m;\n    return lw_mutex_lock(&m) || lw_mutex_unlock(&m);\n}\n' >mutex.c
    # shellcheck disable=SC2046 # a list of flags
    gcc -O2 $(pkg-config --cflags lockword) mutex.c -o mutex-alone "$libdir/liblockword.a" -pthread &&
        ./mutex-alone && ! nm mutex-alone | grep lw_region
}
check "a program with a mutex links no regions" mutex_alone

# What the static library's files have for each other, they hide from those who link it into a
# shared library of their own.
embed() {
    # shellcheck disable=SC2046,SC2086 # lists of flags
    gcc $strict -std=c11 -O2 -fPIC -shared $(pkg-config --cflags lockword) -Dmain=consume \
        "$here/consumer.c" \
        -Wl,--whole-archive "$libdir/liblockword.a" -Wl,--no-whole-archive -Wl,-z,defs,-z,text \
        -o libconsumer.so -pthread &&
        echo 'int consume(void); int main(void) { return consume(); }' >embedded.c &&
        gcc embedded.c -L. -Wl,-rpath,. -lconsumer -o embedded && ./embedded
}
check "the static library, linked into a shared one" embed
echo consume >>declared
sort -o declared declared
check "which shows what the headers declare, and what is its own" shown embedded -D libconsumer.so

# Tools that look for data races, with a program of a user's and the library as it was installed:
# annotate.h.
reports() { # reports PATTERN COMMAND...: the tool finds the mistake
    pattern=$1
    shift
    "$@" >tool.log 2>&1 && return 1
    grep -q "$pattern" tool.log || { cat tool.log && return 1; }
}
races() { # races NAME LIBRARY COMPILER...
    name=$1
    library=$2
    shift 2
    # shellcheck disable=SC2046,SC2086 # lists of flags
    "$@" $strict -std=gnu11 -g $(pkg-config --cflags lockword) "$here/races.c" -o "$name" $library \
        -pthread
}
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    for optimised in -O0 -O2; do
        what="ThreadSanitizer, $cc $optimised"
        tsan="tsan-$cc$optimised"
        echo 'int main(void) { return 0; }' | $cc -fsanitize=thread -x c - -o "$tsan" &&
            "./$tsan" ||
            { echo "left out: $what: it cannot run here" && continue; }
        check "$what, builds" races "$tsan" "$(pkg-config --libs lockword)" $cc $optimised \
            -fsanitize=thread
        check "$what, has nothing to report of what is right" "./$tsan"
        check "$what, reports a race" reports "data race" "./$tsan" race
        check "$what, reports mutexes that are locked in another order" reports \
            "lock-order-inversion" "./$tsan" inversion
        # Optimised, it calls the same C, and takes five seconds.
        [ $optimised = -O0 ] || continue
        # shellcheck disable=SC2046 # lists of flags
        check "$what, builds a program in C++" $cc -x c++ -std=c++17 -g $optimised \
            -fsanitize=thread $(pkg-config --cflags --libs lockword) "$here/consumer.cpp" -lstdc++ \
            -pthread -o "cpp-$tsan"
        check "$what, has nothing to report of it" "./cpp-$tsan"
    done
done
if ! left_out "Helgrind and DRD" valgrind; then
    check "a program for valgrind builds" races for-valgrind "$libdir/liblockword.a" gcc -O2 \
        -DLOCKWORD_VALGRIND
    under() { # under TOOL [MODE]
        # shellcheck disable=SC2086 # perhaps none
        valgrind --quiet --tool="$1" --error-exitcode=9 \
            --suppressions="$work/moved/share/lockword/lockword.supp" ./for-valgrind ${2-}
    }
    for tool in helgrind drd; do
        check "$tool has nothing to report of what is right" under $tool
        check "$tool reports a race" reports "data race\|Conflicting" under $tool race
    done
    check "helgrind reports mutexes that are locked in another order" reports "lock order" \
        under helgrind inversion
fi

# Times have another size on 32 bits, by the C library's choice and by the kernel's.
sources() { # sources NAME FLAG...: compiles the library into one object
    object=$1.o
    shift
    # shellcheck disable=SC2086 # a list
    gcc -r $strict -std=gnu11 -O0 "$@" -I "$root/include" "$root"/src/*.c "$root"/src/core/*.c \
        "$root"/src/loop/l*.c "$root"/src/region/*.c "$root"/src/wait/linux.c \
        "$root"/src/wait/poll.c "$root"/src/wait/self.c "$root"/src/wait/awake.c -o "$object"
}
deadlines() { # deadlines NAME LIBRARY FLAG...
    name=$1
    library=$2
    shift 2
    # shellcheck disable=SC2086 # a list
    gcc $strict -std=gnu11 -O2 "$@" -I "$root/include" "$here/deadlines.c" "$library" \
        -o "deadlines-$name" -pthread && "./deadlines-$name"
}
old_kernel="-DOLD_KERNEL -Wl,--wrap=syscall"
time64="-D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64"
check "deadlines" deadlines plain "$libdir/liblockword.a"
check "deadlines, old kernel" deadlines old "$libdir/liblockword.a" $old_kernel
if echo 'int main(void) { return 0; }' | gcc -m32 -x c - -o 32-bits 2>32-bits.log && ./32-bits; then
    check "the sources, 32 bits" sources 32 -m32
    check "the sources, 32 bits, a time_t of 64" sources 32-time64 -m32 $time64
    check "deadlines, 32 bits" deadlines 32 32.o -m32
    check "deadlines, 32 bits, old kernel" deadlines 32-old 32.o -m32 $old_kernel
    check "deadlines, 32 bits, a time_t of 64" deadlines 32-time64 32-time64.o -m32 \
        $time64
    check "deadlines, 32 bits, a time_t of 64, old kernel" deadlines 32-time64-old \
        32-time64.o -m32 $time64 $old_kernel
else
    echo "left out: 32 bits: gcc -m32 does not work (gcc-multilib)"
fi

left_out "Python's ctypes" python3 || check "Python's ctypes" python3 "$here/ffi.py" \
    "$libdir/liblockword.so"
rust() { # rust KIND
    rustc -O -L "$libdir" -l "$1=lockword" "$here/ffi.rs" -o "ffi-$1" && "./ffi-$1"
}
left_out "Rust's extern \"C\"" rustc || {
    check "Rust's extern \"C\", shared" rust dylib
    check "Rust's extern \"C\", static" rust static
}

summary
