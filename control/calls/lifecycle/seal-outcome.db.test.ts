import { createHash } from 'node:crypto'
import t from 'tap'
import { dataOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { silentLog } from '../../../media/base/log.js'
import { canonicalJson } from '../../base/canonical-json.js'
import { evidencePage } from '../../compliance/evidence/pdf.js'
import { openEvidenceKeys } from '../../compliance/evidence/seal.js'
import { verifyStoredChain } from '../../compliance/evidence/stored-chain.js'
import { openJobRunner } from '../../jobs/runner.js'
import { addJobs } from '../../jobs/store.js'
import { insertMonitor } from '../monitors/store.js'
import { sealingHandler, sealingJob } from './seal-outcome.js'

await onEachDialect(t, async (t, open) => {
  await t.test('the end of a call is sealed once, with the hashes of what was recorded', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps, clock, owner, send, folder } = calling
    await calling.publishAgent()
    const json = { to: '+919876543210', numberId: calling.numberId }
    const id = String(dataOf(await send('POST', '/v1/calls', { json })).id)
    const said = { id: 1, speaker: 'caller', text: 'हाँ', heardText: 'हाँ', language: 'hi-IN' } as const
    const takeover = { type: 'monitored', id: 'mon_1', by: 'usr_1', mode: 'takeover' } as const
    const monitor = { id: 'mon_1', ...owner, callId: id, userId: 'usr_1', mode: 'takeover' } as const
    await deps.db
      .transaction()
      .execute((trx) => insertMonitor(trx, { ...monitor, place: 0, startedAt: null }, clock.wall()))
    const recording = { path: `${folder}/${id}.wav`, bytes: 4, durationMs: 900, sha256: 'ab'.repeat(32) }
    const details = {
      ...{ destinationId: 'tdst_1', label: 'Front desk', trigger: 'api', reason: null },
      ratePaisePerMinute: 200,
    } as const
    const step = { type: 'transfer', mode: 'screened', status: 'accepted', outcome: null } as const
    const accepted = (attempt: number, id: string) =>
      ({ ...step, attempt, destination: id, details: { id, ...details } }) as const
    await calling.emitCallEvent(
      id,
      { type: 'answered' },
      accepted(1, 'xfr_1'),
      accepted(2, 'xfr_2'),
      { type: 'turn', turn: { ...said, startMs: 0, endMs: 900, words: null } },
      { ...takeover, status: 'begun', outcome: null },
      {
        type: 'ended',
        ending: { by: 'callee', cause: 'caller_hangup', fault: 'none' },
        rtp: null,
        recording,
      },
    )
    const part = (transferId: string, name: 'human' | 'return', sha256: string) => {
      const file = `${id}-${transferId}-${name}`
      const row = { transferId, part: name, callId: id, name: file, key: `recordings/${file}.wav`, sha256 }
      return { ...row, bytes: 4, durationMs: 900, createdAt: clock.wall() }
    }
    const parts = [
      part('xfr_2', 'human', 'ef'.repeat(32)),
      part('xfr_1', 'return', 'de'.repeat(32)),
      part('xfr_1', 'human', 'cd'.repeat(32)),
    ]
    await deps.db.insertInto('transferRecordings').values(parts).execute()
    const handlers = [sealingHandler(deps)]
    const runner = openJobRunner({ db: deps.db, clock, log: silentLog, handlers, pollMs: 1_000_000 })
    await runner.idle()
    const call = { id, ...calling.owner, answeredAt: clock.wall() }
    await addJobs(deps.db, [sealingJob(call, clock.wall())], clock.wall())
    await runner.idle()
    await runner.close()

    const rows = await deps.db.selectFrom('evidence').selectAll().orderBy('seq').execute()
    t.match(rows, [{ kind: 'gate' }, { kind: 'outcome', callId: id, e164: json.to, personal: null }])
    t.equal(rows.length, 2)
    const { segments } = dataOf(await send('GET', `/v1/calls/${id}/transcript`)) as { segments: [] }
    t.match(JSON.parse(rows[1]?.record ?? ''), {
      direction: 'outbound',
      number: calling.number,
      outcome: {
        disposition: 'answered',
        endedReason: 'caller_hangup',
        recordingSha256: recording.sha256,
        parts: [
          { transferId: 'xfr_1', part: 'human', sha256: 'cd'.repeat(32) },
          { transferId: 'xfr_1', part: 'return', sha256: 'de'.repeat(32) },
          { transferId: 'xfr_2', part: 'human', sha256: 'ef'.repeat(32) },
        ],
        transcriptSha256: createHash('sha256').update(canonicalJson(segments)).digest('hex'),
        monitors: [{ mode: 'takeover', userId: 'usr_1', endedAt: /^20/ }],
      },
    })
    t.notOk(rows[1]?.record.includes(json.to))
    const head = { seq: 2, hash: '', sealedAt: null, keyId: '', publicKey: '' }
    const verification = { valid: true, problem: null, head, timeStamp: null }
    const page = evidencePage(id, { gate: null, outcome: rows[1] ?? null }, verification, clock.wall())
    for (const { sha256, transferId } of parts) {
      t.ok(JSON.stringify(page).includes(`${sha256}, ${transferId}`), 'the page names it')
    }
    t.match(dataOf(await send('GET', `/v1/calls/${id}/evidence`)), {
      outcome: { outcome: { parts: [{ part: 'human' }, { part: 'return' }, { part: 'human' }] } },
      verification: { valid: true },
    })
    t.match(await verifyStoredChain(deps.db, owner, openEvidenceKeys(deps.rootKey)), { valid: true, seq: 2 })
    await calling.close()
  })
})
