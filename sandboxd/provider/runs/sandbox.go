package runs

import (
	"context"
	"os"
)

// Sandbox is a running sandbox. It is safe for concurrent use.
type Sandbox struct{}

// Exec starts a command. ctx bounds only the start, not the command.
func (s *Sandbox) Exec(ctx context.Context, e Exec) (*Process, error) { return nil, ErrNotBuilt }

// Done is closed when the sandbox has ended, whatever the reason.
func (s *Sandbox) Done() <-chan struct{} { return nil }

// Stop ends every process of the sandbox and removes all that belongs to it.
// Stopping twice is no error.
func (s *Sandbox) Stop(ctx context.Context) error { return nil }

// Process is a command in a sandbox. It is safe for concurrent use.
type Process struct{}

// Wait returns how the command ended, once its output has been copied. It can
// be called more than once. A ctx that ends first ends only the waiting.
func (p *Process) Wait(ctx context.Context) (Exit, error) { return Exit{}, ErrNotBuilt }

// Signal sends a signal to the command's process group.
func (p *Process) Signal(sig os.Signal) error { return ErrNotBuilt }

// Resize sets the size of the command's terminal.
func (p *Process) Resize(rows, cols uint16) error { return ErrNotBuilt }
