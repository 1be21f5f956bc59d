import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { LiveFeed, LiveWatch } from '../api/deps.js'
import { EventQueue } from '../api/event-queue.js'
import type { EventStream } from '../api/event-stream.js'
import { type Refusal, tooEarly } from '../api/problem.js'
import type { Db } from '../db/database.js'
import {
  isAfter,
  type Position,
  parsePosition,
  positionText,
  RESUME_MS,
  readChanges,
  readHead,
  type StoredChange,
} from './changes.js'

/** Interval at which a process with streams reads the changes of all processes (ms). */
const LOOK_MS = 300
/** Rows of one read. */
const BATCH = 1000
/** Changes that a stream is continued with. After more of them the client reads everything again. */
const MAX_BACKLOG = 1000
const USER_STREAMS = 6
const ORGANIZATION_STREAMS = 50
const RETRY_AFTER_SECONDS = 10

/** A stream and its filter. */
interface Watcher {
  readonly watch: LiveWatch
  readonly queue: EventQueue
  /** Position of the last change that the client has. */
  after: Position
  /** Changes that wait until the earlier ones are read. Null when they were read. */
  waiting: StoredChange[] | null
}

/**
 * Opens the feed of changes of this process. While it has streams, it reads the changes that all processes
 * committed, once for all streams.
 */
export function openLiveFeed(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
}): LiveFeed & { close(): Promise<void> } {
  const { db, clock, log } = options
  const scope = new Scope()
  const watchers = new Set<Watcher>()
  /** Streams that are open or being opened, by their user. */
  const open = new Set<LiveWatch>()
  let head: Promise<Position> | null = null
  let running: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    if (head === null) return
    let position = await head
    for (;;) {
      const changes = await readChanges(db, position, { limit: BATCH })
      for (const change of changes) {
        position = change
        for (const watcher of watchers) offer(watcher, change)
      }
      // The head moves together with the streams, so that a stream that opens now gets what follows.
      head = Promise.resolve(position)
      if (changes.length < BATCH) return
    }
  }

  function again(): void {
    scope.after(clock, LOOK_MS, () => {
      running = look()
        .catch((error: unknown) => log.warn({ error: errorText(error) }, 'live.read_failed'))
        .finally(() => {
          if (open.size === 0) head = null
          else if (!scope.closed) again()
        })
    })
  }

  /** Returns the position of this process. The first stream starts the reads. */
  function started(): Promise<Position> {
    if (head === null) {
      head = readHead(db, clock.wall()).catch((error: unknown) => {
        head = null
        throw error
      })
      again()
    }
    return head
  }

  function offer(watcher: Watcher, change: StoredChange): void {
    if (!concerns(watcher.watch, change)) return
    if (watcher.waiting === null) send(watcher, change)
    else if (watcher.waiting.length < MAX_BACKLOG) watcher.waiting.push(change)
    else watcher.queue.end('slow')
  }

  function send(watcher: Watcher, change: StoredChange): void {
    if (!isAfter(change, watcher.after)) return
    watcher.after = change
    const { kind, subjectId: id } = change
    watcher.queue.push(`${kind} ${id}`, {
      event: 'changed',
      data: { kind, id },
      // The time counts from now, because a client may have waited for this change.
      id: positionText({ ...change, at: clock.wall() }),
    })
  }

  async function begin(watcher: Watcher, from: Position | null): Promise<void> {
    const { watch, queue } = watcher
    const now = await started()
    const fresh = from !== null && from.at > clock.wall() - RESUME_MS
    const missed =
      fresh && isAfter(now, from)
        ? await readChanges(db, from, {
            limit: MAX_BACKLOG + 1,
            until: now,
            organizationId: watch.organizationId,
          })
        : []
    const resumed = fresh && missed.length <= MAX_BACKLOG
    watcher.after = resumed ? from : now
    queue.push('hello', { event: 'hello', data: { resumed }, id: positionText(watcher.after) })
    const { waiting } = watcher
    watcher.waiting = null
    for (const change of [...(resumed ? missed : []), ...(waiting ?? [])]) {
      if (concerns(watch, change)) send(watcher, change)
    }
  }

  return {
    async watch(watch): Promise<EventStream | Refusal> {
      const ofOrganization = [...open].filter(({ organizationId }) => organizationId === watch.organizationId)
      const ofUser = ofOrganization.filter(({ userId }) => userId === watch.userId)
      if (ofUser.length >= USER_STREAMS || ofOrganization.length >= ORGANIZATION_STREAMS) {
        const message = `Too many streams are open: at most ${USER_STREAMS} for a user and ${ORGANIZATION_STREAMS} for an organization.`
        return tooEarly(message, RETRY_AFTER_SECONDS)
      }
      open.add(watch)
      const queue = new EventQueue(() => {
        open.delete(watch)
        watchers.delete(watcher)
      })
      const from = watch.lastEventId === null ? null : parsePosition(watch.lastEventId)
      const watcher: Watcher = { watch, queue, after: { transaction: 0, seq: 0, at: 0 }, waiting: [] }
      // Before the first read, so that no change falls between the read and the stream.
      watchers.add(watcher)
      try {
        await begin(watcher, from)
      } catch (error) {
        queue.close()
        throw error
      }
      return queue
    },
    async close() {
      await scope.close()
      for (const { queue } of [...watchers]) queue.end('restart')
      await running
    },
  }
}

function concerns(watch: LiveWatch, change: StoredChange): boolean {
  return (
    change.organizationId === watch.organizationId &&
    (change.environment === null || change.environment === watch.environment) &&
    (change.kind !== 'transcript' || change.subjectId === watch.callId)
  )
}
