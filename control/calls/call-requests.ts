import { randomUUID } from 'node:crypto'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { DoneRequests } from '../api/deps.js'
import type { Db } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'

/*
 * Requests about a live call that reach another process than the one that carries the call. They go through the
 * database: the carrying process takes each one once, and a request that no process took in time is withdrawn.
 */

/** Interval (ms) at which a process with live calls looks for requests. */
const LOOK_MS = 250
/** Interval (ms) at which the asking process looks for the answer. */
const ASK_MS = 100
/** A request that is not taken after this time (ms) is withdrawn. */
export const TAKE_MS = 5_000
/** Longest time (ms) from taking a request to its answer. */
export const ANSWER_MS = 15_000
/** Requests that a process carries out at one look. */
const BATCH = 50

/** Carries out requests of one kind. Body and answer are JSON. */
export type CallRequestHandlers = Readonly<
  Record<string, (callId: string, body: unknown) => Promise<unknown>>
>

/** A request about a live call. */
export interface CallRequest {
  readonly kind: string
  /** JSON. */
  readonly body: unknown
  /** Id of the request, the same for its repetitions: it is carried out once. Null for a request without a key. */
  readonly id: string | null
}

/**
 * Asks the process that carries a call. Resolves with its answer, or with null when it did not take the request or
 * failed: then nothing was done, or the request may have been carried out without an answer.
 */
export async function askCarrier(
  { db, clock }: { readonly db: Db; readonly clock: Clock },
  call: Pick<CallRow, 'id' | 'nodeId'>,
  request: CallRequest,
): Promise<{ readonly answer: unknown } | null> {
  const id = request.id ?? randomUUID()
  await db
    .insertInto('callRequests')
    .values({
      id,
      callId: call.id,
      nodeId: call.nodeId,
      kind: request.kind,
      body: JSON.stringify(request.body),
      createdAt: clock.wall(),
      takenAt: null,
      answer: null,
    })
    // A repetition waits for the answer to the request that is there.
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  const begun = clock.now()
  for (;;) {
    await new Promise<void>((resolve) => clock.after(ASK_MS, resolve))
    const row = await db.selectFrom('callRequests').selectAll().where('id', '=', id).executeTakeFirst()
    if (row === undefined) return null
    if (row.answer !== null) {
      await db.deleteFrom('callRequests').where('id', '=', id).execute()
      return JSON.parse(row.answer) as { readonly answer: unknown } | null
    }
    const waitedMs = clock.now() - begun
    if (row.takenAt === null && waitedMs >= TAKE_MS) {
      // Conditional: a request that is being taken now is still answered.
      await db.deleteFrom('callRequests').where('id', '=', id).where('takenAt', 'is', null).execute()
    } else if (waitedMs >= TAKE_MS + ANSWER_MS) {
      await db.deleteFrom('callRequests').where('id', '=', id).execute()
    }
  }
}

/**
 * Carries out a request in this process, if the call is its own, or has it carried out by the process that carries the
 * call. Resolves with null when that one did not answer.
 */
export async function atCarrier<Answer>(
  deps: {
    readonly db: Db
    readonly clock: Clock
    readonly nodeId: string
    readonly doneRequests: DoneRequests
  },
  call: Pick<CallRow, 'id' | 'nodeId'>,
  request: CallRequest,
  here: () => Promise<Answer>,
): Promise<{ readonly answer: Answer } | null> {
  if (call.nodeId === deps.nodeId) return { answer: await deps.doneRequests.once(request.id, here) }
  // Another process of the service wrote it.
  return (await askCarrier(deps, call, request)) as { readonly answer: Answer } | null
}

/** Carries out the requests of other processes about the calls of this one. */
export function openCallRequests(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly nodeId: string
  /** Number of live calls. */
  readonly live: () => number
  readonly handlers: CallRequestHandlers
  readonly done: DoneRequests
}): { close(): Promise<void> } {
  const { db, clock, log, nodeId, handlers, done } = options
  const scope = new Scope()
  let running: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    if (options.live() === 0) return
    const waiting = await db
      .selectFrom('callRequests')
      .selectAll()
      .where('nodeId', '=', nodeId)
      .where('takenAt', 'is', null)
      .orderBy('createdAt')
      .orderBy('id')
      .limit(BATCH)
      .execute()
    for (const { id, callId, kind, body } of waiting) {
      const taken = await db
        .updateTable('callRequests')
        .set({ takenAt: clock.wall() })
        .where('id', '=', id)
        .where('takenAt', 'is', null)
        .executeTakeFirst()
      if (taken.numUpdatedRows === 0n) continue
      const answered = await answerOf(id, callId, kind, body)
      await db
        .updateTable('callRequests')
        .set({ answer: JSON.stringify(answered) })
        .where('id', '=', id)
        .execute()
    }
  }

  async function answerOf(id: string, callId: string, kind: string, body: string): Promise<object | null> {
    try {
      const handle = handlers[kind]
      if (handle === undefined) throw new Error(`no handler for ${kind}`)
      return { answer: await done.once(id, () => handle(callId, JSON.parse(body))) }
    } catch (error) {
      log.error({ callId, kind, error: errorText(error) }, 'call_requests.failed')
      return null
    }
  }

  /** Removes the requests of asking processes that stopped. */
  async function removeOld(): Promise<void> {
    const before = clock.wall() - 2 * (TAKE_MS + ANSWER_MS)
    await db.deleteFrom('callRequests').where('nodeId', '=', nodeId).where('createdAt', '<', before).execute()
  }

  function again(): void {
    scope.after(clock, LOOK_MS, () => {
      running = look()
        .catch((error: unknown) => log.warn({ error: errorText(error) }, 'call_requests.look_failed'))
        .finally(() => {
          if (!scope.closed) again()
        })
    })
  }

  running = removeOld().catch((error: unknown) =>
    log.warn({ error: errorText(error) }, 'call_requests.sweep_failed'),
  )
  again()
  return {
    async close() {
      await scope.close()
      await running
    },
  }
}
