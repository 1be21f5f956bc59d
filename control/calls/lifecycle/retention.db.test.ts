import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { newId } from '../../../media/base/ids.js'
import { silentLog } from '../../../media/base/log.js'
import { UNVERIFIED_KEPT_MS } from '../../access/accounts/store.js'
import { retentionHandlers, scheduleRetention } from '../../app/retention.js'
import { openJobRunner } from '../../jobs/runner.js'
import { storingHandler } from './store-recording.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const code = (answer: { body: unknown }) => (answer.body as { error: { code: string } }).error.code

/** Inserts a call of one minute with one word and a recording. */
async function recordedCall(calling: TestCalling): Promise<string> {
  const placed = await calling.send('POST', '/v1/calls', {
    json: { to: '+919876543210', numberId: calling.numberId },
  })
  const id = String(dataOf(placed).id)
  const path = join(calling.folder, `${id}.wav`)
  writeFileSync(path, 'RIFF')
  const text = 'Hello.'
  const said = { id: 1, speaker: 'agent', text, heardText: text, language: 'en-IN' } as const
  await calling.emitCallEvent(
    id,
    { type: 'answered' },
    { type: 'turn', turn: { ...said, startMs: 0, endMs: 900, words: null } },
    {
      type: 'ended',
      ending: { by: 'callee', cause: 'caller_hangup', fault: 'none' },
      rtp: null,
      recording: {
        path,
        bytes: 4,
        durationMs: 1_000,
        sha256: createHash('sha256').update('RIFF').digest('hex'),
      },
    },
  )
  return id
}

// Ids of one process never go back in time, so the second run uses later ones.
let startsAt = Date.parse('2025-01-15T05:00:00Z')

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const { db } = database
  const calling = await openTestCalling(database, { wallMs: startsAt })
  startsAt += 730 * DAY
  const { send, clock, folder } = calling
  const { objects, rootKey } = calling.deps
  const recordings = { db, objects, log: silentLog, nodeId: 'node-1', folder }
  mkdirSync(folder, { recursive: true })
  await calling.publishAgent()
  await scheduleRetention(db, 'node-1', clock.wall())
  const runner = openJobRunner({
    db,
    clock,
    log: silentLog,
    handlers: [
      storingHandler(recordings),
      ...retentionHandlers({ ...recordings, rootKey, clock, recordings: folder }),
    ],
    pollMs: 1_000 * DAY,
  })
  // A running job renews its lease throughout a jump of the clock.
  await runner.idle()
  const pass = async (ms: number) => {
    clock.advance(ms)
    await runner.idle()
  }

  await t.test('recordings are deleted after 90 days, transcripts after 365; the call stays', async (t) => {
    const id = await recordedCall(calling)
    const path = `/v1/calls/${id}`
    const file = join(folder, `${id}.wav`)
    const copy = join(folder, `${id}.opus`)
    writeFileSync(copy, 'OggS')
    const key = `recordings/${id}.wav`
    const stray = join(folder, 'notes.txt')
    writeFileSync(stray, 'not ours')
    const link = String(dataOf(await send('GET', `${path}/recording`)).url)
    t.equal(await (await fetch(link)).text(), 'RIFF', 'read from the folder')
    await runner.idle()
    t.notOk(existsSync(file), 'the job moves it to the store')
    t.match(await objects.head(key), { bytes: 4 })
    t.equal(await (await fetch(link)).text(), 'RIFF', 'read from the store')

    await pass(90 * DAY - 1)
    t.match(dataOf(await send('GET', path)), { hasRecording: true, hasTranscript: true })
    t.equal((await send('GET', `${path}/recording`)).status, 200)
    const fresh = await recordedCall(calling)
    await pass(3 * HOUR)
    t.match(dataOf(await send('GET', path)), { hasRecording: false, hasTranscript: true })
    const gone = await send('GET', `${path}/recording`)
    t.equal(gone.status, 404)
    t.equal(code(gone), 'not_found')
    t.equal(await objects.head(key), null, 'the object is gone with its row')
    t.notOk(existsSync(copy), 'and so is the Opus copy')
    t.ok(await objects.head(`recordings/${fresh}.wav`), 'a younger one stays')
    t.equal((await send('GET', `/v1/calls/${fresh}/recording`)).status, 200)
    t.ok(existsSync(stray), 'what is no recording is left alone')

    await pass(275 * DAY - 4 * HOUR)
    t.equal((await send('GET', `${path}/transcript`)).status, 200)
    await pass(4 * HOUR)
    t.match(dataOf(await send('GET', path)), { id, status: 'ended', hasTranscript: false })
    t.equal(code(await send('GET', `${path}/transcript`)), 'not_found')
    const events = await db.selectFrom('callEvents').select('seq').where('callId', '=', id).execute()
    t.same(events, [], 'nor is what was said kept in the events of the call')
    t.equal((await send('GET', `/v1/calls/${fresh}/transcript`)).status, 200)
  })

  await t.test('unverified accounts are deleted after a week', async (t) => {
    const signUp = async () => {
      const now = clock.wall()
      const userId = newId('usr', now)
      const organizationId = newId('org', now)
      await db
        .insertInto('organizations')
        .values({ id: organizationId, name: 'New', senderClassification: null, createdAt: now })
        .execute()
      await db
        .insertInto('users')
        .values({
          id: userId,
          email: `${userId}@people.test`.toLowerCase(),
          name: 'P',
          passwordHash: 'x',
          createdAt: now,
          emailVerifiedAt: null,
        })
        .execute()
      await db
        .insertInto('members')
        .values({ organizationId, userId, role: 'owner', createdAt: now })
        .execute()
      return { userId, organizationId }
    }
    const left = async (table: 'users' | 'organizations', id: string) =>
      (await db.selectFrom(table).select('id').where('id', '=', id).execute()).length

    const idle = await signUp()
    const confirmed = await signUp()
    await db
      .updateTable('users')
      .set({ emailVerifiedAt: clock.wall() })
      .where('id', '=', confirmed.userId)
      .execute()
    // This organization is kept: an operator gave it limits of its own.
    const used = await signUp()
    await db
      .insertInto('callingProfiles')
      .values({
        organizationId: used.organizationId,
        enforcedAt: null,
        enforcedReason: null,
        windowStartMinute: null,
        windowEndMinute: null,
        agentCallsTest: 3,
        agentCallsLive: null,
        ratePaisePerMinute: null,
      })
      .execute()
    await pass(UNVERIFIED_KEPT_MS - 1)
    t.equal(await left('users', idle.userId), 1)
    const late = await signUp()
    await pass(HOUR)
    t.same([await left('users', idle.userId), await left('organizations', idle.organizationId)], [0, 0])
    for (const kept of [confirmed, used, late]) {
      t.same([await left('users', kept.userId), await left('organizations', kept.organizationId)], [1, 1])
    }
    t.same(
      (await db.selectFrom('members').select('userId').where('userId', '=', used.userId).execute()).length,
      1,
      'a refused deletion leaves everything',
    )
  })

  await runner.close()
  await calling.close()
})
