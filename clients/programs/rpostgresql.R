# RPostgreSQL, over R's DBI.
suppressPackageStartupMessages(library(RPostgreSQL))

show <- function(name, ...) cat(name, ": ", paste(...), "\n", sep = "")
fails <- function(statement) {
  r <- suppressWarnings(try(dbSendQuery(c, statement), silent = TRUE))
  if (inherits(r, "try-error") || is.null(r)) "an error" else "no error"
}

c <- dbConnect(PostgreSQL(), host = Sys.getenv("PGHOST"), port = Sys.getenv("PGPORT"), user = Sys.getenv("PGUSER"),
               password = Sys.getenv("PGPASSWORD"), dbname = Sys.getenv("PGDATABASE"))
show("tables", paste(sort(dbListTables(c)), collapse = " "))
show("exists", dbExistsTable(c, "visits"), dbExistsTable(c, "nowhere"))
show("columns", paste(dbListFields(c, "visits"), collapse = " "))
one <- function(...) dbGetQuery(c, ...)[1, 1]
show("released women", one("SELECT COUNT(*) AS n FROM visits WHERE sex = 'F' AND smoker = TRUE"))
show("released old", one("SELECT COUNT(*) AS n FROM visits WHERE age >= $1", list(65)))
show("released spring", one("SELECT COUNT(*) AS n FROM visits WHERE admitted < $1", list("2024-03-01")))
r <- dbSendQuery(c, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward")
first <- fetch(r, 2)
rest <- fetch(r, -1)
groups <- rbind(first, rest)
show("types", paste(dbColumnInfo(r)$type, collapse = " "))
invisible(dbClearResult(r))
show("released groups", paste(groups$ward, groups$n, collapse = ", "))
w <- dbReadTable(c, "wards")
w <- w[order(w$floor), ]
show("wards", paste(w$ward, w$floor, w$area, collapse = ", "))
show("syntax", fails("SELEC 1"))
invisible(dbBegin(c))
show("unknown", fails("SELECT COUNT(*) FROM nowhere"))
show("failed", fails("SELECT 1"))
invisible(dbRollback(c))
show("again", one("SELECT 1 AS one"))
invisible(dbDisconnect(c))
