# An image with dpsql and nothing else: no shell, no C, and no user but nonroot (65532).
#
#	docker build -t dpsql .
#	docker run -p 5433:5433 -v /srv/clinic:/data dpsql
#
# The folder holds clinic.db, and belongs to user 65532. Mount the folder and not the file
# alone, since the log and the ledger's mark stand beside the file.
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 GOWORK=off go build -trimpath -ldflags=-s -o /dpsql ./cmd/dpsql

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /dpsql /dpsql
EXPOSE 5433
ENTRYPOINT ["/dpsql"]
CMD ["serve", "/data/clinic.db", "--listen", ":5433", "--self-signed"]
