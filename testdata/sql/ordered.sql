-- Quantiles, distinct values and averages of dates, timestamps and numbers in steps.
SELECT MEDIAN(came), QUANTILE(came, 0.9), MIN(came), MAX(came) FROM stays;
--> median | quantile | min | max
--> '2024-03-05' | '2024-07-15' | '2024-01-01' | '2024-11-20'
--> under ordered, direct:
--> median | quantile | min | max
--> '2024-03-05' | '2024-07-15' | '2024-01-01' | '2024-09-13'
SELECT sex, MEDIAN(came) AS m, MARGIN(m) AS days, LOW(m), HIGH(m) FROM stays WHERE sex IN ('F', 'M') GROUP BY sex HAVING m > '2024-01-01' ORDER BY m DESC;
--> sex | m | days | low | high
--> 'M' | '2024-03-05' | 0.0 | '2024-03-05' | '2024-03-05'
--> 'F' | '2024-02-06' | 0.0 | '2024-02-06' | '2024-02-06'
--> under ordered, direct:
--> sex | m | days | low | high
--> 'M' | '2024-03-05' | 0.0 | '2024-03-05' | '2024-03-05'
--> 'F' | '2024-02-06' | 64.0 | '2024-02-06' | '2024-04-10'
SELECT strftime('%Y-%m', came) AS month, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY came) AS m FROM stays WHERE came < '2024-04-01' GROUP BY 1;
--> month | m
--> '2024-01' | '2024-01-05'
--> '2024-02' | '2024-02-06'
--> '2024-03' | '2024-03-05'
SELECT MEDIAN(at), PERCENTILE_CONT(at, 0.51), MAX(at) AS last, MARGIN(last) AS days FROM stays;
--> median | percentile_cont | last | days
--> '2024-01-12 18:00:00' | '2024-01-12 18:00:00' | '2024-01-27 12:00:00' | 0.0
--> under ordered, direct:
--> median | percentile_cont | last | days
--> '2024-01-12 18:00:00' | '2024-01-12 18:00:00' | '2024-01-24 12:00:00' | 7.25
SELECT MEDIAN(cost) AS m, LOW(m), HIGH(m), MIN(cost), MAX(cost), QUANTILE(cost, 1) FROM stays;
--> m | low | high | min | max | quantile
--> 25.0 | 20.0 | 30.0 | 10.0 | 70.0 | 75.0
SELECT MEDIAN(fee), PERCENTILE_CONT(fee, 0.3), QUANTILE(fee, 0.99), MIN(fee), MAX(fee) FROM stays;
--> median | percentile_cont | quantile | min | max
--> 0.4 | 0.3 | 0.9 | 0.0 | 0.9
--> under ordered, direct:
--> median | percentile_cont | quantile | min | max
--> 0.4 | 0.3 | 0.9 | 0.0 | 0.8
SELECT cost, MEDIAN(fee) AS m FROM stays WHERE fee > 0 GROUP BY cost;
--> cost | m
--> NULL | 0.65
--> 0.0 | 0.3
--> 10.0 | NULL
--> 20.0 | 0.4
--> 30.0 | NULL
--> 40.0 | NULL
--> 50.0 | NULL
--> 60.0 | NULL
--> 70.0 | 0.5
--> 80.0 | NULL
--> 90.0 | NULL
SELECT MEDIAN(fee) * 2 AS twice, MARGIN(twice) AS margin FROM stays;
--> twice | margin
--> 0.8 | 0.0
SELECT COUNT(DISTINCT came), COUNT(DISTINCT at), COUNT(DISTINCT cost), COUNT(DISTINCT fee) FROM stays;
--> count | count | count | count
--> 10 | 10 | 3 | 10
SELECT AVG(cost), SUM(fee), REGR_COUNT(cost, fee) FROM stays;
--> avg | sum | regr_count
--> 31.66666667 | 102.0 | 216
SELECT AVG(came - '2024-01-01') FROM stays;
--> avg
--> 90.33333333
SELECT COUNT(*) FROM stays WHERE cost * 2 >= 40 AND NOT 1 - fee > 0.7;
--> count
--> 116
SELECT COUNT(*) FROM stays WHERE fee + fee * 0.5 = 0.6;
--> count
--> 52
SELECT COUNT(*) FILTER (WHERE cost / 10 < 2) AS low FROM stays WHERE CASE WHEN fee > 0.4 THEN fee ELSE 0 END <= 0.5;
--> low
--> 76
-- Around them.
SELECT m, date(m, '+1 day') AS next FROM (SELECT MEDIAN(came) AS m FROM stays) AS x;
--> m | next
--> '2024-03-05' | '2024-03-06'
SELECT julianday(QUANTILE(came, 0.9)) - julianday(QUANTILE(came, 0.1)) AS days FROM stays;
--> days
--> 192.0
SELECT MAX(came) - MIN(came) AS days FROM stays;
--> error unsupported at 18: computing with a date, which is a text around aggregates, is outside the dialect
--> hint: write date(x, '+1 day') for a later date, and julianday(x) - julianday(y) for the days between two
SELECT '2024-03-05' BETWEEN 1 AND MEDIAN(came) FROM stays;
--> error invalid at 21: a date is compared with a number
--> hint: write the date in single quotes: '2024-12-31'
SELECT came + 1, COUNT(*) FROM stays WHERE came < '2024-01-04' GROUP BY came;
--> came + 1 | count
--> '2024-01-02' | 12
--> '2024-01-03' | 0
--> '2024-01-04' | 0
SELECT came + 1, COUNT(*) * 2.5 / (SELECT COUNT(*) FROM stays) FROM stays WHERE came < '2024-01-04' GROUP BY came;
--> error unsupported at 13: computing with a date, which is a text around aggregates, is outside the dialect
--> hint: write date(x, '+1 day') for a later date, and julianday(x) - julianday(y) for the days between two
SELECT came - '2024-01-01' AS day, COUNT(*) FROM stays WHERE came < '2024-01-04' GROUP BY came HAVING came + 1 > '2024-01-02' ORDER BY came - 1 DESC;
--> day | count
--> 2 | 0
--> 1 | 0
SELECT came || '', COUNT(*) FROM stays WHERE came < '2024-01-04' GROUP BY came;
--> came || '' | COUNT(*)
--> '2024-01-01' | 12
--> '2024-01-02' | 0
--> '2024-01-03' | 0
SELECT came + 1 AS next, COUNT(*) FROM stays WHERE came < '2024-01-04' GROUP BY 1;
--> next | count
--> '2024-01-02' | 12
--> '2024-01-03' | 0
--> '2024-01-04' | 0
SELECT CASE WHEN COUNT(*) > 0 THEN MEDIAN(came) ELSE 'none' END = datetime(MEDIAN(came)) AS same FROM stays;
--> same
--> 1
SELECT COALESCE(MEDIAN(came), MAX(at)) AS began FROM stays;
--> began
--> '2024-03-05 00:00:00'
SELECT came, COUNT(*) FROM stays WHERE came < '2024-01-03' GROUP BY came HAVING COALESCE(came, 'none') = '2024-01-02 00:00';
--> came | count
--> '2024-01-02' | 0
SELECT CASE WHEN COUNT(*) > 0 THEN came ELSE datetime(came) END AS began, COUNT(*) FROM stays WHERE came < '2024-01-03' GROUP BY came HAVING began <= '2024-01-02 00:00';
--> began | COUNT(*)
--> '2024-01-01 00:00:00' | 12
--> '2024-01-02 00:00:00' | 0
SELECT CASE WHEN n > 0 THEN d ELSE datetime(d) END AS began FROM (SELECT came AS d, COUNT(*) AS n FROM stays WHERE came < '2024-01-03' GROUP BY came) x;
--> began
--> '2024-01-01 00:00:00'
--> '2024-01-02 00:00:00'
SELECT d FROM (SELECT came AS d, COUNT(*) AS n FROM stays WHERE came < '2024-01-03' GROUP BY came) x WHERE '2024-01-02 00:00' IN (d);
--> d
--> '2024-01-02'
SELECT d FROM (SELECT CASE WHEN COUNT(*) > 0 THEN came ELSE 'few' END AS d FROM stays WHERE came < '2024-01-03' GROUP BY came) x WHERE d <= '2024-01-01 00:00';
--> d
--> '2024-01-01'
-- Refused.
SELECT MEDIAN(came + 1) FROM stays;
--> error unsupported at 15: MEDIAN of an expression is outside the dialect
--> hint: it takes a column: write MEDIAN(x), QUANTILE(x, 0.9), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), MIN(x) or MAX(x), where x is a column
SELECT MEDIAN(sex) FROM stays;
--> error unsupported at 15: MEDIAN of column sex, which is TEXT, is outside the dialect
--> hint: SELECT x, COUNT(*) FROM table GROUP BY x counts the rows of each value; take it from these counts
SELECT COUNT(*) FROM stays WHERE cost * 2 > 41;
--> error unsupported at 45: column cost has steps of 10, and > 20.5 would divide the step from 20 to 30
--> hint: write cost >= 20 or cost >= 30
SELECT COUNT(*) FROM stays WHERE cost + fee > 40;
--> error unsupported at 34: computing with REAL column cost in a condition or function is outside the dialect
--> hint: a row of cost is anywhere in a step of 10, the first of which begins at 0 and the last of which ends at 100: compare cost, or a multiple of it, with such a bound
SELECT AVG(at) FROM stays;
--> error unsupported at 12: adding up column at, which is TIMESTAMP, is outside the dialect
--> hint: write MEDIAN(at), or AVG(unixepoch(at)), a number of seconds
SELECT AVG(came) FROM stays;
--> error unsupported at 12: adding up column came, which is DATE, is outside the dialect
--> hint: write MEDIAN(came), or AVG(came - '2024-01-01'), a number of days
