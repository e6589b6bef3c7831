package main

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// newCertsCommand returns the group of commands on the CA of a running edge.
func newCertsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "certs",
		Short:   "Look at the CA of an edge, and rotate it",
		Example: `  sallyport certs bundle --control /run/edge/control > bundle.pem`,
	}
	flag := addControlFlag(cmd)
	cmd.AddCommand(newCertsShowCommand(flag), newCertsBundleCommand(flag), newCertsRotateCommand())
	return cmd
}

// certificate is how "certs show -o json" prints a certificate.
type certificate struct {
	Subject   string    `json:"subject"`
	SHA256    string    `json:"sha256"` // of the certificate, hexadecimal
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	PEM       string    `json:"pem"`
}

func newCertsShowCommand(flag *controlFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the CA certificate, never its key",
		Example: `  sallyport certs show --control /run/edge/control
  sallyport certs show -o json`,
		Args: cobra.NoArgs,
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		edge, err := flag.client()
		if err != nil {
			return err
		}
		ca, err := edge.Trust(cmd.Context())
		if err != nil {
			return err
		}
		c, err := parseCertificate(ca)
		if err != nil {
			return err
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), c)
		}
		t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "subject\t%s\n", c.Subject)
		fmt.Fprintf(t, "sha256\t%s\n", c.SHA256)
		fmt.Fprintf(t, "valid from\t%s\n", c.NotBefore.Format(time.RFC3339))
		fmt.Fprintf(t, "valid until\t%s\n", c.NotAfter.Format(time.RFC3339))
		return t.Flush()
	}
	return cmd
}

func parseCertificate(text string) (certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return certificate{}, errors.New("the edge answered no certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return certificate{}, fmt.Errorf("parse CA certificate: %w", err)
	}
	sum := sha256.Sum256(cert.Raw)
	return certificate{
		Subject:   cert.Subject.String(),
		SHA256:    hex.EncodeToString(sum[:]),
		NotBefore: cert.NotBefore.UTC(),
		NotAfter:  cert.NotAfter.UTC(),
		PEM:       text,
	}, nil
}

func newCertsBundleCommand(flag *controlFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Print the CA certificate and this machine's roots (PEM)",
		Long: `Print the CA certificate and this machine's roots (PEM): what a runtime needs
whose variable replaces its own roots, such as SSL_CERT_FILE.`,
		Example: `  sallyport certs bundle --control /run/edge/control > bundle.pem`,
		Args:    cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		edge, err := flag.client()
		if err != nil {
			return err
		}
		trust, err := fetchTrust(cmd.Context(), edge)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(trust.Files()[trust.Env(nil)["SSL_CERT_FILE"]])
		return err
	}
	return cmd
}
