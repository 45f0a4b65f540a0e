export { PaydoubleError, ControlRefused, NotAsExpected, ServerGone, ServerNotFound } from "./errors.js";
export type {
  Clock,
  Deliveries,
  Events,
  Faults,
  Objects,
  Payer,
  PayIns,
  PlayedDeposit,
  RateLimit,
  Requests,
  Scenarios,
  Webhook,
} from "./handles.js";
export { Paydouble, type ConnectOptions, type StartOptions } from "./paydouble.js";
export { WebhookReceiver, type Answer, type Answering, type Received, type ReceiverOptions } from "./receiver.js";
export type { Sandbox } from "./sandbox.js";
export type * from "./schemas.js";
export { sign, SIGNATURE_HEADER, SignatureError, verifySignature } from "./signature.js";
