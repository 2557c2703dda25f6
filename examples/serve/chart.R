# Draws visits by diagnosis, with error bars, into visits.pdf.
#
# usage: Rscript chart.R CONNECTION     such as "host=127.0.0.1 port=5433 user=ana dbname=clinic"
suppressPackageStartupMessages(library(RPostgreSQL))

server <- dbConnect(PostgreSQL(), dbname = commandArgs(trailingOnly = TRUE)[1])
visits <- dbGetQuery(server, "SELECT diagnosis, COUNT(*) AS visits, MARGIN(COUNT(*)) AS margin
                              FROM visits WHERE year = 2025 GROUP BY diagnosis ORDER BY visits DESC")
print(head(visits, 2), row.names = FALSE)

pdf("visits.pdf")
places <- barplot(visits$visits, names.arg = visits$diagnosis, las = 2, ylab = "visits in 2025",
                  ylim = c(0, max(visits$visits + visits$margin)))
arrows(places, visits$visits - visits$margin, places, visits$visits + visits$margin, angle = 90, code = 3, length = 0.05)
invisible(dev.off())
invisible(dbDisconnect(server))
