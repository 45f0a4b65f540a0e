// Package paydoublecontainer runs paydouble in a container, for tests with the package paydoubletest.
//
// One container serves all tests of a test binary:
//
//	box := paydoubletest.New(t, paydoublecontainer.Option())
//
// If PAYDOUBLE_URL names a server, that one is used and no container starts. Testcontainers removes the container when
// the test binary has ended.
package paydoublecontainer

import (
	"context"
	"os"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/paydouble/paydouble/clients/go/paydoubletest"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	port = "8080/tcp"
	// thisMachine is the name of the machine of the tests in the container.
	thisMachine = "host.docker.internal"
)

// Container is a running server.
type Container struct{ testcontainers.Container }

// Run starts a container with the given image; the caller terminates it, for instance with
// [testcontainers.CleanupContainer].
func Run(ctx context.Context, image string, opts ...testcontainers.ContainerCustomizer) (*Container, error) {
	opts = append([]testcontainers.ContainerCustomizer{
		testcontainers.WithExposedPorts(port),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			host.ExtraHosts = append(host.ExtraHosts, thisMachine+":host-gateway")
		}),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/_paydouble/health").WithPort(port)),
	}, opts...)
	running, err := testcontainers.Run(ctx, image, opts...)
	if err != nil {
		return nil, err
	}
	return &Container{running}, nil
}

// Address returns where the server is, for [paydoubletest.WithServer].
func (c *Container) Address(ctx context.Context) (paydoubletest.Address, error) {
	url, err := c.PortEndpoint(ctx, port, "http")
	return paydoubletest.Address{URL: url, ReceiverHost: thisMachine}, err
}

// Option makes [paydoubletest.New] use the container of [Start], unless PAYDOUBLE_URL names a server.
func Option() paydoubletest.Option { return paydoubletest.WithStarter(Start) }

var (
	once    sync.Once
	address paydoubletest.Address
	failure error
)

// Start starts a container once for the test binary, and returns where its server is. The image is the one that
// PAYDOUBLE_IMAGE names, or "paydouble".
func Start(ctx context.Context) (paydoubletest.Address, error) {
	once.Do(func() {
		image := os.Getenv("PAYDOUBLE_IMAGE")
		if image == "" {
			image = "paydouble"
		}
		running, err := Run(ctx, image)
		if err != nil {
			failure = err
			return
		}
		address, failure = running.Address(ctx)
	})
	return address, failure
}
