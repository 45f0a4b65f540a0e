"use strict";

// A UUID version 4. crypto.randomUUID exists only on localhost and over https, and a double is often neither.
function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// The key that stands in the form is the document's example. Sent twice with two bodies it would be a conflict, so each
// call gets a key of its own unless somebody typed one.
function withFreshKey(example) {
  return (request) => {
    const name = Object.keys(request.headers || {}).find((each) => each.toLowerCase() === "idempotency-key");
    if (name && request.headers[name] === example) {
      request.headers[name] = freshKey();
    }
    return request;
  };
}

// Says of an operation, while it is folded, whether the contract shows it; the rest says so itself (showExtensions).
function provenancePlugin(system) {
  const { React } = system;
  const badge = (value) => React.createElement("span", { className: `provenance ${value}`, title: "x-provenance" }, value);
  return {
    wrapComponents: {
      OperationSummaryPath: (Original) => (props) => {
        const { path, method } = props.operationProps.toJS();
        const value = ["paths", "webhooks"]
          .map((side) => system.specSelectors.specJson().getIn([side, path, method, "x-provenance"]))
          .find(Boolean);
        return React.createElement(
          React.Fragment,
          null,
          React.createElement(Original, props),
          value ? badge(value) : null,
        );
      },
    },
  };
}

function exampleKey(document) {
  for (const path of Object.values(document.paths)) {
    const found = ((path.post || {}).parameters || []).find((each) => each.name === "Idempotency-Key");
    if (found) {
      return found.example;
    }
  }
  return null;
}

async function show() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const dress = () => window.document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", dress);
  dress();
  const control = new URLSearchParams(window.location.search).has("control");
  const response = await fetch(control ? "/_paydouble/control-openapi.json" : "/_paydouble/openapi.json");
  const document = await response.json();
  // The page may have been opened under another name of the same server; calls go where the page came from. On a port
  // that serves only the control API there is nothing to call.
  const here = new URL(window.location.origin);
  const there = new URL(document.servers[0].url, here);
  const callable = here.port === there.port;
  if (callable) {
    document.servers = [{ url: here.origin }];
  }
  window.SwaggerUIBundle({
    spec: document,
    dom_id: "#docs",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    docExpansion: "list",
    displayOperationId: false,
    filter: false,
    persistAuthorization: true,
    plugins: [provenancePlugin],
    requestInterceptor: withFreshKey(exampleKey(document)),
    showExtensions: true,
    supportedSubmitMethods: callable ? ["get", "post", "put", "patch", "delete"] : [],
    tryItOutEnabled: callable,
    validatorUrl: null,
  });
}

show().catch((error) => {
  window.document.querySelector("#docs").textContent = `The document cannot be shown: ${error.message}`;
});
