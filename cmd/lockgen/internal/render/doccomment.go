package render

import (
	"go/build/constraint"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// docWidth is where the sentences that lockgen adds are wrapped. The author's own lines stay as they are.
const docWidth = 100

// docLines is the wrapper's doc comment: the function's, without directives and under the wrapper's name, and what the
// lock adds to it. Each line is a // comment of its own, so nothing in it can end the comment early.
func (w *wrapper) docLines() []string {
	text := strings.TrimSuffix(w.Decl.Doc.Text(), "\n")
	if text == "" {
		return comment(wrap(w.Name + " calls " + w.Decl.Name.Name + " under a lock. " + w.lockSentences()))
	}
	if rest, ok := strings.CutPrefix(text, w.Decl.Name.Name); ok &&
		(rest == "" || strings.ContainsAny(rest[:1], " \n,.:;'")) {
		text = w.Name + rest
	}
	paragraphs := strings.Split(text, "\n\n")
	at := len(paragraphs)
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "Deprecated: ") { // stays last, where tools and readers look for it
			at = min(at, i)
		}
	}
	before, after := paragraphs[:at:at], paragraphs[at:]
	return comment(strings.Join(append(append(before, wrap(w.lockSentences())), after...), "\n\n"))
}

// lockSentences says what callers have to know: what is locked, and what happens while somebody else holds it.
func (w *wrapper) lockSentences() string {
	var keys []string
	for _, key := range w.Directive.Keys {
		if key.Const != nil {
			keys = append(keys, key.Const.String()[1:]+kindInProse(key))
		} else {
			keys = append(keys, keyInProse(key.Template.String())+kindInProse(key))
		}
	}
	if last := len(keys) - 1; last > 0 {
		return "It holds the locks " + strings.Join(keys[:last], ", ") + " and " + keys[last] + " while it runs" +
			w.busySentence() + w.txSentence()
	}
	return "It holds the lock " + keys[0] + " while it runs" + w.busySentence() + w.txSentence()
}

// kindInProse says behind a key with whom it is held, "" for one that is held alone.
func kindInProse(k *directive.Key) string {
	switch {
	case k.Reads():
		return " (to read, together with other readers)"
	case k.Permits != nil:
		return " (one of " + strings.TrimPrefix(k.Permits.String(), "@") + " permits)"
	}
	return ""
}

// txSentence says that the function runs in a transaction, and what its error means.
func (w *wrapper) txSentence() string {
	if w.Tx == nil {
		return ""
	}
	return " It runs in a transaction of " + w.Directive.Tx.Value +
		", which is committed while the lock is held: nil means that this was done."
}

func (w *wrapper) busySentence() string {
	d := w.Directive
	taken, them := "somebody else holds it", "it"
	switch k := d.Keys[0]; {
	case len(d.Keys) > 1 && !d.Mixed() && k.Reads():
		taken, them = "somebody writes one of them", "them"
	case len(d.Keys) > 1:
		taken, them = "others keep one of them", "them"
		if !slices.ContainsFunc(d.Keys, func(k *directive.Key) bool { return k.Reads() || k.Permits != nil }) {
			taken = "somebody else holds one of them"
		}
	case k.Reads():
		taken = "somebody writes"
	case k.Permits != nil:
		taken = "all permits are held"
	}
	wait := ""
	switch {
	case d.Wait == nil, d.Wait.Const == nil && !d.Wait.Forever && d.Wait.Value == 0:
	case d.Wait.Forever:
		return ", and waits for " + them + " until the context ends."
	default:
		wait = " for longer than " + durationText(d.Wait)
	}
	if d.SkipsBusy() {
		return ". While " + taken + wait + ", it does nothing and returns zero values."
	}
	return ". While " + taken + wait + ", it returns [" + w.lockrt + ".ErrBusy]."
}

func durationText(d *directive.Duration) string {
	if d.Const != nil {
		return d.Const.String()[1:]
	}
	text := d.Value.String()
	for _, zero := range []string{"m0s", "h0m"} { // 2m0s reads 2m
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// keyInProse is a key as it stands in a sentence that is wrapped: quoted and in one piece if wrapping would change it.
func keyInProse(text string) string {
	if strings.Join(strings.Fields(text), " ") == text {
		return text
	}
	return strings.ReplaceAll(strconv.Quote(text), " ", keptBlank)
}

// keptBlank stands for a blank that wrap leaves as it is. No key holds it.
const keptBlank = "\x00"

func wrap(text string) string {
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case width == 0:
		case width+1+len(word) > docWidth:
			b.WriteString("\n")
			width = 0
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return strings.ReplaceAll(b.String(), keptBlank, " ")
}

func comment(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if constraint.IsPlusBuild("//" + line) { // gofmt would make it the constraint of the whole file
			line = strings.Replace(line, "+build", `"+build"`, 1)
		}
		switch {
		case line == "":
			lines = append(lines, "//")
		case strings.HasPrefix(line, "\t"):
			lines = append(lines, "//"+line)
		default:
			lines = append(lines, "// "+line)
		}
	}
	return lines
}
