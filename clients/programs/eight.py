# What analysts do from Python with pg8000, which speaks the protocol by itself.
import datetime, os, pg8000

def show(name, value):
    print(f"{name}: {value}", flush=True)

def fails(connection, statement):
    try:
        connection.cursor().execute(statement)
        return "no error"
    except pg8000.Error as e:
        return [a for a in e.args if len(a) == 5 and a != "ERROR"][0]

try:
    c = pg8000.connect(host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"],
                       password=os.environ["PGPASSWORD"], database=os.environ["PGDATABASE"], ssl=os.environ.get("PGSSLMODE") == "require")
except pg8000.InterfaceError as e:  # before version 1.14 it has no SCRAM
    show("no connection", e)
    raise SystemExit
q = c.cursor()
q.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY table_name", ("public",))
show("tables", " ".join(r[0] for r in q.fetchall()))
q.execute("SELECT COUNT(*) AS n FROM visits WHERE sex = %s AND smoker = %s", ("F", True))
show("released women", q.fetchone()[0])
q.execute("SELECT COUNT(*) FROM visits WHERE age >= %s", (65,))
show("released old", q.fetchone()[0])
q.execute("SELECT COUNT(*) FROM visits WHERE admitted < %s", (datetime.date(2024, 3, 1),))
show("released spring", q.fetchone()[0])
q.execute("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward")
show("released groups", ", ".join(f"{w} {n}" for w, n in q.fetchall()))
q.execute("SELECT * FROM wards ORDER BY floor")
show("wards", [list(r) for r in q.fetchall()])
c.rollback()
show("syntax", fails(c, "SELEC 1"))
show("failed", fails(c, "SELECT 1"))
c.rollback()
show("unknown", fails(c, "SELECT COUNT(*) FROM nowhere"))
c.rollback()
q.execute("SELECT 1 AS one")
show("again", [list(r) for r in q.fetchall()])
c.commit()
c.close()
