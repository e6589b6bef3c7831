package runs

// What tests look at from outside.
var (
	FilterProgram    = filterProgram
	ParseHierarchies = parseHierarchies
	Unpack           = unpack
)

// Places returns where the hierarchies are mounted.
func (h hierarchies) Places() (unified string, v1 map[string]string) { return h.unified, h.v1 }
