// Package admissions makes a file of admissions to a hospital, as an office may get one: raw
// texts with semicolons and decimal commas, several admissions a patient, and values that nobody
// has listed. The patients are random, and the same for the same seed.
package admissions

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Questions is a script of dpsql. It imports admissions.csv, declares, releases and asks twenty
// questions.
//
//go:embed questions.sql
var Questions string

// maxVisits is the largest number of admissions of one patient.
const maxVisits = 3

// first is the first day of the three years that the admissions are in.
var first = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)

// days is the number of days from 2022 to 2024.
const days = 1096

// ward has what is usual there.
type ward struct {
	name      string
	share     float64 // of the admissions
	age       float64 // of the patients, in the middle
	stay      float64 // in days, on average
	daily     float64 // cost of a day
	emergency float64 // share of the admissions
}

var wards = []ward{
	{"cardiology", 0.2, 68, 6, 520, 0.5}, {"surgery", 0.24, 52, 4.5, 690, 0.3}, {"medicine", 0.28, 63, 7, 410, 0.6},
	{"maternity", 0.1, 31, 3, 450, 0.2}, {"paediatrics", 0.08, 7, 2.5, 480, 0.55}, {"neurology", 0.1, 60, 9, 560, 0.45},
}

// diagnoses is the number of codes. The first ones are frequent.
const diagnoses = 60

// Write writes a line of names and the given number of admissions.
func Write(w io.Writer, rows int, seed uint64) error {
	out := bufio.NewWriterSize(w, 1<<16)
	r := rand.New(rand.NewPCG(seed, 0))
	fmt.Fprintln(out, "patient;age;sex;ward;diagnosis;postcode;admitted;stay;cost;emergency")
	for patient, row := 1, 0; row < rows; patient++ {
		home := wards[pick(r)]
		age := int(math.Max(0, math.Min(104, home.age+14*r.NormFloat64())))
		sex := map[int]string{0: "d", 1: ""}[r.IntN(50)]
		if r.IntN(50) > 1 {
			sex = []string{"f", "m"}[r.IntN(2)]
		}
		postcode := 10000 + 10*int(40*math.Pow(r.Float64(), 4))
		for visit := 1; visit <= maxVisits && row < rows; visit++ {
			at := home
			if r.Float64() < 0.2 {
				at = wards[pick(r)]
			}
			code := int(diagnoses * math.Pow(r.Float64(), 3))
			stay := at.stay * (r.ExpFloat64() + r.ExpFloat64()) / 2
			cost := 300 + at.daily*stay*(0.7+0.006*float64(age)) + 400*r.ExpFloat64()
			emergency := 0
			if r.Float64() < at.emergency {
				emergency = 1
			}
			admitted := first.AddDate(0, 0, season(r))
			fmt.Fprintf(out, "P%07d;%d;%s;%s;%c%02d;%d;%s;%s;%s;%d\n", patient, age, sex, at.name, 'A'+code%13, code, postcode,
				admitted.Format("2006-01-02"), comma(stay, 1), comma(cost, 2), emergency)
			if row++; r.Float64() < 0.55 {
				break
			}
		}
	}
	return out.Flush()
}

// pick returns a ward.
func pick(r *rand.Rand) int {
	x := r.Float64()
	for i, w := range wards {
		if x -= w.share; x < 0 {
			return i
		}
	}
	return 0
}

// season returns a day. More are admitted in winter, and from year to year.
func season(r *rand.Rand) int {
	for {
		day := r.IntN(days)
		if r.Float64()*1.5 < 0.9+0.2*math.Cos(2*math.Pi*float64(day)/365.25)+0.3*float64(day)/days {
			return day
		}
	}
}

// comma writes a number with a decimal comma.
func comma(x float64, places int) string {
	return strings.Replace(fmt.Sprintf("%.*f", places, x), ".", ",", 1)
}
