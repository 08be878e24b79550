mkdir -p src include
cat > include/limits.h <<'C'
#define LIMIT(name, value) enum { MAX_##name = (value) }

/* Sizes of the tables. */
LIMIT(SESSIONS, 512);
LIMIT(STREAMS, 64);
LIMIT(FRAMES, 4096);
C
for n in $(seq 1 40); do printf '#include "limits.h"\n\nint use_%s(int n) {\n    return n < MAX_STREAMS ? n : -1;\n}\n' $n > src/part_$n.c; done
