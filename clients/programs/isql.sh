# isql, unixODBC's shell, over psqlODBC.
set -eu
ask() {
  isql -k "Driver={PostgreSQL Unicode};Server=$PGHOST;Port=$PGPORT;Database=$PGDATABASE;Uid=$PGUSER;Pwd=$PGPASSWORD;SSLmode=$PGSSLMODE" -b -d, </dev/stdin 2>&1 | grep -v '^$' || true
}
echo "tables: $(echo 'help' | ask | tr -s '\n' ' ')"
echo "columns: $(echo 'help visits' | ask | cut -d, -f3,4,6 | tr -s '\n' ' ')"
echo "released women: $(echo "SELECT COUNT(*) FROM visits WHERE sex = 'F' AND smoker = TRUE" | ask | tail -1)"
echo "wards: $(echo 'SELECT ward, floor, area FROM wards ORDER BY floor' | ask | tr -s '\n' ' ')"
echo "syntax: $(echo 'SELEC 1' | ask | head -1)"
