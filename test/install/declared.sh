#!/bin/sh
# declared.sh FOLDER [PATTERN]: the functions and variables that the headers in FOLDER/lockword declare
# for programs that link liblockword, sorted; without the headers whose names match the pattern. All
# declarations begin in the first column. What is `static` or LW_INLINE is no symbol, and what is
# LW_IMPORTED is JavaScript's.
set -eu
# lease.h is of another library.
find "$1/lockword" -name '*.h' ! -name lease.h ! -regex ".*/\(${2-}\)\.h" -exec cat {} + |
    sed -nE '/^LW_IMPORTED/{ N; d; }
        /^(static|typedef|LW_INLINE|#|\/| )/d
        s/^extern [^"].*\b(lw_[a-z0-9_]+);/\1/p
        s/^[A-Za-z_].*\b(lw_[a-z0-9_]+)\(.*/\1/p' |
    sort -u
