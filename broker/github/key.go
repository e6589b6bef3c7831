package github

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// minKeyBits is the smallest key that GitHub has ever given out.
const minKeyBits = 2048

// ParseKey reads an App's private key, PKCS #1 or PKCS #8, as it comes from
// files, variables and other stores: with CR LF, a byte order mark, quotes
// around it, "\n" for line ends, or the whole in base64 once more. Errors say
// what it is instead and hold nothing of it.
func ParseKey(data []byte) (*rsa.PrivateKey, error) {
	block, rest := pem.Decode(unwrap(data))
	switch {
	case block == nil:
		return nil, errors.New("private key: not a PEM file")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("private key: there is more than one PEM block")
	case block.Headers["DEK-Info"] != "" || block.Type == "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("private key: it is encrypted; store it without a passphrase")
	case block.Type == "OPENSSH PRIVATE KEY":
		return nil, errors.New("private key: it is an OpenSSH key; use the one that GitHub made for the App")
	}
	key, err := parseBlock(block)
	if err != nil {
		return nil, err
	}
	if bits := key.N.BitLen(); bits < minKeyBits {
		return nil, fmt.Errorf("private key: RSA of %d bits, expected at least %d", bits, minKeyBits)
	}
	return key, nil
}

func parseBlock(block *pem.Block) (*rsa.PrivateKey, error) {
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		if err != nil {
			return nil, errors.New("private key: malformed PKCS #1")
		}
		return key, nil
	case "PRIVATE KEY":
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, errors.New("private key: malformed PKCS #8")
		}
		key, isRSA := parsed.(*rsa.PrivateKey)
		if !isRSA {
			return nil, errors.New("private key: expected RSA")
		}
		return key, nil
	default:
		return nil, fmt.Errorf("private key: expected an RSA private key, found PEM of type %.40q", block.Type)
	}
}

// unwrap takes off what other programs put around a PEM file.
func unwrap(data []byte) []byte {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff"))
	data = bytes.Trim(data, "\"' \r\n\t")
	if !bytes.Contains(data, []byte("-----BEGIN")) {
		compact := bytes.Join(bytes.Fields(data), nil)
		if decoded, err := base64.StdEncoding.DecodeString(string(compact)); err == nil {
			data = decoded
		}
	}
	data = bytes.ReplaceAll(data, []byte(`\r`), nil)
	data = bytes.ReplaceAll(data, []byte(`\n`), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}
