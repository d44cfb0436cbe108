#!/bin/sh
# msvc.sh: the library for Microsoft's ABI, by clang-cl. Its headers and linker are not here: what
# includes a header of the system takes mingw-w64's, with which clang is not to say that it is
# Microsoft's compiler; and mingw-w64 links the C tests, which Wine runs. arm64 is only compiled.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/test-msvc
rm -rf "$work"
mkdir -p "$work"
cd "$work"
export WINEDEBUG=-all WINEPREFIX="$root/build/wine"
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64)

. "$root/test/check.sh"

# /GS- and /Zl: without what Microsoft's C library would have to supply.
clang_cl() { # clang_cl PROCESSOR ARGUMENT...
    processor=$1
    shift
    clang --driver-mode=cl "--target=$processor-pc-windows-msvc" /nologo /GS- /Zl /W4 /WX -Wconversion \
        "-I$root/include" "-I$root/src" "$@"
}
compile() { # compile PROCESSOR
    mkdir -p "$1/core"
    for source in "$root"/src/*.c "$root"/src/core/*.c "$root/src/loop/none.c" \
        "$root"/src/wait/poll.c "$root"/src/wait/self.c "$root"/src/wait/awake.c \
        "$root"/src/wait/table.c "$root"/src/wait/windows.c; do
        object=$1/$(basename "$source" .c).o
        system=
        case $source in
        */src/core/*) object=$1/core/$(basename "$source" .c).o ;;
        */table.c | */windows.c)
            system="-fgnuc-version=4.2.1 -fmsc-version=0 /imsvc/usr/x86_64-w64-mingw32/include"
            ;;
        esac
        # --: a path may begin as an option does, as /w.
        # shellcheck disable=SC2086 # a list
        clang_cl "$1" /std:c11 /O2 $system /c "/Fo$object" -- "$source" || return 1
    done
}
for processor in x86_64 aarch64; do
    check "the library, C11, $processor" compile $processor
done

headers() { # headers FLAG...: each alone
    (cd "$root/include" && find lockword -name '*.h' ! -name loop.h ! -name region.h \
        ! -name lease.h ! -name emscripten.h) | while read -r header; do
        printf '#include <%s>\ntypedef int something;\n' "$header" >alone.c
        clang_cl x86_64 "$@" /Zs alone.c || return 1
    done
}
check "every header alone, C11" headers /std:c11 /TC
check "every header alone, C++17" headers /std:c++17 /TP
# cl is told apart by what it does not define.
refuses() {
    printf '#include <lockword/mutex.h>\n' >cl.c
    ! clang_cl x86_64 -U__clang__ /Zs cl.c 2>cl.log && grep -q 'needs clang-cl' cl.log
}
check "cl is told what it lacks" refuses

c_test() { # c_test NAME FLAG...
    name=$1
    shift
    x86_64-w64-mingw32-gcc-posix -std=gnu11 -O1 -D__USE_MINGW_ANSI_STDIO=1 "-I$root/include" \
        "-I$root/test/c/cmocka" "$root/test/c/$name.c" "$root/test/c/check.c" \
        "$root/test/c/check-table.c" "$root/test/c/cmocka/cmocka.c" x86_64/*.o x86_64/core/*.o \
        -Wl,--wrap=lw_sleep "$@" -static -lpthread -lsynchronization -o "$name.exe" &&
        "$wine" "$name.exe"
}
for name in any cond event mutex-stress rwlock sem wait; do
    check "test/c/$name.c" c_test $name
done
check "test/c/self.c" c_test self -Wl,--wrap=lw_thread_id

summary
