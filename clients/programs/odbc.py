# pyodbc over psqlODBC: the catalog functions of ODBC, parameters, an error in a transaction.
import datetime, os, pyodbc

def show(name, value):
    print(f"{name}: {value}", flush=True)

def fails(connection, statement):
    try:
        connection.cursor().execute(statement)
        return "no error"
    except pyodbc.Error as e:
        return e.args[0]

e = os.environ
for more in "", ";UseServerSidePrepare=0;UseDeclareFetch=1;Fetch=2":
    c = pyodbc.connect(f"Driver={{PostgreSQL Unicode}};Server={e['PGHOST']};Port={e['PGPORT']};Database={e['PGDATABASE']};"
                       f"Uid={e['PGUSER']};Pwd={e['PGPASSWORD']};SSLmode={e.get('PGSSLMODE', 'disable')}{more}")
    q = c.cursor()
    show("tables", " ".join(sorted(f"{t.table_name} {t.table_type}" for t in q.tables(schema="public").fetchall())))
    show("columns", ", ".join(f"{t.column_name} {t.type_name} {t.data_type}" for t in q.columns(table="visits", schema="public").fetchall()))
    show("keys", [t.column_name for t in q.primaryKeys("wards").fetchall()])
    show("indexes", [t.index_name for t in q.statistics("wards").fetchall() if t.index_name])
    show("released women", q.execute("SELECT COUNT(*) FROM visits WHERE sex = ? AND smoker = ?", "F", True).fetchval())
    show("released old", q.execute("SELECT COUNT(*) FROM visits WHERE age >= ?", 65).fetchval())
    show("released spring", q.execute("SELECT COUNT(*) FROM visits WHERE admitted < ?", datetime.date(2024, 3, 1)).fetchval())
    groups = q.execute("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward").fetchall()
    show("released groups", ", ".join(f"{w} {n}" for w, n in groups))
    show("wards", [tuple(r) for r in q.execute("SELECT * FROM wards ORDER BY floor").fetchall()])
    c.rollback()
    show("syntax", fails(c, "SELEC 1"))
    c.rollback()
    show("unknown", fails(c, "SELECT COUNT(*) FROM nowhere"))
    c.rollback()
    show("again", [tuple(r) for r in c.cursor().execute("SELECT 1 AS one").fetchall()])
    c.commit()
    c.close()
