mkdir -p notes
printf 'The release is planned for May.\n' > notes/plan.txt
