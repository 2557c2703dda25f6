# What analysts do from Python with asyncpg: prepared statements, binary values, a pool.
import asyncio, datetime, os, asyncpg

def show(name, value):
    print(f"{name}: {value}", flush=True)

async def fails(connection, statement):
    try:
        await connection.fetch(statement)
        return "no error"
    except asyncpg.PostgresError as e:
        return e.sqlstate

async def main():
    # asyncpg checks certificates only when it is given a context to check them with
    pool = await asyncpg.create_pool(min_size=1, max_size=2, ssl="require" if os.environ.get("PGSSLMODE") == "require" else None)
    async with pool.acquire() as c:
        rows = await c.fetch("SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY table_name", "public")
        show("tables", " ".join(r[0] for r in rows))
        rows = await c.fetch("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", "visits")
        show("columns", ", ".join(" ".join(r) for r in rows))
        s = await c.prepare("SELECT COUNT(*) AS n FROM visits WHERE sex = $1 AND smoker = $2")
        show("parameters", [p.name for p in s.get_parameters()])
        show("types", [(a.name, a.type.name) for a in s.get_attributes()])
        show("released women", await s.fetchval("F", True))
        show("released old", await c.fetchval("SELECT COUNT(*) FROM visits WHERE age >= $1", 65))
        show("released spring", await c.fetchval("SELECT COUNT(*) FROM visits WHERE admitted < $1", datetime.date(2024, 3, 1)))
        show("released listed", await c.fetchval("SELECT COUNT(*) FROM visits WHERE ward = ANY($1)", ["cardiology", "surgery"]))
        show("released autumn", await c.fetchval("SELECT COUNT(*) FROM visits WHERE date_trunc($1, admitted) >= $2::timestamp - $3::interval",
                                                 "month", datetime.datetime(2024, 10, 31), datetime.timedelta(days=30)))
        show("wards", [tuple(r) for r in await c.fetch("SELECT * FROM wards ORDER BY floor")])
        async with c.transaction():
            show("released groups", ", ".join([f"{r[0]} {r[1]}" async for r in c.cursor(
                "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward", prefetch=2)]))
        show("syntax", await fails(c, "SELEC 1"))
        t = c.transaction()
        await t.start()
        show("unknown", await fails(c, "SELECT COUNT(*) FROM nowhere"))
        show("failed", await fails(c, "SELECT 1"))
        await t.rollback()
    async with pool.acquire() as c:  # was reset when it went back
        show("again", await c.fetchval("SELECT 1 AS one"))
    await pool.close()

asyncio.run(main())
