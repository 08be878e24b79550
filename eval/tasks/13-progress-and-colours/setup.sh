mkdir -p src
cat > build.py <<'PY'
"""A build that draws progress bars and colours."""
import sys

steps = 400
for step in range(steps + 1):
    bar = "#" * (step * 40 // steps)
    sys.stdout.write("\r\x1b[2K\x1b[32m[%-40s]\x1b[0m %3d%% compiling unit_%03d.c" % (bar, step * 100 // steps, step))
    sys.stdout.flush()
print()
settings = dict(line.strip().split("=") for line in open("src/settings.txt"))
if settings.get("target") != "release":
    print("\x1b[1m\x1b[31merror\x1b[0m: src/settings.txt: target is %s, release is wanted" % settings.get("target"))
    sys.exit(1)
print("\x1b[1m\x1b[32mdone\x1b[0m")
PY
printf 'jobs=4\ntarget=debug-build\n' > src/settings.txt
