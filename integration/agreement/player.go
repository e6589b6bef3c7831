package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/sallyport/sallyport/integration/agreement/suite"
)

// played is a line of what a player answers.
type played struct {
	Answers []string `json:"answers"`
	Error   string   `json:"error,omitempty"`
}

// serve is the client in a sandbox. It reads rows until the end of its input.
func serve(ctx context.Context, client *suite.Client, stdin io.Reader, stdout io.Writer) error {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	for {
		var r suite.Row
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read row: %w", err)
		}
		var p played
		var err error
		if p.Answers, err = client.Play(ctx, r); err != nil {
			p.Error = err.Error()
		}
		if err := out.Encode(p); err != nil {
			return fmt.Errorf("write answers: %w", err)
		}
	}
}

// player is a command that serves in a sandbox.
type player struct {
	cmd   *exec.Cmd
	stdin io.Closer
	in    *json.Decoder
	out   *json.Encoder
}

func start(ctx context.Context, command []string) (*player, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start player: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start player: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start player: %w", err)
	}
	return &player{cmd: cmd, stdin: stdin, in: json.NewDecoder(stdout), out: json.NewEncoder(stdin)}, nil
}

func (p *player) play(r suite.Row) ([]string, error) {
	if err := p.out.Encode(r); err != nil {
		return nil, fmt.Errorf("send row: %w", err)
	}
	var line played
	if err := p.in.Decode(&line); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	if line.Error != "" {
		return nil, errors.New(line.Error)
	}
	return line.Answers, nil
}

func (p *player) stop() error {
	p.stdin.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("end player: %w", err)
	}
	return nil
}
