/**
 * The part of a logger that the engine uses; pino implements it. Messages are static, values are fields.
 * Personal data (phone numbers, digits, transcripts, URLs) is allowed only under `personal`.
 */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
