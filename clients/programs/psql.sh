# psql, with its lines and its errors in order.
exec stdbuf -o0 psql -X -q -f psql.sql
