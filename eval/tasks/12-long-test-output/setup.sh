mkdir -p app
cat > app/rates.py <<'PY'
"""Rates of exchange."""


def convert(amount, rate):
    return round(amount * rate, 1)


def describe(amount):
    return "%.2f" % amount
PY
cat > run_tests.py <<'PY'
"""Runs many cases and reports each."""
import sys
from app.rates import convert, describe

failed = 0
for case in range(9000):
    if case == 4000:
        got = describe(convert(10, 1.234))
        if got != "12.34":
            print("FAILED case 4000: convert(10, 1.234): got %s, wanted 12.34 (app/rates.py, line 5)" % got)
            failed += 1
            continue
    print("case %d of the conversion table is checked and fine" % case)
print("%d of 9000 cases failed" % failed)
sys.exit(1 if failed else 0)
PY
