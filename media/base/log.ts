/**
 * What the engine needs from a logger (pino satisfies it). Static message, values as fields.
 * Personal data (phone numbers, digits, text people said, URLs) goes only under `personal`.
 */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
