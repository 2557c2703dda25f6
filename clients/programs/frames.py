# pandas: a frame from a statement, from a reflected table, and in pieces.
import datetime

import pandas, sqlalchemy

def show(name, value):
    print(f"{name}: {value}", flush=True)

engine = sqlalchemy.create_engine("postgresql+psycopg2://")
groups = pandas.read_sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward", engine)
show("types", [str(t) for t in groups.dtypes])
show("released groups", ", ".join(f"{r.ward} {r.n}" for r in groups.itertuples()))
n = pandas.read_sql("SELECT COUNT(*) AS n FROM visits WHERE admitted < %(day)s", engine, params={"day": datetime.date(2024, 3, 1)})
show("released spring", n.n[0])
wards = pandas.read_sql_table("wards", engine)
show("wards", wards.sort_values("floor").values.tolist())
show("types", [str(t) for t in wards.dtypes])
pieces = pandas.read_sql("SELECT * FROM wards ORDER BY floor", engine.connect().execution_options(stream_results=True), chunksize=2)
show("pieces", [len(p) for p in pieces])
