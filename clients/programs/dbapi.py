# What analysts do from Python with psycopg2. The environment says where the server is.
import datetime, psycopg2

def show(name, value):
    print(f"{name}: {value}", flush=True)

def fails(connection, statement):
    try:
        connection.cursor().execute(statement)
        return "no error"
    except psycopg2.Error as e:
        return e.pgcode

c = psycopg2.connect("")
c.autocommit = True
q = c.cursor()
q.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY table_name", ("public",))
show("tables", " ".join(r[0] for r in q))
q.execute("SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position", ("visits",))
show("columns", ", ".join(" ".join(r) for r in q))
q.execute("SELECT COUNT(*) AS n FROM visits WHERE sex = %s AND smoker = %s", ("F", True))
show("types", f"{q.description[0].name} {q.description[0].type_code}")
show("released women", q.fetchone()[0])
q.execute("SELECT COUNT(*) FROM visits WHERE age >= %(age)s", {"age": 65})
show("released old", q.fetchone()[0])
q.execute("SELECT COUNT(*) FROM visits WHERE admitted < %s", (datetime.date(2024, 3, 1),))
show("released spring", q.fetchone()[0])
q.execute("SELECT * FROM wards ORDER BY floor")
show("wards", q.fetchall())
c.autocommit = False
with c.cursor("groups") as named:  # a cursor of the server
    named.itersize = 2
    named.execute("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward")
    show("released groups", ", ".join(f"{w} {n}" for w, n in named))
c.rollback()
show("syntax", fails(c, "SELEC 1"))
show("failed", fails(c, "SELECT 1"))
c.rollback()
show("unknown", fails(c, "SELECT COUNT(*) FROM nowhere"))
c.rollback()
q = c.cursor()
q.execute("SELECT 1 AS one")
show("again", q.fetchall())
c.commit()
c.close()
