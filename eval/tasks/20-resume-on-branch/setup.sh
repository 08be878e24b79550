cat > tax.py <<'PY'
"""Taxes."""


def net(gross):
    return gross * 0.8


def gross(net):
    return net / 0.7
PY
cat > test_tax.py <<'PY'
import unittest
import tax


class TaxTest(unittest.TestCase):
    def test_both_ways(self):
        self.assertEqual(round(tax.gross(tax.net(100))), 100)
        self.assertEqual(tax.net(100), 75)
PY
git init -q -b main && git add -A && git commit -qm "taxes" && git branch fix/rates
