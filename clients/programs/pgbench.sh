# pgbench: each mode of sending statements, from several connections.
set -eu
echo "SELECT COUNT(*) FROM visits WHERE sex = 'F' AND smoker = TRUE;" >"$SCRATCH/ask.sql"
for mode in simple extended prepared; do
  pgbench -n -M "$mode" -c 4 -j 1 -t 25 -f "$SCRATCH/ask.sql" 2>&1 | grep -E '^(number of (clients|transactions actually|failed)|query mode|pgbench: error)' | sed "s/^/$mode /"
done
