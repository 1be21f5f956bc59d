/** A server-sent event with its name and data. */
export interface ServerEvent {
  readonly event: string
  readonly data: unknown
}

/** Bytes of an event without an end, at which a stream is given up. */
const MAX_EVENT = 1024 * 1024

/**
 * Events of the service, until it or the caller ends them: `for await (const { event, data } of stream)`. The
 * service may send events and fields that the types do not name. A comment of the service keeps the connection
 * open: `onActivity` is called with everything that arrives, so that the caller can notice silence.
 */
export class EventStream<E extends ServerEvent> implements AsyncIterable<E> {
  readonly #response: Response
  /** Id of the last event. Pass it as `lastEventId` to continue after a lost connection. */
  lastEventId: string | null = null
  onActivity: () => void = () => {}

  constructor(response: Response) {
    this.#response = response
  }

  /** Yields each event once. Throws what the connection throws. */
  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    const { body } = this.#response
    if (body === null) return
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        this.onActivity()
        rest += part.value
        // The service ends lines with a line feed and events with an empty line.
        const blocks = rest.split('\n\n')
        rest = blocks.pop() ?? ''
        if (rest.length > MAX_EVENT) throw new Error('An event of the service does not end.')
        for (const block of blocks) {
          const { id, event, data } = fieldsOf(block)
          if (id !== null) this.lastEventId = id
          if (event === null || data === null) continue
          yield { event, data: JSON.parse(data) } as E
        }
      }
    } finally {
      await reader.cancel()
    }
  }
}

function fieldsOf(block: string): Readonly<Record<'id' | 'event' | 'data', string | null>> {
  const fields: Record<'id' | 'event' | 'data', string | null> = { id: null, event: null, data: null }
  for (const line of block.split('\n')) {
    const [, name, value] = /^(id|event|data): ?(.*)$/.exec(line) ?? []
    if (name === 'id' || name === 'event' || name === 'data') fields[name] = value ?? ''
  }
  return fields
}
