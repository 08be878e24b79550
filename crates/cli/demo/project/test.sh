#!/bin/sh
# test.sh: checks roman.sh; exits 1 when a case fails.
cd "$(dirname "$0")" || exit 1
failed=0
check() {
    got=$(sh roman.sh "$1")
    if [ "$got" = "$2" ]; then
        echo "ok    $1 -> $2"
    else
        echo "FAIL  $1 -> $got, expected $2"
        failed=1
    fi
}
check 1 I
check 4 IV
check 9 IX
check 14 XIV
check 40 XL
check 400 CD
check 944 CMXLIV
check 1987 MCMLXXXVII
exit $failed
