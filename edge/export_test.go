package edge

// ParseBasic is how proxy credentials are read.
var ParseBasic = parseBasic
