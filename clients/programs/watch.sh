# \watch until Ctrl-C, which asks the server to cancel.
set -u
times=$(echo 'SELECT 1 AS one \watch 0.1' | timeout -s INT 1.5 psql -X -t -A 2>/dev/null | grep -c '^1$')
[ "$times" -ge 2 ] && echo "watched: more than once" || echo "watched: $times"
