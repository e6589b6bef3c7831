package inject

// Key is the secret from which placeholders are derived. A new one per edge
// process makes every placeholder of an earlier boot unknown.
type Key [32]byte
