import type { Log } from '../../media/base/log.js'
import type { FromWorker, Port } from '../channel/protocol.js'

type Level = 'info' | 'warn' | 'error'

/**
 * Returns the log of a worker thread. Lines cross to the main thread, whose logger writes them; `debug` does
 * not cross.
 */
export function threadLog(port: Port<FromWorker>, worker: number): Log {
  const send = (level: Level, fields: object, message: string): void => {
    port.postMessage({ type: 'log', level, fields: { worker, ...cloneable(fields) }, message })
  }
  return {
    debug() {},
    info: (fields, message) => send('info', fields, message),
    warn: (fields, message) => send('warn', fields, message),
    error: (fields, message) => send('error', fields, message),
  }
}

/** Replaces values that cannot cross a thread by text, rather than losing the line. */
function cloneable(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => [name, plain(value)]),
  )
}

function plain(value: unknown): unknown {
  if (value instanceof Error) return value.stack ?? value.message
  if (typeof value === 'function' || typeof value === 'symbol') return String(value)
  if (typeof value !== 'object' || value === null) return value
  try {
    return structuredClone(value)
  } catch {
    return '[not cloneable]'
  }
}
