package lockcheck

import (
	"embed"
	"fmt"
	"strings"
)

// docsURL is where the documentation of the checks is read by people.
const docsURL = "https://github.com/lockgen/lockgen/blob/main/cmd/locklint/lockcheck/docs/"

//go:embed docs/*.md
var docs embed.FS

// Explanation is the check's documentation as Markdown: why it matters, how it fails step by step, and how to fix it.
func (c *Check) Explanation() string {
	text, err := docs.ReadFile("docs/" + c.ID + ".md")
	if err != nil {
		panic(fmt.Sprintf("lockcheck: check %s has no documentation: %v", c.ID, err))
	}
	return string(text)
}

// URL is where Explanation can be read with a browser.
func (c *Check) URL() string { return docsURL + c.ID + ".md" }

// Why is the first part of the explanation: one to three paragraphs, the shortest text that stands for the check where
// there is no room for more.
func (c *Check) Why() string {
	why, _, _ := strings.Cut(body(c.Explanation()), "\n## ")
	return strings.TrimSpace(why)
}

// body is the documentation without its heading.
func body(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(rest)
}
