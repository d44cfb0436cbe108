#!/bin/sh
# run.sh: the waits of systems that are not here, on a stand-in for what each system calls, written
# from its manuals. So their own code runs; whether the system does what its manual says is not
# tested.
set -eu
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
work=$root/build/test-ports
rm -rf "$work"
mkdir -p "$work"

passed=0
failed=0
port() { # port NAME SYSTEM DEFINES FLAG...: the defines are those of its compilers' programs, too
    name=$1
    system=$2
    defines=$3
    shift 3
    mkdir -p "$work/$name/core"
    cd "$work/$name"
    compile="gcc -std=gnu11 -O1 -Wall -Wextra -Wconversion -Werror $defines
        -I$root/include -I$here/$system -c"
    wait=$root/src/wait
    # shellcheck disable=SC2086 # a list
    if ! { (cd core && $compile "$root"/src/core/*.c) &&
        $compile "$@" "$root"/src/*.c "$root/src/loop/none.c" "$wait/$system.c" "$wait/table.c" \
            "$wait/pthreads.c" "$wait/poll.c" "$wait/self.c" "$wait/awake.c"; }; then
        failed=$((failed + 1))
        echo "not ok: $name compiles"
        return
    fi
    for test in any cancel cond event mutex-stress mutex rwlock sem wait waits self; do
        case $test in mutex) wrapped=-Wl,--wrap=lw_notify ;;
        cancel) wrapped=-Wl,--wrap=lw_event_wait_step ;;
        self) wrapped=-Wl,--wrap=lw_thread_id ;; *) wrapped= ;; esac
        # shellcheck disable=SC2046,SC2086 # lists of flags
        if gcc -std=gnu11 -O1 $defines -I"$root/include" "$root/test/c/$test.c" \
            "$root/test/c/check.c" "$root/test/c/check-table.c" ./*.o core/*.o \
            -Wl,--wrap=lw_sleep $wrapped -o "test-$test" \
            $(pkg-config --cflags --libs cmocka) -pthread &&
            (cd "$root" && "$work/$name/test-$test"); then
            passed=$((passed + 1))
            echo "ok: $name, test/c/$test.c"
        else
            failed=$((failed + 1))
            echo "not ok: $name, test/c/$test.c"
        fi
    done
}
# Compilers for these emulate thread-local variables, each by an object with another name.
shared() { # shared NAME SYSTEM DEFINES: a program finds in the shared library what it uses
    cd "$work/$1"
    # shellcheck disable=SC2086 # a list
    if clang -std=gnu11 -O1 -femulated-tls -fPIC -shared $3 -I"$root/include" -I"$here/$2" \
        "$root"/src/*.c "$root"/src/core/*.c "$root/src/loop/none.c" "$root/src/wait/$2.c" \
        "$root/src/wait/table.c" "$root/src/wait/pthreads.c" "$root/src/wait/poll.c" \
        "$root/src/wait/self.c" "$root/src/wait/awake.c" \
        "-Wl,--version-script=$root/cmake/lockword.map" -o liblockword.so -pthread &&
        clang -std=gnu11 -O1 -femulated-tls $3 -I"$root/include" "$root/test/install/consumer.c" \
            -L. -Wl,-rpath,. -llockword -o consumer -pthread &&
        ./consumer; then
        passed=$((passed + 1))
        echo "ok: $1, the shared library"
    else
        failed=$((failed + 1))
        echo "not ok: $1, the shared library"
    fi
}
port freebsd freebsd -DLOCKWORD_PORTABLE
port openbsd openbsd "-DLOCKWORD_PORTABLE -D__OpenBSD__"
port android posix -D__ANDROID__
if command -v clang >/dev/null; then
    shared openbsd openbsd "-DLOCKWORD_PORTABLE -D__OpenBSD__"
    shared android posix -D__ANDROID__
else
    echo "left out: shared libraries with emulated thread-locals: clang is not installed"
fi
port macos darwin -DLOCKWORD_PORTABLE -D_GNU_SOURCE -DOLD_MACOS=0 -include "$here/darwin/system.h"
port macos-before-14.4 darwin -DLOCKWORD_PORTABLE -D_GNU_SOURCE -DOLD_MACOS=1 -include "$here/darwin/system.h"

echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
