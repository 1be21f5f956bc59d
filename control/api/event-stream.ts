import { z } from 'zod'

/** One server-sent event (HTML, 9.2). */
export interface StreamEvent {
  /** One of the events that the operation declares. */
  readonly event: string
  readonly data: unknown
  /** Position in the stream after this event. The client sends it as `Last-Event-ID` to continue. */
  readonly id?: string
}

/** A source of events for one client. */
export interface EventStream {
  /**
   * Resolves with the events that are due as soon as there is one, and with null when the stream is over. It
   * is called again only when the client has taken the previous events: events that arrive meanwhile wait in
   * the source, which bounds and merges them. Never called twice at once.
   */
  next(): Promise<readonly StreamEvent[] | null>
  /** Releases the source. A pending `next` resolves with null. Idempotent. */
  close(): void
}

/**
 * Why the service ended a stream. `slow`: the client did not read. `credential`: the session or the address is no
 * longer valid. `restart`: the process stops. `over`: the source has no more events. A client reconnects after
 * `slow` and `restart`.
 */
export const END_REASONS = ['slow', 'credential', 'restart', 'over'] as const
export type EndReason = (typeof END_REASONS)[number]

/** Last event of every stream that the service ends. */
export const END_EVENT = 'end'
export const EndEvent = z.object({ reason: z.enum(END_REASONS) })
