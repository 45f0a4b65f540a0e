// What the environment says, and which mistakes are switched on.

const env = process.env;

export const PORT = Number(env.PORT ?? 3000);
export const DATA = env.SHOP_DATA ?? "data";
export const API_URL = (env.PAYMENTS_URL ?? "http://127.0.0.1:8080/api/v1").replace(/\/+$/, "");
export const AUTHORIZATION =
  "Basic " + Buffer.from(`${env.PAYMENTS_KEY ?? ""}:${env.PAYMENTS_SECRET ?? ""}`).toString("base64");
export const WEBHOOK_SECRET = env.WEBHOOK_SECRET ?? "";
export const LIVEMODE = env.PAYMENTS_LIVEMODE === "true";
export const PAUSE_SCALE = Number(env.SHOP_PAUSE_SCALE ?? 1);
export const TIMEOUT_MS = Number(env.SHOP_TIMEOUT ?? 10) * 1000;

const switchedOn = new Set((env.SHOP_MISTAKES ?? "").split(",").map((name) => name.trim()));

/** Whether this mistake is switched on; mistakes.md describes them. @param {string} name */
export const mistake = (name) => switchedOn.has(name);
