cat > release.py <<'PY'
"""Writes the notes of a release. Asks for the version, unless it is given with --version."""
import sys

if "--version" in sys.argv:
    version = sys.argv[sys.argv.index("--version") + 1]
else:
    version = input("Which version? (or pass --version) ")
open("NOTES.txt", "w").write("Notes of %s\n" % version)
print("notes of", version, "written")
PY
