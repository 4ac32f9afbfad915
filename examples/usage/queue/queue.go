// Package queue is a queue for development, in memory, that delivers at least once
// as SQS does: a message that was received and not deleted is delivered again after
// its visibility timeout, and goes to the dead letters after so many deliveries.
package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// Options are the settings of a queue.
type Options struct {
	// Visibility is how long a received message is hidden.
	Visibility time.Duration
	// MaxReceives is how many times a message is received before it goes to the
	// dead letters.
	MaxReceives int
	// File keeps the messages from [Queue.Save] to the next [Open]. With none they
	// are in memory only.
	File string
}

// Message is a message in a queue.
type Message struct {
	ID   string `json:"messageId"`
	Body string `json:"body"`
	// Receives is how many times the message was received.
	Receives int `json:"receives"`

	visible time.Time
}

// Queue is a queue and its dead letters. It is safe for concurrent use. Get one from
// [Open].
type Queue struct {
	options Options

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed when a message becomes visible at once
}

type state struct {
	Waiting []Message `json:"waiting"`
	Dead    []Message `json:"dead"`
}

// Open returns a queue with the messages of its file, if there is one. All of them
// are visible, and those that wait count as never received: a delivery that the end of
// the program cut off may be one that was counted, which a dead letter must not be.
func Open(o Options) (*Queue, error) {
	q := &Queue{options: o, changed: make(chan struct{})}
	if o.File == "" {
		return q, nil
	}
	text, err := os.ReadFile(o.File)
	if errors.Is(err, fs.ErrNotExist) {
		return q, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &q.state); err != nil {
		return nil, err
	}
	for i := range q.state.Waiting {
		q.state.Waiting[i].Receives = 0
	}
	return q, nil
}

// Save writes the messages to the queue's file, those in flight as well.
func (q *Queue) Save() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.save()
}

func (q *Queue) save() error {
	if q.options.File == "" {
		return nil
	}
	text, err := json.Marshal(q.state)
	if err != nil {
		return err
	}
	// A crash in the middle leaves the old file.
	if err := os.WriteFile(q.options.File+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(q.options.File+".new", q.options.File)
}

// Send adds messages and returns their ids, which are new.
func (q *Queue) Send(bodies ...string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.send(bodies)
}

func (q *Queue) send(bodies []string) (ids []string) {
	for _, body := range bodies {
		m := Message{ID: rand.Text(), Body: body}
		q.state.Waiting = append(q.state.Waiting, m)
		ids = append(ids, m.ID)
	}
	close(q.changed)
	q.changed = make(chan struct{})
	return ids
}

// Receive waits for messages that are visible and returns up to n of them, or none
// when the context ends. They are hidden until they are deleted or their visibility
// timeout has passed.
func (q *Queue) Receive(ctx context.Context, n int) []Message {
	for ctx.Err() == nil {
		received, changed, next := q.take(n)
		if len(received) > 0 {
			return received
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// take returns visible messages, and without any what to wait for: a change, or the
// time until the next message is visible.
func (q *Queue) take(n int) (received []Message, changed <-chan struct{}, next time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	next = time.Hour
	q.state.Waiting = slices.DeleteFunc(q.state.Waiting, func(m Message) bool {
		dead := m.Receives >= q.options.MaxReceives && !m.visible.After(now)
		if dead {
			q.state.Dead = append(q.state.Dead, m)
		}
		return dead
	})
	for i := range q.state.Waiting {
		m := &q.state.Waiting[i]
		if m.visible.After(now) {
			next = min(next, m.visible.Sub(now))
		} else if len(received) < n {
			m.Receives++
			m.visible = now.Add(q.options.Visibility)
			received = append(received, *m)
		}
	}
	return received, q.changed, next
}

// Delete removes messages that are done.
func (q *Queue) Delete(ids ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state.Waiting = slices.DeleteFunc(q.state.Waiting, func(m Message) bool { return slices.Contains(ids, m.ID) })
}

// Replay sends the dead letters again, as new messages, and returns how many there
// were. Like those that SQS moves, they have new ids. So the queue is saved before they
// can be received: dead letters left in the file would be counted twice.
func (q *Queue) Replay() (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var bodies []string
	for _, m := range q.state.Dead {
		bodies = append(bodies, m.Body)
	}
	q.state.Dead = nil
	return len(q.send(bodies)), q.save()
}

// Contents is what a queue holds.
type Contents struct {
	// Visible messages can be received, InFlight have been received and are hidden.
	Visible  int `json:"visible"`
	InFlight int `json:"inFlight"`
	// Dead are the dead letters.
	Dead []Message `json:"dead"`
}

// Contents returns what the queue holds.
func (q *Queue) Contents() Contents {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := Contents{Dead: append([]Message{}, q.state.Dead...)}
	now := time.Now()
	for _, m := range q.state.Waiting {
		if m.visible.After(now) {
			c.InFlight++
		} else {
			c.Visible++
		}
	}
	return c
}
