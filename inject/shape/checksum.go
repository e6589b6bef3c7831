package shape

import (
	"hash/crc32"
	"strings"
)

// checkLen is the length of the checksum that ends GitHub's and npm's tokens.
const checkLen = 6

// checksum is the CRC-32 of a token's random part in base 62, as GitHub and npm
// end their tokens with. GitHub has published it for tokens of one part; for
// github_pat_ the same is taken over both.
func checksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	var out [checkLen]byte
	for i := range out {
		out[checkLen-1-i] = alnum[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// providerPrefix is the length of what the provider fixes of a prefix; the mark
// behind it takes the place of random digits.
func providerPrefix(prefix string) int { return len(strings.TrimSuffix(prefix, mark)) }
