# pgbouncer between psql or pgbench and the server, pooling by session and by transaction.
set -eu
SCRATCH=$(mktemp -d) # that of the tests is closed to nobody
tls=disable; [ "$PGSSLMODE" = require ] && tls=require
for mode in session transaction; do
  port=$((20000 + ($$ % 20000) + ${#mode}))
  cat >"$SCRATCH/$mode.ini" <<INI
[databases]
$PGDATABASE = host=$PGHOST port=$PGPORT dbname=$PGDATABASE
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = plain
auth_file = $SCRATCH/users
pool_mode = $mode
server_tls_sslmode = $tls
logfile = $SCRATCH/$mode.log
pidfile = $SCRATCH/$mode.pid
ignore_startup_parameters = extra_float_digits
INI
  echo "\"$PGUSER\" \"$PGPASSWORD\"" >"$SCRATCH/users"
  set --
  if [ "$(id -u)" = 0 ]; then chmod -R a+rwX "$SCRATCH"; set -- -u nobody; fi
  /usr/sbin/pgbouncer -q "$@" "$SCRATCH/$mode.ini" 2>/dev/null &
  bouncer=$!
  trap 'kill $bouncer; rm -rf "$SCRATCH"' EXIT
  for _ in $(seq 100); do
    PGSSLMODE=disable PGHOST=127.0.0.1 PGPORT=$port psql -X -q -c 'SELECT 1' >/dev/null 2>&1 && break
    sleep 0.05
  done
  echo "mode: $mode"
  for _ in 1 2 3; do
    PGSSLMODE=disable PGHOST=127.0.0.1 PGPORT=$port psql -X -t -A -F ' ' <<'SQL' 2>&1 | grep -vE '^( *\^|LINE|HINT|NOTICE)' | sed -E 's/^ERROR:.*/error/'
SET application_name = 'pooled';
SELECT COUNT(*) AS women FROM visits WHERE sex = 'F' AND smoker = TRUE \gset
\echo released women: :women
BEGIN;
SELECT ward, floor FROM wards ORDER BY floor LIMIT 1;
SELEC 1;
ROLLBACK;
SELECT 1;
SQL
  done
  PGSSLMODE=disable PGHOST=127.0.0.1 PGPORT=$port pgbench -n -M extended -c 8 -j 1 -t 10 -f /dev/stdin 2>&1 <<'SQL' | grep -E 'actually|pgbench: error' || true
SELECT COUNT(*) FROM visits WHERE sex = 'F' AND smoker = TRUE;
SQL
  kill $bouncer; wait $bouncer 2>/dev/null || true
  trap 'rm -rf "$SCRATCH"' EXIT
done
