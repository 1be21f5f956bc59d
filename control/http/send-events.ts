import type { Clock } from '../../media/base/clock.js'
import { Scope } from '../../media/base/scope.js'
import { END_EVENT, type EndReason, type EventStream, type StreamEvent } from '../api/event-stream.js'
import type { Operation } from '../api/operation.js'
import type { Exchange } from './exchange.js'
import { parseResult } from './reply.js'

/** A comment in this interval keeps proxies from closing the connection (ms). The credential is checked each time. */
const BEAT_MS = 15_000
/** A client that takes nothing for this time (ms) is disconnected. */
const STALLED_MS = 30_000
/** Time for the last event to reach the client (ms). */
const LAST_EVENT_MS = 5_000
/** Time after which a client reconnects (ms). */
const RETRY_MS = 2_000

/** The open event streams of a server. */
export class OpenStreams {
  readonly #stops = new Set<(reason: EndReason) => void>()
  #closed = false

  /** Ends every stream, and each later one at once. */
  close(): void {
    this.#closed = true
    for (const stop of [...this.#stops]) stop('restart')
  }

  /** Returns the function that removes the stream. */
  add(stop: (reason: EndReason) => void): () => void {
    this.#stops.add(stop)
    if (this.#closed) stop('restart')
    return () => this.#stops.delete(stop)
  }
}

/**
 * Sends events until the source or the client ends the stream, as fast as the client takes them. `admitted`
 * tells whether the credential of the request is still valid. Rejects only for internal errors.
 */
export async function sendEvents(
  { request, response }: Exchange,
  operation: Operation,
  stream: EventStream,
  options: {
    readonly clock: Clock
    readonly streams: OpenStreams
    readonly admitted: () => Promise<boolean>
  },
): Promise<void> {
  const { clock, streams, admitted } = options
  response.set({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  if (request.method === 'HEAD') {
    stream.close()
    response.end()
    return
  }
  const scope = new Scope()
  const gone = new Promise<void>((resolve) => response.once('close', resolve))
  let ended = false
  let failure: unknown = null

  const stop = (reason: EndReason): void => {
    if (ended) return
    ended = true
    stream.close()
    // Unread data is in front of this event. A client that wakes up gets it.
    response.end(eventText(operation, { event: END_EVENT, data: { reason } }))
    scope.after(clock, LAST_EVENT_MS, () => response.destroy())
  }
  const check = async (): Promise<void> => {
    try {
      if (!(await admitted())) stop('credential')
    } catch (error) {
      failure = error
      response.destroy()
    }
  }
  const beat = (): void => {
    if (ended) return
    if (!response.writableNeedDrain) response.write(': beat\n\n')
    void check()
    scope.after(clock, BEAT_MS, beat)
  }
  scope.own(streams.add(stop))
  scope.own(() => stream.close())
  response.once('close', () => {
    ended = true
    stream.close()
  })
  scope.after(clock, BEAT_MS, beat)
  try {
    response.write(`retry: ${RETRY_MS}\n\n`)
    for (let events = await stream.next(); events !== null && !ended; events = await stream.next()) {
      const taken = response.write(events.map((event) => eventText(operation, event)).join(''))
      if (!taken) await drained(response, clock, () => stop('slow'))
    }
    if (!ended) {
      ended = true
      response.end()
    }
    await gone
  } catch (error) {
    response.destroy()
    throw error
  } finally {
    await scope.close()
  }
  if (failure !== null) throw failure
}

/** Resolves when the client has taken what was written, or is gone. */
function drained(response: Exchange['response'], clock: Clock, stalled: () => void): Promise<void> {
  return new Promise((resolve) => {
    const deadline = clock.after(STALLED_MS, () => {
      stalled()
      done()
    })
    const done = (): void => {
      deadline.cancel()
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.once('drain', done).once('close', done)
    if (response.closed) done()
  })
}

/** Renders an event with the schema of the operation. JSON has no line breaks, so that one line is enough. */
function eventText(operation: Operation, { event, data, id }: StreamEvent): string {
  const schema = operation.events?.[event]
  const value = schema === undefined ? undefined : parseResult(operation, schema, data)
  if (value === undefined) throw new TypeError(`${operation.id} declares no event ${event}`)
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(value)}\n\n`
}
