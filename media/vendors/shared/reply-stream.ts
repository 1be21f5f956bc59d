import type { Cancellable, GenerateEvents } from '../../agent/vendor-ports.js'
import { EngineError, errorText } from '../../base/errors.js'
import { ReplyDecoder, type ReplyMessage } from './reply-decoder.js'
import type { VendorResponse } from './vendor-http.js'

/** Reads the messages of one reply and reports them. */
export interface ReplyReader {
  /** The reply has ended; anything after it is ignored. */
  readonly complete: boolean
  /** Takes one message, or null for the mark of the end. Throws EngineError. */
  take(message: ReplyMessage | null): void
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
  const decoder = new ReplyDecoder((message) => {
    if (!reply.complete && !signal.aborted) reply.take(message)
  })
  await response.read((bytes) => {
    decoder.push(bytes)
    return !reply.complete && !signal.aborted
  })
  if (!reply.complete) decoder.end()
  reply.finish()
}
