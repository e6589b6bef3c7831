package main

import (
	"errors"
	"io"
	"log/slog"
)

// logFormat is the value of --log-format.
type logFormat string

const (
	logText logFormat = "text"
	logJSON logFormat = "json"
)

// String implements pflag.Value.
func (f *logFormat) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *logFormat) Type() string { return "FORMAT" }

// Set implements pflag.Value.
func (f *logFormat) Set(s string) error {
	switch logFormat(s) {
	case logText, logJSON:
		*f = logFormat(s)
		return nil
	}
	return errors.New("want text or json")
}

// logger returns the log that the flags ask for.
func (f *serveFlags) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: &f.logLevel}
	if f.logFormat == logJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
