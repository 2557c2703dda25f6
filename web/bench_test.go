package web_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"dpsql/engine"
)

// BenchmarkAsk asks a free answer by 64 users at a time: over the console's API, each in a session of her own, and of the
// engine without HTTP, which is the plain baseline.
func BenchmarkAsk(b *testing.B) {
	const users, text = 64, `SELECT sex, COUNT(*) FROM visits GROUP BY sex`
	h := open(b, nil)
	http.DefaultClient.Transport = &http.Transport{MaxIdleConnsPerHost: users}
	b.Cleanup(func() { http.DefaultClient.Transport = nil })
	pages := make([]*page, users)
	sessions := make([]*engine.Session, users)
	for i := range pages {
		name := fmt.Sprintf("user%d", i)
		h.exec(`CREATE USER `+name+` PASSWORD 's3cretive'`, `GRANT SELECT ON visits TO `+name)
		pages[i] = h.page().login(object{"user": name, "password": "s3cretive"})
		sessions[i] = h.db.NewUserSession(name)
	}
	crowd := func(name string, ask func(user int) bool) {
		b.Run(name, func(b *testing.B) {
			var user atomic.Int64
			b.SetParallelism(users / 2)
			b.RunParallel(func(pb *testing.PB) {
				for i := int(user.Add(1)) % users; pb.Next(); {
					if !ask(i) {
						b.Error("not answered")
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
		})
	}
	crowd("http", func(i int) bool {
		status, _ := pages[i].post("ask", object{"sql": text})
		return status == 200
	})
	crowd("engine", func(i int) bool {
		_, err := sessions[i].Exec(context.Background(), text, nil)
		return err == nil
	})
}
