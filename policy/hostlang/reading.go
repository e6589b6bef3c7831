package hostlang

import "github.com/sallyport/sallyport/policy"

// reading is what the form of a canonical name says about the characters read
// so far, from right to left.
type reading struct {
	length uint8 // of the label so far
	label  labelState
	number numberState
}

// labelState knows the last characters of a label that begins with "xn--", and
// where a hyphen can't be.
type labelState uint8

const (
	labelOpen     labelState = iota // nothing special
	labelHyphen                     // "-" was read last
	labelHyphens                    // "--"
	labelN                          // "n--"
	labelXN                         // "xn--"
	labelEmpty                      // nothing was read
	labelComplete                   // a sample was read: nothing may be added
)

// numberState says whether the last label, which is read first, could be a
// part of an IPv4 address; a name can't end in one.
type numberState uint8

const (
	numberDigits numberState = iota // decimal digits, or nothing
	numberHex                       // hexadecimal digits, not all of them decimal
	numberX                         // "x" and hexadecimal digits or nothing
	numberZeroX                     // "0x…", a number
	numberNone                      // no number, or not the last label
)

// labelMode says which labels that begin with "xn--" are taken.
type labelMode uint8

const (
	barred  labelMode = iota // those that a pattern spells
	sampled                  // and the samples
	free                     // all, canonical or not
)

// samples are canonical labels of several scripts and lengths.
var samples = []string{
	"xn--4ca", "xn--0ca", "xn--9ca", "xn--bcher-kva", "xn--mnchen-3ya", "xn--caf-dma", "xn--p1ai", "xn--e1afmkfd",
	"xn--fiqs8s", "xn--wgbh1c", "xn--h2brj9c", "xn--3e0b707e", "xn--80ak6aa92e", "xn--strae-oqa",
}

const (
	maxLabel = 63
	maxName  = policy.MaxHostLen
)

var startReading = reading{label: labelEmpty}

// dominates reports whether all that may follow b may follow a.
func (a reading) dominates(b reading) bool {
	return a.length <= b.length &&
		(a.label == b.label || a.label == labelOpen && b.label != labelEmpty) &&
		(a.number == b.number || a.number == numberNone)
}

// mayEnd reports whether a label, and so a name, may begin here.
func (a reading) mayEnd(mode labelMode, spelled bool) bool {
	switch a.label {
	case labelEmpty, labelHyphen, labelHyphens:
		return false
	case labelXN:
		if mode != free && !spelled {
			return false
		}
	case labelOpen, labelN, labelComplete:
	}
	return a.number != numberDigits && a.number != numberZeroX
}

// read returns the reading after one more character of the label, and whether
// it may be there.
func (a reading) read(symbol uint64) (reading, bool) {
	if a.length == maxLabel || a.label == labelComplete || symbol == hyphen && a.label == labelEmpty {
		return a, false
	}
	a.length++
	switch {
	case symbol == hyphen && (a.label == labelHyphen || a.label == labelHyphens):
		a.label = labelHyphens
	case symbol == hyphen:
		a.label = labelHyphen
	case symbol == symbolN && a.label == labelHyphens:
		a.label = labelN
	case symbol == symbolX && a.label == labelN:
		a.label = labelXN
	default:
		a.label = labelOpen
	}
	a.number = a.number.read(symbol)
	return a, true
}

func (n numberState) read(symbol uint64) numberState {
	isDigit, isHex := symbol&digits != 0, symbol&hexLetters != 0
	switch {
	case n == numberDigits && isDigit:
		return numberDigits
	case n == numberX && symbol == symbol0:
		return numberZeroX
	case n > numberHex:
		return numberNone
	case isDigit || isHex:
		return numberHex
	case symbol == symbolX:
		return numberX
	}
	return numberNone
}

// nextLabel is the reading after a dot.
func nextLabel() reading { return reading{label: labelEmpty, number: numberNone} }

var (
	symbolN, symbolX, symbol0 = symbolOf('n'), symbolOf('x'), symbolOf('0')
	digits, hexLetters        = symbolsOf("0123456789"), symbolsOf("abcdef")
)

func symbolsOf(s string) (mask uint64) {
	for i := range len(s) {
		mask |= symbolOf(s[i])
	}
	return mask
}

// kinds returns sets of characters that the form of a name treats alike, the
// most permissive first, without the dot.
func (a reading) kinds() []uint64 {
	ordinary := inLabel &^ hyphen
	var kinds []uint64
	cut := func(mask uint64) {
		ordinary &^= mask
		kinds = append(kinds, mask)
	}
	if a.label == labelHyphens {
		cut(symbolN)
	}
	if a.label == labelN || a.number < numberX {
		cut(symbolX)
	}
	if a.number != numberNone {
		cut(symbol0)
		cut(digits &^ symbol0)
		cut(hexLetters)
	}
	return append([]uint64{ordinary}, append(kinds, hyphen)...)
}
