#!/bin/sh
# Whether two programs are the same for rustc's parser: rust.sh BEFORE AFTER.
# The exit code is 0 if it prints both alike.
set -eu
print() { RUSTC_BOOTSTRAP=1 rustc -Zunpretty=normal --edition 2021 --crate-type lib - <"$1"; }
before=$(print "$1" 2>/dev/null)
after=$(print "$2" 2>/dev/null)
[ -n "$before" ] && [ "$before" = "$after" ]
