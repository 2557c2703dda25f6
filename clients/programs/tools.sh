# Questions like those of tools that cannot be run here, sent by psql.
exec stdbuf -o0 psql -X -q -f tools.sql
