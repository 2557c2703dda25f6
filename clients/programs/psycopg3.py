# What analysts do from Python with psycopg 3, which binds on the server.
import datetime, psycopg

def show(name, value):
    print(f"{name}: {value}", flush=True)

def fails(connection, statement):
    try:
        connection.execute(statement)
        return "no error"
    except psycopg.Error as e:
        return e.sqlstate

c = psycopg.connect("", autocommit=True)
q = c.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY table_name", ("public",))
show("tables", " ".join(r[0] for r in q))
q = c.execute("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position", ("visits",))
show("columns", ", ".join(" ".join(r) for r in q))
for prepare in False, True:
    q = c.execute("SELECT COUNT(*) AS n FROM visits WHERE sex = %s AND smoker = %s", ("F", True), prepare=prepare)
    show("types", f"{q.description[0].name} {q.description[0].type_code}")
    show("released women", q.fetchone()[0])
    show("released old", c.execute("SELECT COUNT(*) FROM visits WHERE age >= %s", (65,), prepare=prepare, binary=prepare).fetchone()[0])
    show("released listed", c.execute("SELECT COUNT(*) FROM visits WHERE ward = ANY(%s)", (["cardiology", "surgery"],), prepare=prepare, binary=prepare).fetchone()[0])
    moment, month = datetime.datetime(2024, 10, 31, tzinfo=datetime.timezone.utc), datetime.timedelta(days=30)
    show("released autumn", c.execute("SELECT COUNT(*) FROM visits WHERE date_trunc(%s, admitted) >= %s - %s", ("month", moment, month), prepare=prepare).fetchone()[0])
show("released spring", c.execute("SELECT COUNT(*) FROM visits WHERE admitted < %s", (datetime.date(2024, 3, 1),), binary=True).fetchone()[0])
show("wards", c.execute("SELECT * FROM wards ORDER BY floor", binary=True).fetchall())
with c.transaction():
    with c.cursor("groups") as named:  # a cursor of the server
        named.itersize = 2
        named.execute("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward")
        show("released groups", ", ".join(f"{w} {n}" for w, n in named))
with c.cursor().copy("COPY (SELECT ward, floor FROM wards ORDER BY floor) TO STDOUT") as copy:
    show("copy", list(copy.rows()))
with c.pipeline():
    first, second = c.execute("SELECT 1 AS one"), c.execute("SELECT 2 AS two")
    show("pipeline", [first.fetchone(), second.fetchone()])
c.autocommit = False
show("syntax", fails(c, "SELEC 1"))
show("failed", fails(c, "SELECT 1"))
c.rollback()
show("unknown", fails(c, "SELECT COUNT(*) FROM nowhere"))
c.rollback()
try:
    with c.transaction():  # a savepoint inside a transaction
        c.execute("SELECT 1")
        with c.transaction():
            c.execute("SELEC 1")
except psycopg.Error as e:
    show("nested", e.sqlstate)
show("again", c.execute("SELECT 1 AS one").fetchall())
c.commit()
c.close()
