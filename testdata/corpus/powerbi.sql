-- DirectQuery of Power BI, and reports over SQL Server's dialect: brackets, TOP, OFFSET … FETCH.
SELECT TOP (1000001) [visits].[sex], COUNT(*) AS [a0] FROM [visits] GROUP BY [visits].[sex];
--> sqlite
SELECT TOP (501) [rows].[year] AS [year], SUM([rows].[days]) AS [a0] FROM (SELECT [year], [days] FROM [visits] AS [$Table]) AS [rows] GROUP BY [rows].[year] ORDER BY [a0] DESC, [rows].[year];
--> sqlite
SELECT [t0].[chapter], [t0].[a0] FROM (SELECT [d].[chapter] AS [chapter], COUNT(*) AS [a0] FROM [visits] AS [v] INNER JOIN [diagnoses] AS [d] ON [v].[diagnosis] = [d].[code] GROUP BY [d].[chapter]) AS [t0] ORDER BY [t0].[a0] DESC, [t0].[chapter] OFFSET 0 ROWS FETCH NEXT 3 ROWS ONLY;
--> sqlite
SELECT COUNT(*) AS [a0], SUM([visits].[days]) AS [a1], AVG([visits].[days]) AS [a2] FROM [visits] WHERE [visits].[year] = 2025;
--> sqlite
SELECT [year], COUNT_BIG(*) AS [a0] FROM [visits] GROUP BY [year];
--> sqlite
SELECT SUM(CAST([days] AS BIGINT)) AS [a0] FROM [visits] WHERE [sex] = 'F' AND NOT ([age] IS NULL);
--> sqlite
SELECT [basetable0].[c1], [basetable0].[a0], [basetable0].[a0] / (SELECT COUNT(*) * 1.0 FROM [visits]) AS [share] FROM (SELECT [year] AS [c1], COUNT(*) AS [a0] FROM [visits] GROUP BY [year]) AS [basetable0] ORDER BY 1;
--> sqlite
SELECT IIF([age] >= 65, 'old', 'young') AS [who], COUNT(*) AS [n] FROM [visits] GROUP BY IIF([age] >= 65, 'old', 'young') ORDER BY 1;
--> sqlite
SELECT MAX([t].[n]) AS [most], MIN([t].[n]) AS [least] FROM (SELECT [diagnosis], COUNT(*) AS [n] FROM [visits] GROUP BY [diagnosis]) AS [t];
--> sqlite
SELECT YEAR([day]) AS [y], MONTH([day]) AS [m], SUM([cost]) AS [cost] FROM [events] GROUP BY YEAR([day]), MONTH([day]) ORDER BY 1, 2;
--> sqlite
SELECT [sex], [year], COUNT(*) AS [n] FROM [visits] WHERE [sex] IS NOT NULL GROUP BY [sex], [year] ORDER BY [sex], [year] OFFSET 2 ROWS FETCH NEXT 2 ROWS ONLY;
--> sqlite
SELECT COUNT(*) FROM [visits] WHERE [diagnosis] = ISNULL(NULL, 'I10');
--> sqlite
