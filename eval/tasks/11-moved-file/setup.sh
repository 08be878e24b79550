mkdir -p lib/util src/deep/place
printf '"""Parsing of dates."""\n\n\ndef parse(text):\n    year, month, day = text.split("-")\n    return int(year), int(month), int(day)\n\n\nEPOCH = (1970, 1, 1)\n' > lib/util/dates.py
for n in $(seq 1 60); do printf 'value = %s\n' $n > src/mod_$n.py; done
git init -q -b main && git add -A && git commit -qm "first"
git mv lib/util/dates.py src/deep/place/calendar_dates.py && git commit -qm "move the dates below deep/place"
