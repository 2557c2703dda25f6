# pgcli: what it asks for completion, and its commands. What it prints is for a terminal; the
# frames, the echo and the times are cut.
set -eu
printf '%s\n' '\pset pager off' '\dt' '\d wards' 'SELECT * FROM wards ORDER BY floor;' 'SELEC 1;' \
  "SELECT COUNT(*) FROM visits WHERE sex = 'F' AND smoker = TRUE;" '\q' |
  XDG_CONFIG_HOME=$SCRATCH HOME=$SCRATCH timeout 60 pgcli --no-password --less-chatty 2>&1 | tr -d '\r' |
  grep -E '^(\| |SELECT [0-9]|[a-z].*(error|SELEC|does not))' | sed -E 's/ +\|$//; s/ +\| +/ | /g; s/^\| //; s/^([0-9]+)$/released women: \1/'
