#!/bin/sh
# roman.sh N: prints N as a Roman numeral.
n=$1
out=
for step in 1000:M 500:D 100:C 90:XC 50:L 40:XL 10:X 9:IX 5:V 1:I; do
    value=${step%%:*}
    digit=${step##*:}
    while [ "$n" -ge "$value" ]; do
        out=$out$digit
        n=$((n - value))
    done
done
echo "$out"
