mkdir -p api web jobs
for part in api web jobs; do for n in $(seq 1 30); do printf 'VALUE_%s = %s\n' $n $n > $part/file_$n.py; done; done
printf '# Limits\n\nTIMEOUT = 15\n' > api/limits.py
printf '# Pages\n\nPAGE_SIZE = 40\n' > web/pages.py
printf '# Queue\n\n\nWORKERS = 6\n' > jobs/queue_settings.py
