package clients

import (
	"fmt"
	"strings"
)

// Rows is how many private rows the scripts ask about.
const Rows = 2000

// Visits are private rows, as CSV with a first line of names.
func Visits(rows int) string {
	var out strings.Builder
	out.WriteString("age,sex,ward,smoker,admitted,cost\n")
	wards := []string{"cardiology", "emergency", "oncology", "surgery"}
	for i := range rows {
		fmt.Fprintf(&out, "%d,%s,%s,%d,%d-%02d-%02d,%d.00\n", i*37%100, []string{"F", "M"}[i*7%13%2], wards[i*11%17%4], i%3/2,
			2023+i%2, 1+i*5%12, 1+i*3%28, i*130%5000)
	}
	return out.String()
}

// Wards are the public rows.
const Wards = "ward,floor,area\ncardiology,2,410.5\nemergency,1,820.25\noncology,3,300.125\nsurgery,4,512.75\n"

// Password is that of the user ana.
const Password = "open-sesame-7"

// declarations make the database of dpsql that the scripts ask, from the files
// visits.csv and wards.csv.
const declarations = `.import visits.csv raw_visits
.import wards.csv wards
CREATE PUBLIC TABLE wards;
CREATE PRIVATE TABLE visits (
    age      INTEGER BETWEEN 0 AND 99,
    sex      TEXT IN ('F', 'M'),
    ward     TEXT IN (SELECT ward FROM wards),
    smoker   BOOLEAN,
    admitted DATE BETWEEN '2023-01-01' AND '2024-12-31',
    cost     NUMERIC(8,2) BETWEEN 0 AND 5000 STEP 10
) FROM raw_visits WITH (epsilon = 8, delta = 1e-6);
CREATE RELEASE kinds ON visits (sex, ward, smoker) USING PROJECTION WITH (epsilon = 1, transform = identity);
CREATE RELEASE ages ON visits (age, sex) USING PROJECTION WITH (epsilon = 1, transform = identity);
CREATE RELEASE days ON visits (admitted) USING PROJECTION WITH (epsilon = 1, transform = identity);
CREATE USER ana PASSWORD '` + Password + `';
GRANT SELECT ON visits TO ana;
`

// Postgres makes the same tables in PostgreSQL, for the rows of Visits and Wards.
const Postgres = `CREATE ROLE curator;
CREATE TABLE visits (age bigint, sex text, ward text, smoker boolean, admitted date, cost numeric(8,2));
CREATE TABLE wards (ward text, floor bigint, area double precision);
ALTER TABLE visits OWNER TO curator;
ALTER TABLE wards OWNER TO curator;
CREATE ROLE ana LOGIN PASSWORD '` + Password + `';
GRANT SELECT ON visits, wards TO ana;
`
