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
port() { # port NAME SYSTEM FLAG...
    name=$1
    system=$2
    shift 2
    mkdir -p "$work/$name/core"
    cd "$work/$name"
    compile="gcc -std=gnu11 -O1 -Wall -Wextra -Wconversion -Werror -DLOCKWORD_PORTABLE
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
    for test in any cancel cond event mutex-stress mutex rwlock sem wait waits; do
        case $test in mutex) wrapped=-Wl,--wrap=lw_notify ;;
        cancel) wrapped=-Wl,--wrap=lw_event_wait_step ;; *) wrapped= ;; esac
        # shellcheck disable=SC2046,SC2086 # lists of flags
        if gcc -std=gnu11 -O1 -DLOCKWORD_PORTABLE -I"$root/include" "$root/test/c/$test.c" \
            "$root/test/c/check.c" "$root/test/c/check-table.c" ./*.o core/*.o -Wl,--wrap=lw_sleep $wrapped -o "test-$test" \
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
port freebsd freebsd
port openbsd openbsd
port macos darwin -D_GNU_SOURCE -DOLD_MACOS=0 -include "$here/darwin/system.h"
port macos-before-14.4 darwin -D_GNU_SOURCE -DOLD_MACOS=1 -include "$here/darwin/system.h"

echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
