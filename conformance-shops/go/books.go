package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"
)

// Order is what a customer buys. Review is why a person has to look at it.
type Order struct {
	ID, Currency, Review string
	Amount               Money
	Shipped, Mails       int
}

// Attempt is a try to create a deposit. State: open (not known whether it exists), made, refused, denied.
type Attempt struct {
	Number                              int
	Order, Key, Body, State, Payin, URL string
	KeyMade                             time.Time
}

// Payin is a deposit as far as the service has told.
type Payin struct {
	ID, Order, Status string
	At                time.Time
}

// Refund has the state of its request, as an attempt has, and the status that the service gives it.
type Refund struct {
	ID, Order, Payin, Key, Body, State, Remote, Status string
	Amount                                             Money
	KeyMade, At                                        time.Time
}

// Dispute is a chargeback, open or decided.
type Dispute struct {
	ID, Order, Status string
	At                time.Time
}

// Entry is what a payment, refund or lost dispute comes to in the ledger.
type Entry struct {
	Order, Kind string
	Amount      Money
}

// Books are tables in memory, and a file to which each transaction is appended as one line.
type Books struct {
	mutex    sync.Mutex
	file     *os.File
	loaders  map[string]func(id string, row json.RawMessage) error
	changes  []change
	undo     []func()
	orders   table[Order]
	attempts table[Attempt]
	payins   table[Payin]
	refunds  table[Refund]
	disputes table[Dispute]
	ledger   table[Entry]
	events   table[time.Time] // when each was processed
	clock    table[time.Duration]
}

type table[T any] struct {
	name string
	rows map[string]T
}

type change struct {
	Table, ID string
	Row       any
}

func openBooks(folder string) (*Books, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "books.jsonl")
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	books := &Books{loaders: map[string]func(string, json.RawMessage) error{}}
	books.empty()
	whole := content[:bytes.LastIndexByte(content, '\n')+1] // a crash can leave half a line
	for _, line := range bytes.Split(bytes.TrimSpace(whole), []byte{'\n'}) {
		var changes []struct {
			Table, ID string
			Row       json.RawMessage
		}
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &changes); err != nil {
			return nil, err
		}
		for _, one := range changes {
			if err := books.loaders[one.Table](one.ID, one.Row); err != nil {
				return nil, err
			}
		}
	}
	if books.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	return books, books.file.Truncate(int64(len(whole)))
}

func (b *Books) empty() {
	setUp(b, &b.orders, "orders")
	setUp(b, &b.attempts, "attempts")
	setUp(b, &b.payins, "payins")
	setUp(b, &b.refunds, "refunds")
	setUp(b, &b.disputes, "disputes")
	setUp(b, &b.ledger, "ledger")
	setUp(b, &b.events, "events")
	setUp(b, &b.clock, "clock")
}

func setUp[T any](b *Books, t *table[T], name string) {
	*t = table[T]{name, map[string]T{}}
	b.loaders[name] = func(id string, raw json.RawMessage) error {
		var row T
		err := json.Unmarshal(raw, &row)
		t.rows[id] = row
		return err
	}
}

// transaction does all of the work or nothing; when it returns without an error, it is on the disk.
func (b *Books) transaction(work func() error) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.changes, b.undo = nil, nil
	err := work()
	if err == nil && len(b.changes) > 0 {
		err = b.write()
	}
	if err != nil {
		for i := len(b.undo) - 1; i >= 0; i-- {
			b.undo[i]()
		}
	}
	return err
}

func (b *Books) write() error {
	line, err := json.Marshal(b.changes)
	if err == nil {
		_, err = b.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = b.file.Sync()
	}
	return err
}

// read gives a consistent look at the books.
func (b *Books) read(look func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	look()
}

// put writes a row, inside of a transaction.
func put[T any](b *Books, t *table[T], id string, row T) {
	old, had := t.rows[id]
	b.undo = append(b.undo, func() {
		if had {
			t.rows[id] = old
		} else {
			delete(t.rows, id)
		}
	})
	b.changes = append(b.changes, change{t.name, id, row})
	t.rows[id] = row
}

// find returns the rows that are wanted, by id.
func (t *table[T]) find(wanted func(T) bool) []T {
	ids := make([]string, 0, len(t.rows))
	for id, row := range t.rows {
		if wanted(row) {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	found := make([]T, len(ids))
	for i, id := range ids {
		found[i] = t.rows[id]
	}
	return found
}

func (b *Books) reset() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.empty()
	return b.file.Truncate(0)
}

// now is the machine's time, shifted if a test asked for that. Call it inside of read or transaction.
func (b *Books) now() time.Time { return time.Now().Add(b.clock.rows["ahead"]) }

// clockNow is the same, for what is outside of them.
func (b *Books) clockNow() (now time.Time) {
	b.read(func() { now = b.now() })
	return now
}

func (b *Books) setTime(instant *time.Time) error {
	return b.transaction(func() error {
		ahead := time.Duration(0)
		if instant != nil {
			ahead = time.Until(*instant)
		}
		put(b, &b.clock, "ahead", ahead)
		return nil
	})
}
