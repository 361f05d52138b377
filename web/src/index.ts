// OPAQUE in JavaScript: the protocol, and candor's login server over it.

export { OpaqueError, type OpaqueErrorCode } from "./error.js";
export { DEFAULT_LIMITS, DEFAULT_OLD_HASH_LIMITS, type Limits, type OldHashLimits } from "./limits.js";
export {
  LoginClient,
  LoginError,
  Session,
  type Fetch,
  type LoginClientOptions,
  type LoginErrorType,
  type LoginOptions,
  type PasswordInput,
  type RecoveryCodeOptions,
  type RegisterOptions,
  type SavedSession,
  type ServerConfig,
  type SessionInfo,
} from "./login.js";
export {
  OpaqueClient,
  type FinishOptions,
  type LoggedIn,
  type Login,
  type OpaqueClientOptions,
  type Registered,
  type Registration,
  type StartOptions,
} from "./opaque.js";
export { recoveryWrappingKey } from "./recovery.js";
