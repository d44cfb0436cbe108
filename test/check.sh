# check.sh: what the suites in sh share. They read it, call `check` for each case, and end with
# `summary`.
# shellcheck shell=sh
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
quietly() { # quietly COMMAND...: what it printed is in the file `log`, and is shown if it fails
    "$@" >log 2>&1 || { cat log && return 1; }
}
summary() {
    echo
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
