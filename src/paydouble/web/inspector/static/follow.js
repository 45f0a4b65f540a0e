// Follows a stream of the server. A hidden tab closes its stream, since a browser opens only six connections to a host.
"use strict";

function follow(url, kind, { position = "", take, say }) {
  let source = null;
  let ended = false;

  function open() {
    if (source || ended || document.hidden) return;
    const target = new URL(url, location.href);
    if (position) target.searchParams.set("after", position);
    source = new EventSource(target);
    say("Connecting");
    source.addEventListener("open", () => say("Live"));
    source.addEventListener(kind, (event) => {
      if (event.lastEventId) position = event.lastEventId;
      take(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) {
        close();
        retry();
      } else {
        say("Not connected; trying again");
      }
    });
  }

  // The server refused the stream: because the session has ended, or because it is starting again.
  async function retry() {
    say("Not connected; trying again");
    const answer = await fetch(location.href, { method: "HEAD", redirect: "manual", headers: { Accept: "text/html" } })
      .catch(() => null);
    if (answer?.type === "opaqueredirect") say("The session has ended. Load the page again to log in.");
    else setTimeout(open, 2000);
  }

  function close() {
    if (source) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else open();
  });
  open();
  return () => {
    ended = true;
    close();
  };
}
