package main

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/inject"
)

// static keeps the boundaries of the configuration in the table.
type static struct {
	table *boundary.Table
	key   inject.Key

	mu      sync.Mutex     // guards what follows
	current *config.Config // in force; nil before the first
	err     error          // of the last reload
}

// apply puts the boundaries of c in force in one step and takes out those that
// c has no more. On an error nothing has changed. What isn't a boundary can
// only be changed by a restart; a c that differs there is refused, so that
// what is in force is always one whole file.
func (s *static) apply(c *config.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && !sameButBoundaries(s.current, c) {
		return errors.New("everything but boundaries can only be changed by a restart")
	}
	put := make([]*boundary.Boundary, 0, len(c.Boundaries))
	keep := map[string]bool{}
	for _, b := range c.Boundaries {
		compiled, err := boundary.Compile(b.Spec, s.key)
		if err != nil {
			return fmt.Errorf("boundary %s: %w", b.ID, err)
		}
		put = append(put, compiled)
		keep[b.ID] = true
	}
	var remove []string
	if s.current != nil {
		for _, b := range s.current.Boundaries {
			if !keep[b.ID] {
				remove = append(remove, b.ID)
			}
		}
	}
	s.table.Apply(put, remove)
	s.current = c
	return nil
}

func sameButBoundaries(a, b *config.Config) bool {
	x, y := *a, *b
	x.Boundaries, y.Boundaries = nil, nil
	return reflect.DeepEqual(x, y)
}

// note keeps the outcome of a reload.
func (s *static) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// fault returns the outcome of the last reload.
func (s *static) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
