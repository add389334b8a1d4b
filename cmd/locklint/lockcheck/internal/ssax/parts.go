package ssax

import "golang.org/x/tools/go/ssa"

// AnyPart looks at a value and what it is made of, as many levels down as depth says, until look has found something.
// look says what to look at further down. Each value is looked at once: variables that loops and branches set are made of
// each other in more ways than can be counted.
func AnyPart(v ssa.Value, depth int, look func(ssa.Value) (found bool, parts []ssa.Value)) bool {
	seen, level := map[ssa.Value]bool{v: true}, []ssa.Value{v}
	for range depth + 1 {
		var next []ssa.Value
		for _, v := range level {
			found, parts := look(v)
			if found {
				return true
			}
			for _, part := range parts {
				if !seen[part] {
					seen[part] = true
					next = append(next, part)
				}
			}
		}
		level = next
	}
	return false
}

// Operands are the values that an instruction is given, none for other values.
func Operands(v ssa.Value) (given []ssa.Value) {
	instr, ok := v.(ssa.Instruction)
	if !ok {
		return nil
	}
	for _, op := range instr.Operands(nil) {
		if *op != nil {
			given = append(given, *op)
		}
	}
	return given
}
