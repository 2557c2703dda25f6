// Command gorm asks a server as Go programs do with GORM: its models, and its migrator,
// which looks tables up. The environment says where the server is.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Ward is a row of the public table.
type Ward struct {
	Ward  string `gorm:"primaryKey"`
	Floor int64
	Area  float64
}

// Visit is of the private table: only its name and its columns' names are used.
type Visit struct {
	Age    int64
	Sex    string
	Ward   string
	Smoker bool
}

func die(err error) {
	fmt.Println("died:", err)
	os.Exit(1)
}

func show(name string, value any) { fmt.Printf("%s: %v\n", name, value) }

func code(err error) string {
	var e *pgconn.PgError
	switch {
	case errors.As(err, &e):
		return e.Code
	case err != nil:
		return err.Error()
	}
	return "no error"
}

func main() {
	db, err := gorm.Open(postgres.New(postgres.Config{DSN: " "}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		die(err)
	}
	m := db.Migrator()
	tables, err := m.GetTables()
	if err != nil {
		die(err)
	}
	show("tables", strings.Join(tables, " "))
	show("has", []bool{m.HasTable("visits"), m.HasTable("nowhere"), m.HasColumn(&Ward{}, "floor"), m.HasColumn(&Ward{}, "none"), m.HasIndex(&Ward{}, "none")})
	show("database", m.CurrentDatabase())
	for _, model := range []any{&Ward{}, &Visit{}} { // GORM asks for a row, which a private table does not give
		types, err := m.ColumnTypes(model)
		show("columns", code(err))
		for _, t := range types {
			nullable, ok := t.Nullable()
			show("column", fmt.Sprint(t.Name(), " ", t.DatabaseTypeName(), " ", nullable, " ", ok))
		}
	}
	var n int64
	show("error", code(db.Model(&Visit{}).Where("sex = ? AND smoker = ?", "F", true).Count(&n).Error))
	show("released women", n)
	show("error", code(db.Model(&Visit{}).Where(&Visit{Sex: "F", Smoker: true}).Count(&n).Error))
	show("released women", n)
	var groups []struct {
		Ward string
		N    int64
	}
	show("error", code(db.Model(&Visit{}).Select("ward, COUNT(*) AS n").Group("ward").Order("ward").Scan(&groups).Error))
	var text []string
	for _, g := range groups {
		text = append(text, fmt.Sprint(g.Ward, " ", g.N))
	}
	show("released groups", strings.Join(text, ", "))
	var wards []Ward
	show("error", code(db.Order("floor").Find(&wards).Error))
	show("wards", wards)
	var first Ward
	show("error", code(db.First(&first, "ward = ?", wards[0].Ward).Error))
	show("first", first)
	show("syntax", code(db.Exec("SELEC 1").Error))
	show("failed", code(db.Transaction(func(tx *gorm.DB) error {
		show("unknown", code(tx.Exec("SELECT COUNT(*) FROM nowhere").Error))
		return tx.Exec("SELECT 1").Error
	})))
	show("again", code(db.Exec("SELECT 1").Error))
}
