mkdir -p app tests
cat > format.py <<'PY'
"""Formats the files named in a hook's input: single quotes become double ones, blanks at line ends go."""
import json
import sys

path = json.load(sys.stdin)["tool_input"].get("file_path", "")
if path.endswith(".py"):
    text = open(path).read()
    formatted = "\n".join(line.rstrip().replace("'", '"') for line in text.split("\n"))
    if formatted != text:
        open(path, "w").write(formatted)
PY
cat > app/names.py <<'PY'
"""Names of people."""


def full(person):
    return person['first'] + ' ' + person['last']


def short(person):
    return person['first'][0] + '. ' + person['last']


def sort_key(person):
    return (person['last'], person['first'])
PY
cat > tests/test_names.py <<'PY'
import unittest
from app import names

ADA = {"first": "Ada", "last": "King", "title": "Countess"}


class NamesTest(unittest.TestCase):
    def test_full(self):
        self.assertEqual(names.full(ADA), "Countess Ada King")

    def test_short(self):
        self.assertEqual(names.short(ADA), "A.King")

    def test_key(self):
        self.assertEqual(names.sort_key(ADA), ("king", "ada"))


if __name__ == "__main__":
    unittest.main()
PY
