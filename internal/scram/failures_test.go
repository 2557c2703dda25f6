package scram

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"dpsql/internal/seeds"
)

// clock returns failures at a time that the test moves.
func clock() (*Failures, func(time.Duration)) {
	now := time.Unix(1e9, 0)
	f := NewFailures()
	f.now = func() time.Time { return now }
	return f, func(d time.Duration) { now = now.Add(d) }
}

// TestFailures: logins of a name that come one after another begin later and later, as do those that
// come at once, of which the others are refused.
func TestFailures(t *testing.T) {
	for _, user := range []string{"ana", "nobody"} {
		f, pass := clock()
		var waits []time.Duration
		for range 12 {
			a, ok := f.Begin(user, "10.0.0.1")
			if !ok {
				t.Fatal("refused")
			}
			waits = append(waits, a.Wait)
			pass(a.Wait)
		}
		if got, want := fmt.Sprint(waits), "[0s 0s 0s 0s 250ms 500ms 1s 2s 4s 8s 8s 8s]"; got != want {
			t.Errorf("waits %s, want %s", got, want)
		}
		pass(forgetFailures + time.Second)
		if a, ok := f.Begin(user, "10.0.0.1"); !ok || a.Wait != 0 {
			t.Errorf("after %v: %v", forgetFailures, a.Wait)
		}
		f, _ = clock()
		begun := 0
		for i := range 40 {
			if _, ok := f.Begin(user, fmt.Sprint("10.0.1.", i)); ok {
				begun++
			}
		}
		if begun != 9 { // the last at 0.25 + 0.5 + … + 4 s
			t.Errorf("%d logins of 40 at once begin", begun)
		}
	}
}

// TestFailuresOfOthers floods a name from elsewhere, and an address with other names. Who logs in where she did
// before waits for neither, and somebody new at that address at most a second.
func TestFailuresOfOthers(t *testing.T) {
	f, pass := clock()
	a, _ := f.Begin("ana", "10.0.0.1")
	f.Succeeded(a)
	for range 50 {
		for i := range 40 {
			f.Begin("ana", "10.0.0.2")
			f.Begin(fmt.Sprint("user", i), "10.0.0.1")
		}
		pass(time.Second)
	}
	for who, most := range map[[2]string]time.Duration{{"ana", "10.0.0.1"}: 0, {"bob", "10.0.0.1"}: addressDelay, {"bob", "10.0.0.3"}: 0} {
		if a, ok := f.Begin(who[0], who[1]); !ok || a.Wait > most {
			t.Errorf("%v waits %v (%v), want at most %v", who, a.Wait, ok, most)
		}
	}
	if a, _ := f.Begin("carl", "10.0.0.1"); a.Wait == 0 {
		t.Error("an address of 2000 failures does not wait")
	}
}

// TestLoginForgetsFailures: a login forgets the failures of its name, and no others of its address.
func TestLoginForgetsFailures(t *testing.T) {
	f, _ := clock()
	for range 3 {
		f.Begin("ana", "10.0.0.1")
	}
	a, _ := f.Begin("ana", "10.0.0.1")
	f.Succeeded(a)
	if got := f.all[placed("10.0.0.1")].count; got != 3 || f.all[named("ana")].count != 0 {
		t.Errorf("%d failures of the address, %d of the name", got, f.all[named("ana")].count)
	}
}

// TestTakenBack: a login that made room before its proof was looked at leaves no trace, among any others.
func TestTakenBack(t *testing.T) {
	f, pass := clock()
	g, _ := clock()
	g.now = f.now
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		name, network := fmt.Sprint(random.IntN(2)), fmt.Sprint("net", random.IntN(2))
		switch random.IntN(4) {
		case 0:
			pass(time.Duration(random.IntN(5000)) * time.Millisecond)
		case 1:
			a, ok := f.Begin(name, network)
			b, _ := g.Begin(name, network)
			if ok && random.IntN(4) == 0 {
				f.Succeeded(a)
				g.Succeeded(b)
			}
		default:
			if a, ok := f.Begin(name, network); ok {
				f.TakeBack(a)
			}
		}
		for _, of := range []string{named(name), "home of " + named(name), placed(network)} {
			a, b := f.at(of), g.at(of)
			if wait := max(0, a.next.Sub(f.now())); a.count != b.count || wait != max(0, b.next.Sub(f.now())) {
				t.Fatalf("seed %d: %s has %d failures and waits %v, without evicted logins %d and %v", seed, of, a.count, wait, b.count, b.next.Sub(f.now()))
			}
		}
	}
}

// TestManyNames: what is remembered is bounded, and other names do not make the server forget one that is attacked.
func TestManyNames(t *testing.T) {
	f, pass := clock()
	for range 12 {
		a, _ := f.Begin("ana", "10.0.0.1")
		pass(a.Wait)
	}
	for i := range 3 * mostFailures {
		f.Begin(fmt.Sprint(i), fmt.Sprint("net", i))
	}
	if len(f.all) > mostFailures+1 {
		t.Errorf("%d names are remembered", len(f.all))
	}
	if a, _ := f.Begin("ana", "10.0.0.1"); a.Wait != longestDelay {
		t.Errorf("ana's failures were forgotten: she waits %v", a.Wait)
	}
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{"10.1.2.3": "10.1.2.3", "::ffff:10.1.2.3": "::ffff:10.1.2.3", "local": "local", "10.1.2.3:80": "10.1.2.3", "[2001:db8::1]:80": "2001:db8::/64",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::1": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64"} {
		if got := Network(address); got != want {
			t.Errorf("network(%s) = %s, want %s", address, got, want)
		}
	}
}
