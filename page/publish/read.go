package publish

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"

	"dpsql/page"
	"dpsql/sqlerr"
)

// Verify reads a page, and holds it to its digest. own reports whether every byte is as Write writes it: then its
// program is that of this dpsql. Errors: page.Damaged.
func Verify(file []byte) (c page.Card, payloads [][]byte, own bool, err error) {
	text, err := element(file, "application/json", "dpsql-card")
	if err != nil {
		return c, nil, false, err
	}
	for _, prefix := range []string{"release", "public"} {
		for i := 0; ; i++ {
			packed, err := element(file, packed, fmt.Sprintf("dpsql-%s-%d", prefix, i))
			if err != nil {
				break
			}
			payload, err := unpack(packed)
			if err != nil {
				return c, nil, false, sqlerr.New(page.Damaged, "%s %d cannot be unpacked", prefix, i)
			}
			payloads = append(payloads, payload)
		}
	}
	desk, c, err := page.Read(text, payloads)
	if err != nil {
		return c, nil, false, err
	}
	desk.Close()
	var again bytes.Buffer
	_, err = Write(&again, c, payloads)
	return c, payloads, bytes.Equal(again.Bytes(), file), err
}

// element returns what is in a script that the browser does not run. Nothing before it looks like its tag: every < is
// escaped in texts.
func element(file []byte, kind, id string) ([]byte, error) {
	_, rest, found := bytes.Cut(file, []byte(open(kind, id)))
	inner, _, ended := bytes.Cut(rest, []byte("</script>"))
	if !found || !ended {
		return nil, sqlerr.New(page.Damaged, "this is no page of dpsql: it has no %s", id)
	}
	return inner, nil
}

// unpack reads base64 of gzip.
func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
