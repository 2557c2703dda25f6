package main

import (
	"strings"
)

// document is a page of Markdown, as lines, with its fenced blocks.
type document struct {
	lines   []string
	blocks  []*block
	changed bool
}

// block is a fenced block.
type block struct {
	lang, info string // the words after the fence
	line       int    // of the opening fence, from 1
	body       []string
	adjoins    bool // nothing but empty lines stands between it and the block before
}

// parseDocument finds the blocks of a page.
func parseDocument(text string) *document {
	d := &document{lines: strings.Split(text, "\n")}
	var open *block
	adjoins := false
	for i, l := range d.lines {
		switch {
		case open != nil && strings.TrimSpace(l) == "```":
			d.blocks = append(d.blocks, open)
			open, adjoins = nil, true
		case open != nil:
			open.body = append(open.body, l)
		case strings.HasPrefix(l, "```"):
			lang, info, _ := strings.Cut(strings.TrimPrefix(l, "```"), " ")
			open = &block{lang: lang, info: info, line: i + 1, adjoins: adjoins}
		case strings.TrimSpace(l) != "":
			adjoins = false
		}
	}
	return d
}

// follows reports whether b shows the output of the block before it.
func (b *block) follows(before *block) bool {
	return b.lang == "text" && b.adjoins && b.line > before.line
}

// about reports whether numbers of a listing may differ a little from those shown.
func (b *block) about() bool { return b.info == "about" }

// typed is a line of a console block with the output shown below it.
type typed struct {
	text  string
	shown []string
}

// commands cuts a console block at its prompts.
func (b *block) commands() (all []typed) {
	for _, l := range b.body {
		if text, ok := strings.CutPrefix(l, "$ "); ok {
			all = append(all, typed{text: text})
		} else if len(all) > 0 {
			last := &all[len(all)-1]
			last.shown = append(last.shown, l)
		}
	}
	return all
}

// replace replaces the lines of a block.
func (d *document) replace(b *block, body []string) {
	d.changed = true
	b.body = body
}

// String returns the page with its blocks as they are now.
func (d *document) String() string {
	var out []string
	blocks := d.blocks
	for i := 0; i < len(d.lines); i++ {
		out = append(out, d.lines[i])
		if len(blocks) == 0 || i+1 != blocks[0].line {
			continue
		}
		out = append(out, blocks[0].body...)
		for i++; strings.TrimSpace(d.lines[i]) != "```"; i++ {
		}
		out = append(out, d.lines[i])
		blocks = blocks[1:]
	}
	return strings.Join(out, "\n")
}
