import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { memorySpool } from '../../../fixtures/database/memory-spool.js'
import { openMortal } from '../../../fixtures/database/mortal.js'
import { silentLog } from '../../../media/base/log.js'
import type { CallEvent } from '../../../signalling/call/call-events.js'
import type { Deps } from '../../api/deps.js'
import { isRefusal } from '../../api/problem.js'
import { type ClaimedJob, type JobHandler, openJobRunner } from '../../jobs/runner.js'
import { lockOrganization, updateOrganizationProfile } from '../../organization/profile-store.js'
import { resultHandlers } from '../../results/result-jobs.js'
import { placeCall } from '../placement/place-call.js'
import { openCallEventWriter } from './event-writer.js'
import { openLeases } from './leases.js'
import { sealingHandler } from './seal-outcome.js'
import { storingHandler } from './store-recording.js'

/** Calls that one process carries at once. They begin one after another, as those of a campaign do. */
const AT_ONCE = 50
const CALL_MS = 120_000
const BETWEEN_MS = CALL_MS / AT_ONCE
/** Time in which commits are counted: as many calls begin in it as end. */
const COUNTED_MS = 60_000
const COUNTED_CALLS = COUNTED_MS / BETWEEN_MS
/** Commits that a call may cost, its part of what the process does each second included. */
const MOST = 15
const STEP_MS = 200

type Body<E> = E extends CallEvent ? Omit<E, 'callId' | 'seq' | 'at'> : never
/** Events of a call by the time after its INVITE (ms). */
type Script = readonly (readonly [number, Body<CallEvent>])[]

/** An agent and a person: ten times the person says something, and the agent answers. */
function agentCall(): Script {
  const turn = (speaker: 'caller' | 'agent', id: number, startMs: number): Body<CallEvent> => ({
    type: 'turn',
    turn: {
      ...{ id, speaker, text: `line ${id}`, heardText: `line ${id}`, language: 'en-IN', words: null },
      ...{ startMs, endMs: startMs + 2_000 },
    },
  })
  const trace = (turnId: number, at: number): Body<CallEvent> => ({
    type: 'trace',
    trace: {
      ...{ turnId, speechEndMs: at, vadStopMs: at + 300, sttFinalMs: at + 350, decidedMs: at + 400 },
      ...{ modelFirstTokenMs: at + 700, firstSentenceMs: at + 750, ttsFirstAudioMs: at + 850 },
      firstPacketMs: at + 870,
    },
  })
  const exchanges = Array.from({ length: 10 }, (_, i): Script => {
    const at = 5_000 + i * 11_000
    return [
      [at + 3_000, turn('caller', 2 * i + 1, at)],
      [at + 4_000, trace(2 * i + 2, at + 2_600)],
      [at + 8_000, turn('agent', 2 * i + 2, at + 3_900)],
    ]
  })
  return [
    [0, { type: 'dialing', sipCallId: 'sip' }],
    [500, { type: 'ringing', sip: 180 }],
    [3_000, { type: 'answered' }],
    [4_500, { type: 'answered_by', by: 'human', evidence: 'words', atMs: 1_500 }],
    [4_900, turn('agent', 0, 0)],
    ...exchanges.flat(),
  ]
}

/** A bot and a person, who presses a key. */
function botCall(): Script {
  return [
    [0, { type: 'dialing', sipCallId: 'sip' }],
    [500, { type: 'ringing', sip: 180 }],
    [3_000, { type: 'answered' }],
    [60_000, { type: 'dtmf', digit: '1', atMs: 57_000, durationMs: 120 }],
  ]
}

await onEachDialect(t, async (t, open) => {
  for (const [name, script, prepare] of [
    ['an agent', agentCall(), (calling: TestCalling) => calling.publishAgent()],
    ['a bot', botCall(), routeToBot],
  ] as const) {
    await t.test(`a call of two minutes with ${name} costs at most ${MOST} commits`, async (t) => {
      const shared = await open()
      const calling = await openTestCalling(shared)
      t.teardown(() => calling.close())
      await prepare(calling)
      await raiseLimits(calling)
      const { clock, folder, control } = calling
      mkdirSync(folder, { recursive: true })
      const counted = openMortal(shared, () => {})
      const deps: Deps = { ...calling.deps, db: counted.db }
      const { db, objects, rootKey } = deps
      const log = silentLog
      const writer = openCallEventWriter({ ...deps, log, spool: memorySpool() })
      const leases = openLeases({
        ...{ db, clock, log, nodeId: 'node-1', calls: control },
        unstored: () => [],
      })
      const handlers = [
        sealingHandler({ rootKey, clock }),
        storingHandler({ db, objects, log, nodeId: 'node-1', folder }),
        ...resultHandlers({ db, clock, log, model: () => null }),
      ]
      /** Jobs that read and write files. Time stands still meanwhile, so that the count is the same on every host. */
      const working = new Set<Promise<unknown>>()
      const watched = handlers.map((handler): JobHandler => {
        const run = (job: ClaimedJob) => {
          const running = handler.run(job).finally(() => working.delete(running))
          working.add(running)
          return running
        }
        return { ...handler, run }
      })
      const runner = openJobRunner({ ...{ db, clock, log }, handlers: watched })

      /** Events that are to come, by their time. */
      const agenda: { readonly at: number; readonly happen: () => void }[] = []
      const startedAt = clock.now()
      const place = async (): Promise<void> => {
        const placed = await placeCall(deps, calling.owner, {
          ...{ to: '+919876543210', numberId: calling.numberId, agentId: null, variables: {}, metadata: {} },
          idempotencyId: null,
        })
        if (isRefusal(placed)) throw new Error(placed.message)
        const { id } = placed
        const from = clock.now()
        const publish = (seq: number, body: Body<CallEvent>) =>
          writer.publish({ callId: id, seq, at: clock.wall(), ...body })
        for (const [seq, [ms, body]] of script.entries()) {
          agenda.push({ at: from + ms, happen: () => publish(seq, body) })
        }
        agenda.push({
          at: from + CALL_MS,
          happen: () => {
            control.alive.delete(id)
            publish(script.length, endedEvent(folder, id))
          },
        })
      }
      let placed = 0
      const pass = async (ms: number): Promise<void> => {
        for (const until = clock.now() + ms; clock.now() < until; ) {
          for (; clock.now() - startedAt >= placed * BETWEEN_MS; placed++) await place()
          for (const { happen } of agenda.filter(({ at }) => at <= clock.now())) happen()
          const later = agenda.filter(({ at }) => at > clock.now())
          agenda.splice(0, agenda.length, ...later)
          clock.advance(STEP_MS)
          for (await counted.quiet(); working.size > 0; await counted.quiet()) await Promise.all(working)
        }
      }
      const rows = async () => {
        const ended = await db.selectFrom('calls').select('id').where('status', '=', 'ended').execute()
        const sealed = await db.selectFrom('evidence').select('id').where('kind', '=', 'outcome').execute()
        return [ended.length, sealed.length]
      }
      await pass(CALL_MS)
      t.same(await rows(), [0, 0])
      const before = { commits: counted.commits, statements: counted.statements }
      await pass(COUNTED_MS)
      const commits = (counted.commits - before.commits) / COUNTED_CALLS
      const statements = (counted.statements - before.statements) / COUNTED_CALLS
      t.equal(placed, AT_ONCE + COUNTED_CALLS)
      t.same(await rows(), [COUNTED_CALLS, COUNTED_CALLS])
      await runner.idle()
      t.same(await db.selectFrom('jobs').select('id').execute(), [])
      t.ok(commits <= MOST, `${commits} commits for a call`)
      t.comment(`${commits} commits and ${statements} statements for a call`)
      await runner.close()
      await leases.close()
      await writer.close()
    })
  }
})

async function routeToBot({ deps, send, numberId }: TestCalling): Promise<void> {
  await deps.db.updateTable('organizations').set({ senderClassification: 'service' }).execute()
  const mediaEndpoint = { type: 'static', url: 'wss://bot.example.com/talk' }
  const json = { routingMode: 'byo_ws', mediaEndpoint }
  const routed = await send('PATCH', `/v1/numbers/${numberId}`, { json })
  if (routed.status !== 200) throw new Error(JSON.stringify(routed.body))
}

async function raiseLimits({ deps, owner }: TestCalling): Promise<void> {
  const { organizationId } = owner
  await deps.db
    .insertInto('callingProfiles')
    .values({
      ...{ organizationId, agentCallsTest: 2 * AT_ONCE, agentCallsLive: null, ratePaisePerMinute: null },
      ...{ enforcedAt: null, enforcedReason: null, windowStartMinute: null, windowEndMinute: null },
    })
    .execute()
  await deps.db.transaction().execute(async (trx) => {
    await lockOrganization(trx, organizationId, 0)
    await updateOrganizationProfile(trx, organizationId, { byoCallsTest: 2 * AT_ONCE })
  })
}

function endedEvent(folder: string, id: string): Body<CallEvent> & { readonly type: 'ended' } {
  const text = `RIFF ${id}`
  const path = join(folder, `${id}.wav`)
  writeFileSync(path, text)
  const sha256 = createHash('sha256').update(text).digest('hex')
  return {
    type: 'ended',
    ending: { by: 'callee', cause: 'caller_hangup', fault: 'none' },
    rtp: null,
    recording: { path, bytes: text.length, durationMs: CALL_MS, sha256 },
  }
}
