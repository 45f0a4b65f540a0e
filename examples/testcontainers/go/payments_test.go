// Package payments runs the double in a container: go mod init payments; go mod tidy; go test
package payments

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// receiver is your own webhook endpoint; this one only remembers the types of events.
type receiver struct {
	mutex sync.Mutex
	heard []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var event struct{ Type string }
	if err := json.NewDecoder(request.Body).Decode(&event); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.heard = append(r.heard, event.Type)
	w.WriteHeader(http.StatusNoContent)
}

func TestAMinuteLaterTheDepositIsPaid(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	events := &receiver{}
	go http.Serve(listener, events)
	defer listener.Close()
	service := start(t, listener.Addr().(*net.TCPAddr).Port)

	post(t, service+"/api/v1/pay-in/deposit-creation", `{
		"amount": 49.90, "currency": "EUR", "external_identifier": "order-1",
		"payment_method": {"type": "CREDIT_CARD"},
		"customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"}}`)
	post(t, service+"/_paydouble/sandboxes/default/clock/advance", `{"by": "1m"}`)

	expected := []string{"pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"}
	events.mutex.Lock()
	defer events.mutex.Unlock()
	if !reflect.DeepEqual(expected, events.heard) {
		t.Fatalf("expected %v, heard %v", expected, events.heard)
	}
}

// start returns where the double is; its webhooks come to a port of this machine.
func start(t *testing.T, port int) string {
	image := os.Getenv("PAYDOUBLE_IMAGE")
	if image == "" {
		image = "paydouble"
	}
	double, err := testcontainers.Run(t.Context(), image,
		testcontainers.WithExposedPorts("8080/tcp"),
		testcontainers.WithEnv(map[string]string{
			"PAYDOUBLE_CLOCK":            "manual",
			"PAYDOUBLE_NOTIFICATION_URL": fmt.Sprintf("http://host.docker.internal:%d/webhooks", port),
		}),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			host.ExtraHosts = append(host.ExtraHosts, "host.docker.internal:host-gateway")
		}),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/_paydouble/health").WithPort("8080/tcp")),
	)
	testcontainers.CleanupContainer(t, double)
	if err != nil {
		t.Fatal(err)
	}
	service, err := double.PortEndpoint(t.Context(), "8080/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func post(t *testing.T, url, body string) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if strings.Contains(url, "/api/v1/") {
		request.SetBasicAuth("sandbox_key", "sandbox_secret")
		request.Header.Set("Idempotency-Key", uuid.NewString())
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(response.Body)
		t.Fatalf("%s: %s: %s", url, response.Status, answer)
	}
}
