"""Draws visits by diagnosis, with error bars, into visits.png.

usage: python3 chart.py CONNECTION     such as "host=127.0.0.1 port=5433 user=ana dbname=clinic"
"""
import sys

import matplotlib
import pandas
import psycopg2

matplotlib.use("Agg")  # no screen is needed

QUERY = """SELECT diagnosis, COUNT(*) AS visits, MARGIN(COUNT(*)) AS margin
           FROM visits WHERE year = 2025 GROUP BY diagnosis ORDER BY visits DESC"""

with psycopg2.connect(sys.argv[1]) as server, server.cursor() as cursor:
    cursor.execute(QUERY)
    visits = pandas.DataFrame(cursor.fetchall(), columns=[c.name for c in cursor.description])
    print(visits.head(2).to_string(index=False))
    print(server.notices[-1].strip())

chart = visits.plot.bar(x="diagnosis", y="visits", yerr="margin", legend=False, capsize=3)
chart.set_ylabel("visits in 2025")
chart.figure.savefig("visits.png", bbox_inches="tight")
