package precision

import (
	"fmt"
	"strings"
)

// This file puts the texts of the unnamed sets and their counts together.

const countHead = "\n| check | right | precision | 95 % interval | found | recall | 95 % interval |\n" +
	"| --- | --- | --- | --- | --- | --- | --- |\n"

// counted writes what the runs over the fifth set came to.
func (d *Data) counted(b *strings.Builder) {
	b.WriteString(countedText)
	d.counts(b, FirstRun)
	b.WriteString(recountedText)
	d.counts(b, SecondRun)
	b.WriteString(sixthText)
	d.counts(b, SixthRun)
	b.WriteString(sixthCauses)
	b.WriteString(seventhText)
	d.counts(b, SeventhRun)
	b.WriteString(seventhCauses)
	b.WriteString(eighthText)
	d.counts(b, EighthRun)
	b.WriteString(eighthCauses)
	b.WriteString(ninthText)
	d.counts(b, NinthRun)
	b.WriteString(tenthText)
	d.counts(b, TenthRun)
	b.WriteString(tenthCauses)
	b.WriteString(eleventhText)
	d.counts(b, Eleventh)
	b.WriteString(eleventhCauses)
	b.WriteString(twelfthText)
	d.counts(b, Twelfth)
	b.WriteString(twelfthCauses)
	b.WriteString(thirteenthText)
	d.counts(b, Thirteenth)
	b.WriteString(thirteenthCauses)
	b.WriteString(fourteenthText)
	d.counts(b, Fourteenth)
	b.WriteString(fourteenthCauses)
	b.WriteString(fifteenthText)
	d.counts(b, Fifteenth)
	b.WriteString(fifteenthCauses)
	b.WriteString(sixteenthText)
	d.counts(b, Sixteenth)
	b.WriteString(sixteenthCauses)
	b.WriteString(seventeenthText)
	d.counts(b, Seventeenth)
	b.WriteString(seventeenthCauses)
	b.WriteString(eighteenthText)
	d.counts(b, Eighteenth)
	b.WriteString(eighteenthCauses)
	b.WriteString(nineteenthText)
	d.counts(b, Nineteenth)
	b.WriteString(nineteenthCauses)
	b.WriteString(twentiethText)
	d.counts(b, Twentieth)
	b.WriteString(twentiethCauses)
	d.together(b)
}

func (d *Data) counts(b *strings.Builder, run string) {
	b.WriteString(countHead)
	var right, found, sure Rate
	for _, c := range d.Counts {
		if c.Run == run {
			fmt.Fprintf(b, "| %s | %s | %s |\n", c.ID, cells(Rate{c.Right, c.Reports}), cells(Rate{c.Found, c.Defects}))
			right.Right, right.All = right.Right+c.Right, right.All+c.Reports
			found.Right, found.All = found.Right+c.Found, found.All+c.Defects
			sure.Right, sure.All = sure.Right+c.SureFound, sure.All+c.Sure
		}
	}
	fmt.Fprintf(b, "| **all on by default** | %s | %s |\n", right, found)
	fmt.Fprintf(b, "| **defects beyond doubt** | | | | %s |\n", sure)
}

// cells is a rate in three cells, empty where there is nothing to count.
func cells(r Rate) string {
	if r.All == 0 {
		return " | | "
	}
	return r.String()
}
