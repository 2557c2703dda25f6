# SQLAlchemy: reflection of a schema, and a SELECT built from what was reflected.
import datetime
from sqlalchemy import MetaData, create_engine, func, inspect, select, text
from sqlalchemy.exc import DBAPIError

def show(name, value):
    print(f"{name}: {value}", flush=True)

engine = create_engine("postgresql+psycopg2://")
i = inspect(engine)
show("schemas", " ".join(s for s in i.get_schema_names() if s in ("public", "information_schema")))
show("tables", " ".join(sorted(i.get_table_names())))
show("views", i.get_view_names())
for table in "visits", "wards":
    show(table, ", ".join(f"{c['name']} {c['type']}" for c in i.get_columns(table)))
    show("key", i.get_pk_constraint(table)["constrained_columns"])
    show("foreign keys", i.get_foreign_keys(table))
    show("indexes", i.get_indexes(table))
    show("unique", i.get_unique_constraints(table))
    show("checks", [c["name"] for c in i.get_check_constraints(table)])
    show("comment", "a text" if i.get_table_comment(table)["text"] else "none")
show("has", [i.has_table("visits"), i.has_table("nowhere")])
m = MetaData()
m.reflect(engine)
v, w = m.tables["visits"].c, m.tables["wards"].c
with engine.connect() as c:
    show("released women", c.scalar(select(func.count()).select_from(m.tables["visits"]).where(v.sex == "F", v.smoker == True)))
    show("released old", c.scalar(select(func.count()).select_from(m.tables["visits"]).where(v.age >= 65)))
    show("released spring", c.scalar(select(func.count()).select_from(m.tables["visits"]).where(v.admitted < datetime.date(2024, 3, 1))))
    groups = c.execute(select(v.ward, func.count().label("n")).group_by(v.ward).order_by(v.ward))
    show("released groups", ", ".join(f"{r.ward} {r.n}" for r in groups))
    show("wards", c.execute(select(m.tables["wards"]).order_by(w.floor)).fetchall())
    try:
        c.execute(text("SELEC 1"))
    except DBAPIError as e:
        show("syntax", e.orig.pgcode)
with engine.begin() as c:
    show("again", c.execute(text("SELECT 1 AS one")).fetchall())
engine.dispose()
