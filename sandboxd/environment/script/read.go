package script

// A Source is a script that was read. The zero value is an empty script.
type Source struct {
	text string
}

// Read parses a script as far as it parses. It never fails.
func Read(text string) *Source {
	return &Source{text: text}
}

// Warnings returns advice about risky lines, by line.
func (s *Source) Warnings() []Warning { return nil }
