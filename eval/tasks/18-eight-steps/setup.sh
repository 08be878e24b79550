# Eight modules of some size, a feature that touches each, tests for every step.
mkdir -p plant tests
touch plant/__init__.py
python3 - <<'PY'
for n in range(1, 9):
    lines = [f'"""Part {n} of the plant."""', "", ""]
    lines += [f"def start_{n}(state):", f"    state.append(\"start {n}\")", "    return state", "", ""]
    for m in range(230):
        lines += [f"TABLE_{n}_{m:03} = (\"row {m} of table {n}\", {n * m})"]
    open(f"plant/part_{n}.py", "w").write("\n".join(lines) + "\n")
PY
cat > tests/test_plant.py <<'PY'
import importlib
import unittest


class PlantTest(unittest.TestCase):
    pass


def case(n):
    def test(self):
        part = importlib.import_module("plant.part_%d" % n)
        self.assertEqual(getattr(part, "start_%d" % n)([]), ["start %d" % n, "ready %d" % n])
    return test


for n in range(1, 9):
    setattr(PlantTest, "test_%d" % n, case(n))
PY
