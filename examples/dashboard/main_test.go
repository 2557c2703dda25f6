package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// visitsFile makes a database of 720 visits, 20 for each ward and month of 2024, with a release that has no noise.
func visitsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`CREATE TABLE raw_visits AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 719)
		SELECT char(65 + i % 3) AS ward, date('2024-01-15', (i / 3 % 12) || ' months') AS came FROM n`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	db, err := sql.Open("dpsql", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (ward TEXT IN ('A', 'B', 'C'), came DATE BETWEEN '2024-01-01' AND '2024-12-31') FROM raw_visits WITH (epsilon = 100)`,
		`CREATE RELEASE days ON visits USING PROJECTION WITH (epsilon = 50)`,
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestDashboard(t *testing.T) {
	db, err := sql.Open("dpsql", visitsFile(t)+"?role=analyst&readonly=true")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	get := func(query string, within time.Duration) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler(db, within).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/visits?"+query, nil))
		return w
	}
	w := get("ward=A&ward=B&from=2024-11-01", time.Minute)
	if got, want := strings.TrimSpace(w.Body.String()),
		`{"confidence":0.95,"points":[{"month":"2024-11-01T00:00:00Z","visits":40,"margin":0},{"month":"2024-12-01T00:00:00Z","visits":40,"margin":0}]}`; got != want {
		t.Errorf("%d\n%s, want\n%s", w.Code, got, want)
	}
	var page series
	w = get("ward=X&from=2024-12-01", time.Minute)
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Warnings) != 1 {
		t.Errorf("a ward that does not exist: %s, %v", w.Body, err)
	}
	for _, test := range []struct {
		query  string
		within time.Duration
		code   int
	}{
		{"ward=A&from=yesterday", time.Minute, http.StatusBadRequest},
		{"ward=A", time.Minute, http.StatusBadRequest},
		{"ward=A&from=2024-01-01", 0, http.StatusServiceUnavailable},
	} {
		if w := get(test.query, test.within); w.Code != test.code || !strings.Contains(w.Body.String(), `"error"`) {
			t.Errorf("%s: %d %s, want %d", test.query, w.Code, w.Body, test.code)
		}
	}
}
