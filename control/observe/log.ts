import { pino } from 'pino'
import type { Log } from '../../media/base/log.js'
import type { LogLevel } from '../config/settings.js'

/** Writes JSON lines to standard output. Call `flush` before the process ends. */
export interface ServiceLog extends Log {
  flush(): void
}

/** Destination of log lines. Standard output, except in tests. */
export interface LogTarget {
  write(line: string): void
}

/**
 * Opens the service's logger. Fields under `personal` (phone numbers, digits, transcripts, URLs) are removed
 * unless the level is `debug`, so that an ordinary log can be shared.
 */
export function openLog(level: LogLevel, target?: LogTarget): ServiceLog {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    ...(level === 'debug' ? {} : { redact: { paths: ['personal', '*.personal'], remove: true } }),
  }
  const logger =
    target === undefined ? pino(options, pino.destination({ sync: true })) : pino(options, target)
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => logger.flush(),
  }
}
