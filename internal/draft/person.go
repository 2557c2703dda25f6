package draft

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"dpsql/sqlfront/syntax"
)

// Names of columns that tell persons apart, in the languages that tables are often in, and of columns
// that tell anything apart. A word of the first may stand beside one of the second.
const (
	personWords = `visitor|patient|customer|user|client|household|passenger|member|employee|student|subscriber|pupil|participant|respondent|subject|guest|applicant|citizen|resident|donor|tenant|voter|worker|driver|player|person|individual|people` +
		`|kunde|besucher|gast|sch(?:ü|ue)ler|mitarbeiter|mitglied|versichert|(?:be)?nutzer|teilnehmer|proband|fahrgast|haushalt|bewohner|einwohner` +
		`|visiteur|personne|utilisateur|membre|[ée]l[èe]ve|[ée]tudiant|employ[ée]|salari[ée]|abonn[ée]|adh[ée]rent|assur[ée]|m[ée]nage|usager` +
		`|visitante|persona|pessoa|paciente|paziente|cliente|usu[áa]rio|utente|miembro|membro|alun?o|alumno|estudiante|estudante|studente|emplead|empregad|dipendente|hogar|visitatore` +
		`|bezoeker|klant|pati[ëe]nt|gebruiker|leerling|bes(?:ö|ø)ka?(?:re|ende)|kund|bruker|medlem|pacjent|klient|osoba|u(?:ż|z)ytkownik|z[áa]kazn[íi]k|hasta|m(?:ü|u)(?:ş|s)teri|kullan(?:ı|i)c(?:ı|i)` +
		`|пациент|клиент|пользовател|посетител|сотрудник|студент|ученик|ασθεν|πελ[άα]τ|患者|顧客|会員|利用者|訪問者|社員|職員|学生|生徒|客户|客戶|用户|用戶|会员|會員|病人|员工|員工|访客|고객|환자|회원|사용자|학생|직원|مريض|عميل|रोगी|ग्राहक`
	idWords = `id|uuid|guid|key|no|nr|num|number|nummer|num[ée]ro|n[úu]mero|code|kennung|番号|号|號|コード|编号|編號|번호|아이디|номер|код|رقم|क्रमांक`
	// leastPersons is the smallest number of persons that a draft takes a column's values for.
	leastPersons = 20
	// mostOfOne is the largest number of rows that most persons have in a column whose name says nothing.
	mostOfOne = 10
)

// names matches the names of columns that tell persons, or anything, apart. They are compiled for each draft: no
// other statement needs them.
type names struct{ camel, person, any *regexp.Regexp }

func newNames() names {
	return names{
		camel:  regexp.MustCompile(`(\p{Ll})(\p{Lu})`),
		person: regexp.MustCompile(`(?i)(?:^|[^\p{L}]|^(?:` + idWords + `)(?:de|of)?)(?:` + personWords + `)\p{Ll}{0,3}?[^\p{L}]*(?:` + idWords + `)?s?[^\p{L}]*$`),
		any:    regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:` + idWords + `)[^\p{L}]*$`),
	}
}

// person is a column that may be the unit: its values repeat as those of persons do.
type person struct {
	name string
	rows int64 // that 95 % of the values have no more than, as a round number
	sure bool  // the name says so, too
}

// asPerson says whether the values of a column repeat as persons do: many of them, each in few rows. A name that
// speaks of persons allows more rows, and makes it sure. Whole columns of names of things are asked about.
func (d *drafter) asPerson(name, at string, f facts) (p person, named bool, err error) {
	present, words := f.rows-f.nulls, d.names.camel.ReplaceAllString(name, "${1}_${2}")
	speaks := d.names.person.MatchString(words)
	named = speaks || d.names.any.MatchString(words)
	if f.values < leastPersons || f.values == present || f.dated() > 0 || f.integers < present && f.texts < present {
		return person{}, named, nil
	}
	p = person{name: name, sure: speaks}
	// 95 % of the values have no more rows, and ten values have as many: one person's rows do not show.
	err = d.q.QueryRowContext(d.ctx, `SELECT n FROM (SELECT COUNT(*) AS n FROM `+d.from+` WHERE `+at+` IS NOT NULL GROUP BY `+at+`)
		ORDER BY n LIMIT 1 OFFSET ?`, min(f.values*95/100, f.values-leastRows)).Scan(&p.rows)
	if err != nil {
		return person{}, named, d.failure(err)
	}
	most := int64(mostOfOne)
	if f.texts == present {
		most *= 2 // few numbers that are no persons are texts
	}
	few := f.values > mostListed && p.rows <= most && present <= f.values*most/2
	if p.rows == 1 || number(f.most) <= 150 && f.integers == present {
		few = false // ages, scores, percentages
	}
	if !speaks && !few {
		return person{}, named, nil
	}
	p.rows = round(p.rows)
	return p, named, nil
}

// round rounds a number of rows above ten up, to a multiple of 5, 50, 500 and so on.
func round(n int64) int64 {
	step := int64(1)
	for step*10 < n {
		step *= 10
	}
	step = max(1, step/2)
	return (n + step - 1) / step * step
}

// units returns what the draft says about the unit: lines that declare it, and comments that ask.
func (d *drafter) units() (declared, asked string) {
	var b strings.Builder
	for _, p := range d.persons {
		unit := fmt.Sprintf("unit = %s, max_rows = %d", syntax.WriteName(p.name), p.rows)
		switch {
		case p.sure && declared == "":
			declared = fmt.Sprintf("    %s, -- a person, by the name and as the values repeat: 95 %% have no more rows, and more of one are not counted\n", unit)
		case strings.ContainsFunc(p.name, unicode.IsControl):
		case p.sure:
			fmt.Fprintf(&b, "    -- or %s\n", unit)
		default:
			fmt.Fprintf(&b, "    -- who is a person? %s if its values are: they repeat as persons do, and 95 %% have no more rows\n", unit)
		}
	}
	if len(d.persons) == 0 {
		b.WriteString("    -- who is a person? unit = column, max_rows = n, if one can have several rows\n")
	}
	return declared, b.String()
}
