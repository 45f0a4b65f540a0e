package paydoubletest_test

import (
	"fmt"
	"os"
	"testing"
)

// exampleT is the t of the examples, in which nothing fails.
type exampleT struct{ *recorder }

func (*exampleT) Error(args ...any) { panic(fmt.Sprint(args...)) }
func (*exampleT) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// The sandboxes of the examples are deleted at the end.
func TestMain(m *testing.M) {
	status := m.Run()
	t.end()
	os.Exit(status)
}
