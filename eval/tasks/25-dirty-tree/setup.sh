printf 'def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n' > calc.py
printf 'Notes of the user.\n' > notes.txt
printf 'import unittest\nimport calc\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n' > test_calc.py
git init -q -b main && git add -A && git commit -qm "calc"
printf 'Notes of the user, not finished y\n' > notes.txt
printf 'def half(a):\n    return a /\n' > half.py
printf '\n\ndef triple(a):\n    return a * 3\n' >> calc.py
