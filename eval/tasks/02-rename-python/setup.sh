# Twelve modules that use one function; one string that names it must stay.
mkdir -p shop tests
touch shop/__init__.py
cat > shop/prices.py <<'PY'
"""Prices."""


def calc_total(items):
    return sum(item["price"] * item["count"] for item in items)
PY
for n in $(seq 1 11); do
cat > shop/part_$n.py <<PY
"""Part $n of the shop."""

from shop.prices import calc_total


def report_$n(items):
    total = calc_total(items)
    return "part $n: %d" % total
PY
done
cat >> shop/part_7.py <<'PY'


# Written to old logs; readers search for it.
LOG_KEY = "calc_total"
PY
cat > tests/test_shop.py <<'PY'
import importlib
import unittest


class ShopTest(unittest.TestCase):
    def test_parts(self):
        items = [{"price": 2, "count": 3}]
        for n in range(1, 12):
            part = importlib.import_module("shop.part_%d" % n)
            self.assertEqual(getattr(part, "report_%d" % n)(items), "part %d: 6" % n)


if __name__ == "__main__":
    unittest.main()
PY
