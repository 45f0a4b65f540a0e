// The page of a payment follows what happens to it.
"use strict";

(() => {
  const payment = document.getElementById("payment");
  const status = document.getElementById("live");
  const stop = follow(payment.dataset.stream, "changed", {
    take(message) {
      if (message.deleted) {
        stop();
        status.textContent = "The payment is not on the server any more.";
        return;
      }
      htmx.ajax("GET", location.href, { target: "#payment", select: "#payment", swap: "outerMorph" });
    },
    say: (text) => { status.textContent = text; },
  });
})();
