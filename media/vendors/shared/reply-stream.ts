import type { Cancellable, GenerateEvents } from '../../agent/vendor-ports.js'
import { EngineError, errorText } from '../../base/errors.js'
import { type SseEvent, SseParser } from './sse.js'
import type { VendorResponse } from './vendor-http.js'

/** Reads the events of one reply and reports them. */
export interface ReplyReader {
  /** The reply has ended; anything after it is ignored. */
  readonly complete: boolean
  /** Takes one event, or the whole body of a server that did not stream. Throws EngineError. */
  take(event: SseEvent): void
  /** Reports the end of the reply. Throws EngineError when the stream broke off before it. */
  finish(): void
}

/**
 * Runs one request for a reply over server-sent events. Every failure arrives as an EngineError through
 * `failed`, and nothing follows a failure or a cancellation.
 */
export function streamReply(
  events: Pick<GenerateEvents, 'failed'>,
  ask: (signal: AbortSignal) => Promise<VendorResponse>,
  readerOf: (signal: AbortSignal) => ReplyReader,
): Cancellable {
  const stop = new AbortController()
  const { signal } = stop
  read(signal, ask, readerOf(signal)).catch((error: unknown) => {
    if (signal.aborted) return
    stop.abort()
    events.failed(
      error instanceof EngineError
        ? error
        : new EngineError('vendor_failed', errorText(error), { cause: error }),
    )
  })
  return { cancel: () => stop.abort() }
}

async function read(
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<VendorResponse>,
  reply: ReplyReader,
): Promise<void> {
  const response = await ask(signal)
  if (response.contentType.startsWith('application/json')) {
    // The server ignored `stream`.
    const decoder = new TextDecoder()
    let text = ''
    await response.read((bytes) => {
      text += decoder.decode(bytes, { stream: true })
      return true
    })
    reply.take({ event: '', data: text })
  } else {
    const parser = new SseParser()
    const take = (event: SseEvent): void => reply.take(event)
    await response.read((bytes) => {
      parser.push(bytes, take)
      return !reply.complete && !signal.aborted
    })
    if (!reply.complete) parser.end(take)
  }
  reply.finish()
}
