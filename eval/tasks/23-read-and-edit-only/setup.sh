printf '"""Words."""\n\n\ndef plural(word):\n    return word + "es"\n' > words.py
printf 'import unittest\nimport words\n\n\nclass WordsTest(unittest.TestCase):\n    def test_plural(self):\n        self.assertEqual(words.plural("cat"), "cats")\n' > test_words.py
