package paydoubletest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder stands for the t of a test that may fail: it keeps what is logged.
type recorder struct {
	testing.TB // for the methods that nothing here calls

	mutex    sync.Mutex
	logged   []string
	failed   bool
	cleanups []func()
}

// record runs a test, its cleanups included, and returns what it has logged and whether it has failed.
func record(test func(t testing.TB)) (string, bool) {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.end()
		test(r)
	}()
	<-done
	return strings.Join(r.logged, "\n"), r.failed
}

func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func (r *recorder) note(failed bool, text string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.failed = r.failed || failed
	r.logged = append(r.logged, text)
}

func (r *recorder) Helper()                         {}
func (r *recorder) Failed() bool                    { return r.failed }
func (r *recorder) Cleanup(f func())                { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(args ...any)                 { r.note(false, fmt.Sprint(args...)) }
func (r *recorder) Logf(format string, args ...any) { r.note(false, fmt.Sprintf(format, args...)) }
func (r *recorder) Error(args ...any)               { r.note(true, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.note(true, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
