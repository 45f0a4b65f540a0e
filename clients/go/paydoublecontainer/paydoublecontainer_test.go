package paydoublecontainer_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/paydouble/paydouble/clients/go/paydoublecontainer"
	"github.com/paydouble/paydouble/clients/go/paydoubletest"
	"github.com/testcontainers/testcontainers-go"
)

func TestAContainerServesAndReachesTheReceiver(t *testing.T) {
	if os.Getenv("PAYDOUBLE_IMAGE") == "" {
		t.Skip("PAYDOUBLE_IMAGE names no image; docker build -t paydouble . makes one")
	}
	testcontainers.SkipIfProviderIsNotHealthy(t)
	container, err := paydoublecontainer.Run(context.Background(), os.Getenv("PAYDOUBLE_IMAGE"))
	if err != nil {
		t.Fatal(err)
	}
	testcontainers.CleanupContainer(t, container)
	address, err := container.Address(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	box := paydoubletest.New(t, paydoubletest.WithServer(address))
	receiver := box.Receive()

	box.Scenarios.Play("happy-path", nil)
	box.Advance(time.Minute)

	if types := receiver.Types(); len(types) != 4 {
		t.Errorf("it got %v", types)
	}
}

func TestAServerThatTheEnvironmentNamesNeedsNoContainer(t *testing.T) {
	if os.Getenv("PAYDOUBLE_URL") == "" {
		t.Skip("PAYDOUBLE_URL names no server")
	}
	paydoubletest.New(t, paydoublecontainer.Option()).Requests.Verify(t, paydoubletest.Count(0))
}
